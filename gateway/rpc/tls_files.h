/*
 * What libgrpc would say of the files of TLS only when it listens, and then not which of them it is.
 *
 * Thread rule: any thread.
 */
#ifndef GATEWAY_RPC_TLS_FILES_H
#define GATEWAY_RPC_TLS_FILES_H

#include "common/base/error.h"

/* One certificate in PEM or more, all of them whole.
 * Errors: STATUS_INVALID_ARGUMENT (names the file), those of file_read_whole(), STATUS_NO_MEMORY. */
enum status tls_files_check_certificates(const char *path, struct error *ret_error);

/* A private key in PEM, without a passphrase, that is the first certificate's.
 * Errors: the same. */
enum status tls_files_check_key(const char *path,
                                const char *certificate_path,
                                struct error *ret_error);

#endif /* GATEWAY_RPC_TLS_FILES_H */
