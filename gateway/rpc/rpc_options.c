#include <limits.h>
#include <string.h>

#include <grpc/grpc_security.h>

#include "common/base/assert.h"
#include "common/base/buffer.h"
#include "common/io/file.h"
#include "gateway/rpc/rpc_internal.h"

#define METADATA_BYTES_MAX (32 * 1024) /* of a call's headers: tokens are long */

/* A ping that is meant to come every keepalive_min_ms may be early by a fifth, and this many may be
 * earlier while nothing is sent. */
#define PING_EARLY_PERCENT 20
#define PING_STRIKES_MAX   8

/* Whose machine is gone does not say so: we ask, and give up on who does not answer. */
#define PING_OURS_MS   60000
#define PING_ANSWER_MS 20000

/* --- limits ---------------------------------------------------------------------------------- */

static char *key_of(const char *text)
{
    union {
        const char *in;
        char *out; /* libgrpc only reads it */
    } key = {.in = text};
    return key.out;
}

static grpc_arg integer(const char *key, uint64_t value)
{
    return (grpc_arg){
        .type = GRPC_ARG_INTEGER,
        .key = key_of(key),
        .value.integer = value < INT_MAX ? (int)value : INT_MAX,
    };
}

static grpc_arg quota_argument(grpc_resource_quota *quota)
{
    return (grpc_arg){
        .type = GRPC_ARG_POINTER,
        .key = key_of(GRPC_ARG_RESOURCE_QUOTA),
        .value.pointer = {quota, grpc_resource_quota_arg_vtable()},
    };
}

/* What libgrpc may hold of messages that come in. */
static grpc_resource_quota *make_quota(const struct rpc_settings *settings)
{
    uint64_t least = 2 * settings->message_bytes_max;
    uint64_t most = 2 * settings->request_memory_max;
    grpc_resource_quota *quota = grpc_resource_quota_create("rpc");
    grpc_resource_quota_resize(quota, (size_t)(most > least ? most : least) + (64U << 20));
    return quota;
}

grpc_server *rpc_options_make_server(const struct rpc_settings *settings)
{
    uint32_t streams_max = settings->streams_max;
    grpc_resource_quota *quota = make_quota(settings);
    grpc_arg list[] = {
        integer(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, settings->message_bytes_max),
        integer(GRPC_ARG_MAX_METADATA_SIZE, METADATA_BYTES_MAX),
        integer(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                streams_max > 0 ? streams_max : RPC_STREAMS_MAX_DEFAULT),
        integer(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                (uint64_t)settings->keepalive_min_ms * (100 - PING_EARLY_PERCENT) / 100),
        integer(GRPC_ARG_HTTP2_MAX_PING_STRIKES, PING_STRIKES_MAX),
        integer(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
        integer(GRPC_ARG_KEEPALIVE_TIME_MS, PING_OURS_MS),
        integer(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, PING_ANSWER_MS),
        integer(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0),
        /* A small message that was compressed may be as large as it likes: none is taken. */
        integer(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1U << GRPC_COMPRESS_NONE),
        integer(GRPC_ARG_ENABLE_CHANNELZ, 0),
        integer(GRPC_ARG_ALLOW_REUSEPORT, 0), /* who starts twice is told so */
        quota_argument(quota),
    };
    ASSERT(settings->message_bytes_max <= INT_MAX);
    grpc_channel_args arguments = {sizeof list / sizeof *list, list};
    grpc_server *server = grpc_server_create(&arguments, NULL);
    grpc_resource_quota_unref(quota);
    return server;
}

/* --- TLS ------------------------------------------------------------------------------------- */

/* Read a PEM file, and end it with a NUL. */
static enum status read_pem(const char *path, struct buffer *out, struct error *ret_error)
{
    enum status status = file_read_whole(path, RPC_PEM_BYTES_MAX, out, ret_error);
    buffer_append_u8(out, '\0');
    return status == STATUS_OK && out->failed
               ? error_set(ret_error, STATUS_NO_MEMORY, "no memory to read %s", path)
               : status;
}

/* The private key is not left behind in freed memory. */
static void forget(struct buffer *secret)
{
    if (secret->size_bytes > 0) {
        explicit_bzero(secret->data, secret->size_bytes);
    }
    buffer_deinit(secret);
}

static enum status make_tls(const struct rpc_settings *settings,
                            grpc_server_credentials **ret_credentials,
                            struct error *ret_error)
{
    struct buffer certificate = BUFFER_INIT;
    struct buffer key = BUFFER_INIT;
    struct buffer authority = BUFFER_INIT;
    bool asks = settings->client_ca_file != NULL;
    enum status status = read_pem(settings->certificate_file, &certificate, ret_error);
    if (status == STATUS_OK) {
        status = read_pem(settings->key_file, &key, ret_error);
    }
    if (status == STATUS_OK && asks) {
        status = read_pem(settings->client_ca_file, &authority, ret_error);
    }
    if (status == STATUS_OK) {
        grpc_ssl_pem_key_cert_pair pair = {(const char *)key.data, (const char *)certificate.data};
        grpc_server_credentials *made = grpc_ssl_server_credentials_create_ex(
            asks ? (const char *)authority.data : NULL, &pair, 1,
            asks ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                 : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
            NULL);
        if (made != NULL) {
            *ret_credentials = made;
        } else {
            status = error_set(ret_error, STATUS_IO, "%s and %s are no certificate and key",
                               settings->certificate_file, settings->key_file);
        }
    }
    forget(&key);
    buffer_deinit(&certificate);
    buffer_deinit(&authority);
    return status;
}

enum status rpc_options_make_credentials(const struct rpc_settings *settings,
                                         grpc_server_credentials **ret_credentials,
                                         struct error *ret_error)
{
    if (settings->certificate_file != NULL) {
        if (settings->key_file == NULL) {
            return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                             "%s: a certificate without the file of its key",
                             settings->certificate_file);
        }
        return make_tls(settings, ret_credentials, ret_error);
    }
    *ret_credentials = grpc_insecure_server_credentials_create();
    return STATUS_OK;
}
