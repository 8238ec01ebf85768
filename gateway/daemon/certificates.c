#include "gateway/daemon/certificates.h"

#include <string.h>

#include "common/io/file.h"

#define FILE_BYTES_MAX (1 << 20)

/* As a text that ends with a NUL; nothing for an empty path. */
static enum status read_text(const char *key,
                             const char *path,
                             struct buffer *out,
                             struct error *ret_error)
{
    if (path[0] == '\0') {
        return STATUS_OK;
    }
    enum status status = file_read_whole(path, FILE_BYTES_MAX, out, ret_error);
    if (status != STATUS_OK) {
        return error_prefix(ret_error, "%s", key);
    }
    buffer_append_u8(out, '\0');
    return out->failed ? error_set(ret_error, STATUS_NO_MEMORY, "%s: no memory for %s", key, path)
                       : STATUS_OK;
}

static const char *text_of(const struct buffer *buffer)
{
    return buffer->size_bytes > 0 ? (const char *)buffer->data : NULL;
}

enum status certificates_read(const struct gateway_settings *settings,
                              struct certificates *ret_certificates,
                              struct rpc_tls *ret_tls,
                              struct error *ret_error)
{
    struct certificates *read = ret_certificates;
    *read = (struct certificates){BUFFER_INIT, BUFFER_INIT, BUFFER_INIT};
    enum status status = read_text("tls.certificate", settings->tls_certificate,
                                   &read->certificate, ret_error);
    if (status == STATUS_OK) {
        status = read_text("tls.key", settings->tls_key, &read->key, ret_error);
    }
    if (status == STATUS_OK) {
        status = read_text("tls.client_ca", settings->tls_client_ca, &read->client_ca, ret_error);
    }
    if (status == STATUS_OK) {
        *ret_tls = (struct rpc_tls){
            .certificate = text_of(&read->certificate),
            .key = text_of(&read->key),
            .client_ca = text_of(&read->client_ca),
        };
    }
    return status;
}

static void forget(struct buffer *buffer)
{
    if (buffer->data != NULL) {
        explicit_bzero(buffer->data, buffer->capacity_bytes);
    }
    buffer_deinit(buffer);
}

void certificates_forget(struct certificates *certificates)
{
    forget(&certificates->certificate);
    forget(&certificates->key);
    forget(&certificates->client_ca);
}
