/*
 * The files that TLS takes, read into memory.
 */
#ifndef GATEWAY_DAEMON_CERTIFICATES_H
#define GATEWAY_DAEMON_CERTIFICATES_H

#include "common/base/buffer.h"
#include "common/base/error.h"
#include "gateway/daemon/settings.h"
#include "gateway/rpc/rpc.h"

struct certificates {
    struct buffer certificate;
    struct buffer key;
    struct buffer client_ca;
};

/* Nothing is read where settings ask for none.  *ret_tls borrows from *ret_certificates, which
 * certificates_forget() frees, after failures too.
 * Errors: those of file_read_whole(), naming the key and the file. */
enum status certificates_read(const struct gateway_settings *settings,
                              struct certificates *ret_certificates,
                              struct rpc_tls *ret_tls,
                              struct error *ret_error);

/* Clears what was read and frees it. */
void certificates_forget(struct certificates *certificates);

#endif /* GATEWAY_DAEMON_CERTIFICATES_H */
