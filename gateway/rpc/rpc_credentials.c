#include "gateway/rpc/rpc_credentials.h"

#include <stddef.h>

#include "common/base/assert.h"

grpc_server_credentials *rpc_credentials_create(const struct rpc_tls *tls)
{
    if (tls->certificate == NULL) {
        return grpc_insecure_server_credentials_create();
    }
    grpc_ssl_pem_key_cert_pair pair = {.private_key = tls->key, .cert_chain = tls->certificate};
    grpc_ssl_client_certificate_request_type asked =
        tls->client_ca != NULL ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                               : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
    grpc_server_credentials *credentials = grpc_ssl_server_credentials_create_ex(
        tls->client_ca, &pair, 1, asked, NULL);
    ASSERT(credentials != NULL);
    return credentials;
}
