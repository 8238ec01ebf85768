#include "common/io/http_socket.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOST_BYTES_MAX 256
#define SEND_BYTES     (128 << 10)

/* A getaddrinfo() error. */
static int resolve(const char *address, struct addrinfo **ret_found)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    const char *colon = strrchr(address, ':');
    size_t brackets = address[0] == '[';
    char host[HOST_BYTES_MAX];
    size_t host_bytes = (size_t)(colon - address) - 2 * brackets;
    if (host_bytes >= sizeof host) {
        return EAI_NONAME;
    }
    (void)snprintf(host, sizeof host, "%.*s", (int)host_bytes, address + brackets);
    bool any = host[0] == '\0' || strcmp(host, "*") == 0;
    return getaddrinfo(any ? NULL : host, colon + 1, &hints, ret_found);
}

static enum status failed(const char *address, int error_number, struct error *ret_error)
{
    enum status status = STATUS_IO;
    const char *reason = strerror(error_number);
    if (error_number == EADDRINUSE) {
        status = STATUS_FAILED_PRECONDITION;
        reason = "the address is in use; another process listens there";
    } else if (error_number == EADDRNOTAVAIL) {
        status = STATUS_INVALID_ARGUMENT;
        reason = "no IP address that this machine can use";
    } else if (error_number == EACCES) {
        status = STATUS_PERMISSION_DENIED;
    }
    return error_set(ret_error, status, "listen on %s: %s", address, reason);
}

/* An errno; 0. */
static int bind_and_listen(int fd, const struct addrinfo *where)
{
    static const int on = 1;
    static const int send_bytes = SEND_BYTES; /* else the kernel keeps 4 MiB of what nobody takes */
    /* What a daemon before us left behind may take a minute to be gone. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes) != 0 ||
        bind(fd, where->ai_addr, where->ai_addrlen) != 0 || listen(fd, SOMAXCONN) != 0) {
        return errno;
    }
    return 0;
}

enum status http_socket_listen(const char *address, int *ret_socket, struct error *ret_error)
{
    struct addrinfo *found = NULL;
    int error_number = resolve(address, &found);
    if (error_number != 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "listen on %s: %s", address,
                         gai_strerror(error_number));
    }
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    error_number = fd < 0 ? errno : bind_and_listen(fd, found);
    freeaddrinfo(found);
    if (error_number != 0) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return failed(address, error_number, ret_error);
    }
    *ret_socket = fd;
    return STATUS_OK;
}
