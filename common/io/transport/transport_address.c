#include "common/io/transport/transport_address.h"

#include <string.h>

#include <nng/nng.h>

#include "common/io/transport/transport.h"

#define PORT_DIGITS_MAX 5

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

static bool is_local_host(const char *host)
{
    size_t length = strcspn(host, ":/");
    return starts_with(host, "[::1]") || is_ipv4_loopback(host, length) ||
           (length == strlen("localhost") && starts_with(host, "localhost"));
}

/* What follows the scheme of an address inside this machine; NULL for other schemes. */
static const char *local_path(const char *address)
{
    static const char *const schemes[] = {"ipc://", "unix://", "abstract://"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (starts_with(address, schemes[i])) {
            return address + strlen(schemes[i]);
        }
    }
    return NULL;
}

bool transport_address_is_local(const char *address)
{
    const char *host = tcp_host(address);
    return local_path(address) != NULL || (host != NULL && is_local_host(host));
}

bool transport_address_is_any(const char *address)
{
    static const char *const hosts[] = {"0.0.0.0:", "[::]:", "*:", ":"};
    const char *host = tcp_host(address);
    size_t i = 0;
    while (host != NULL && i < sizeof hosts / sizeof *hosts && !starts_with(host, hosts[i])) {
        i++;
    }
    return host != NULL && i < sizeof hosts / sizeof *hosts;
}

/* "HOST:PORT" with a port that there is?  *ret_host_bytes is the host's. */
static bool is_endpoint(const char *text, uint32_t port_min, size_t *ret_host_bytes)
{
    size_t host_bytes = text[0] == '[' ? strcspn(text, "]") + 1 : strcspn(text, ":");
    if (host_bytes >= strlen(text) || text[host_bytes] != ':' ||
        strcspn(text, " \t/?#@%\\\"") != strlen(text)) {
        return false;
    }
    const char *digits = text + host_bytes + 1;
    size_t count = strspn(digits, "0123456789");
    uint32_t port = 0;
    if (count < 1 || count > PORT_DIGITS_MAX || digits[count] != '\0') {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        port = port * 10 + (uint32_t)(digits[i] - '0');
    }
    *ret_host_bytes = host_bytes;
    return port >= port_min && port <= UINT16_MAX;
}

static enum status check_scheme(const char *address, struct error *ret_error)
{
    if (is_tls(address)) {
        return error_set(ret_error, STATUS_UNIMPLEMENTED,
                         "address %s: TLS is not there yet; use tcp:// or ipc://", address);
    }
    if (tcp_host(address) == NULL && local_path(address) == NULL) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "address %s: must begin with tcp:// or ipc://", address);
    }
    if (tcp_host(address) == NULL && local_path(address)[0] == '\0') {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "address %s: names no file", address);
    }
    return STATUS_OK;
}

enum status transport_address_check_dial(const char *address, struct error *ret_error)
{
    size_t host_bytes = 0;
    enum status status = check_scheme(address, ret_error);
    if (status != STATUS_OK || tcp_host(address) == NULL) {
        return status;
    }
    if (!is_endpoint(tcp_host(address), 1, &host_bytes) || host_bytes == 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "address %s: a host and a port from 1 to 65535 must follow tcp://, as in "
                         "tcp://127.0.0.1:7400",
                         address);
    }
    return STATUS_OK;
}

enum status transport_address_check_advertise(const char *address, struct error *ret_error)
{
    enum status status = transport_address_check_dial(address, ret_error);
    if (status == STATUS_OK && transport_address_is_any(address)) {
        return error_set(
            ret_error, STATUS_INVALID_ARGUMENT,
            "address %s is every address of this machine, and nobody elsewhere can dial "
            "it: a host by which others reach it must follow tcp://",
            address);
    }
    return status;
}

static enum status refuse_open_address(const char *address, struct error *ret_error)
{
    return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                     "address %s can be reached by other machines, and there is no TLS to "
                     "tell them apart: listen on loopback, or set insecure = true",
                     address);
}

enum status transport_address_check_listen(const char *address,
                                           bool insecure,
                                           struct error *ret_error)
{
    size_t host_bytes = 0;
    enum status status = check_scheme(address, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    if (tcp_host(address) != NULL && !is_endpoint(tcp_host(address), 0, &host_bytes)) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "address %s: a host and a port from 0 to 65535 must follow tcp://, as in "
                         "tcp://127.0.0.1:7400",
                         address);
    }
    return insecure || transport_address_is_local(address)
               ? STATUS_OK
               : refuse_open_address(address, ret_error);
}

enum status transport_address_check_http(const char *address,
                                         bool insecure,
                                         struct error *ret_error)
{
    size_t host_bytes = 0;
    if (!is_endpoint(address, 0, &host_bytes)) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "address %s: must be a host and a port from 0 to 65535, as in "
                         "127.0.0.1:7480",
                         address);
    }
    return insecure || is_local_host(address) ? STATUS_OK : refuse_open_address(address, ret_error);
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

/* Is the host given by a name, which must be looked up? */
static bool has_name(const char *address)
{
    const char *host = tcp_host(address);
    return host != NULL && host[0] != '[' && strspn(host, "0123456789.") != strcspn(host, ":");
}

enum status transport_address_failed(const char *verb,
                                     const char *address,
                                     int nng_error,
                                     struct error *ret_error)
{
    const char *reason = nng_strerror(nng_error);
    if (nng_error == NNG_EADDRINUSE) {
        reason = "the address is in use; another process listens there";
    } else if ((nng_error == NNG_EADDRINVAL || nng_error == NNG_EAGAIN) && has_name(address)) {
        reason = "the host's name cannot be resolved; is it spelled right?";
    } else if (nng_error == NNG_EADDRINVAL && tcp_host(address) != NULL) {
        reason = "no IP address that this machine can use";
    }
    return error_set(ret_error, status_of(nng_error), "%s %s: %s", verb, address, reason);
}
