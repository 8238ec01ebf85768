/*
 * Who a server that only this machine can reach is there for: who sits at it, not a page from elsewhere that
 * has its own name point here.  So what a browser says it has asked for (Host) must be a name of this machine.
 *
 * Pure.  Thread rule: any.
 */
#ifndef COMMON_IO_HTTP_HOST_H
#define COMMON_IO_HTTP_HOST_H

#include <stdbool.h>

/* "localhost:7480", "127.0.0.1:7480", "[::1]:7480"; or NULL, nobody says: then it is no browser. */
bool http_host_is_local(const char *host);

#endif /* COMMON_IO_HTTP_HOST_H */
