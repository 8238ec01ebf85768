/* The socket that an HTTP server listens on. */
#ifndef COMMON_IO_HTTP_SOCKET_H
#define COMMON_IO_HTTP_SOCKET_H

#include "common/base/error.h"

/* address as transport_address_check_http() lets it pass; a host that is empty or "*" is every address of this
 * machine.  *ret_socket is the caller's to close.  Errors: STATUS_INVALID_ARGUMENT (no such host),
 * STATUS_FAILED_PRECONDITION (in use), STATUS_PERMISSION_DENIED, STATUS_IO. */
enum status http_socket_listen(const char *address, int *ret_socket, struct error *ret_error);

#endif /* COMMON_IO_HTTP_SOCKET_H */
