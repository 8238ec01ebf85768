/*
 * Where a test listens: on a loopback address of its own process.
 *
 * The kernel hands a port that was closed to whoever asks next.  At 127.0.0.1 that is another test
 * that runs at the same time: it would answer for the server that a test has taken away, or hold the
 * port on which that server is to come back.
 */
#ifndef TESTS_SUPPORT_OWN_ADDRESS_H
#define TESTS_SUPPORT_OWN_ADDRESS_H

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* In the order of this machine's bytes.  Linux has at most 2^22 processes. */
static inline uint32_t own_host(void)
{
    return UINT32_C(0x7f400000) + ((uint32_t)getpid() & UINT32_C(0x3fffff));
}

/* "tcp://127.A.B.C:PORT"; port 0 = the kernel picks one. */
static inline const char *own_address(unsigned port, char *ret_address, size_t size)
{
    uint32_t host = own_host();
    (void)snprintf(ret_address, size, "tcp://127.%u.%u.%u:%u", (host >> 16) & 0xff,
                   (host >> 8) & 0xff, host & 0xff, port);
    return ret_address;
}

#endif /* TESTS_SUPPORT_OWN_ADDRESS_H */
