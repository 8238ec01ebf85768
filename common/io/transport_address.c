#include "common/io/transport_address.h"

#include <string.h>

#include <nng/nng.h>

#include "common/io/transport.h"

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_tls(const char *address)
{
    return starts_with(address, "tls+");
}

/* What follows "tcp://" in any of its spellings; NULL for other schemes. */
static const char *tcp_host(const char *address)
{
    const char *at = is_tls(address) ? address + strlen("tls+") : address;
    if (!starts_with(at, "tcp")) {
        return NULL;
    }
    at += strlen("tcp");
    if (*at == '4' || *at == '6') {
        at++;
    }
    return starts_with(at, "://") ? at + strlen("://") : NULL;
}

/* Four numbers and three dots at the start of host? */
static bool is_ipv4_loopback(const char *host, size_t length)
{
    size_t dots = 0;
    for (size_t i = 0; i < length; i++) {
        dots += host[i] == '.';
        if (host[i] != '.' && (host[i] < '0' || host[i] > '9')) {
            return false;
        }
    }
    return dots == 3 && starts_with(host, "127.");
}

bool transport_address_is_local(const char *address)
{
    if (starts_with(address, "ipc://") || starts_with(address, "unix://") ||
        starts_with(address, "abstract://")) {
        return true;
    }
    const char *host = tcp_host(address);
    if (host == NULL) {
        return false;
    }
    size_t length = strcspn(host, ":/");
    return starts_with(host, "[::1]") || is_ipv4_loopback(host, length) ||
           (length == strlen("localhost") && starts_with(host, "localhost"));
}

enum status transport_address_check_dial(const char *address, struct error *ret_error)
{
    if (is_tls(address)) {
        return error_set(ret_error, STATUS_UNIMPLEMENTED,
                         "address %s: TLS is not there yet; use tcp:// or ipc://", address);
    }
    if (tcp_host(address) == NULL && !transport_address_is_local(address)) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "address %s: must begin with tcp:// or ipc://", address);
    }
    return STATUS_OK;
}

enum status transport_address_check_listen(const char *address,
                                           bool insecure,
                                           struct error *ret_error)
{
    enum status status = transport_address_check_dial(address, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    if (!insecure && !transport_address_is_local(address)) {
        return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                         "address %s can be reached by other machines, and there is no TLS to "
                         "tell them apart: listen on loopback, or set insecure = true",
                         address);
    }
    return STATUS_OK;
}

static enum status status_of(int nng_error)
{
    switch (nng_error) {
    case NNG_EADDRINUSE:
        return STATUS_FAILED_PRECONDITION;
    case NNG_EADDRINVAL:
    case NNG_EINVAL:
    case NNG_ENOTSUP:
        return STATUS_INVALID_ARGUMENT;
    case NNG_ENOMEM:
        return STATUS_NO_MEMORY;
    case NNG_ETIMEDOUT:
        return STATUS_DEADLINE_EXCEEDED;
    case NNG_EPERM:
        return STATUS_PERMISSION_DENIED;
    case NNG_ECONNREFUSED:
    case NNG_ECONNRESET:
    case NNG_ECONNABORTED:
    case NNG_ECONNSHUT:
    case NNG_EUNREACHABLE:
    case NNG_ENOENT:
        return STATUS_UNAVAILABLE;
    default:
        return STATUS_IO;
    }
}

enum status transport_address_failed(const char *verb,
                                     const char *address,
                                     int nng_error,
                                     struct error *ret_error)
{
    const char *reason = nng_strerror(nng_error);
    if (nng_error == NNG_EADDRINUSE) {
        reason = "the address is in use; another process listens there";
    }
    return error_set(ret_error, status_of(nng_error), "%s %s: %s", verb, address, reason);
}
