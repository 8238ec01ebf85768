/*
 * Addresses: what they may be, and nng's errors in our words.  For transport_*.c, http.c, and
 * whoever wants to refuse an address before it is used.
 */
#ifndef COMMON_IO_TRANSPORT_TRANSPORT_ADDRESS_H
#define COMMON_IO_TRANSPORT_TRANSPORT_ADDRESS_H

#include <stdbool.h>

#include "common/base/error.h"

/* May we listen there?  Errors: STATUS_FAILED_PRECONDITION (others could reach it and insecure is
 * not set), STATUS_UNIMPLEMENTED (TLS), STATUS_INVALID_ARGUMENT (no known scheme). */
enum status transport_address_check_listen(const char *address,
                                           bool insecure,
                                           struct error *ret_error);

/* The same for an address of HTTP, which is HOST:PORT without a scheme. */
enum status transport_address_check_http(const char *address,
                                         bool insecure,
                                         struct error *ret_error);

/* May we dial it?  Errors: STATUS_UNIMPLEMENTED (TLS), STATUS_INVALID_ARGUMENT. */
enum status transport_address_check_dial(const char *address, struct error *ret_error);

/* May others be told that we are there?  Errors: those of transport_address_check_dial();
 * STATUS_INVALID_ARGUMENT, where transport_address_is_any(). */
enum status transport_address_check_advertise(const char *address, struct error *ret_error);

/* Does it stand for every address of this machine, as tcp://0.0.0.0:7400 does?  One may listen there,
 * but nobody elsewhere gets here by dialling it. */
bool transport_address_is_any(const char *address);

/* "<verb> <address>: <reason>" for an nng error; STATUS_FAILED_PRECONDITION for an address in use,
 * STATUS_INVALID_ARGUMENT for a bad one, STATUS_NO_MEMORY, STATUS_DEADLINE_EXCEEDED,
 * STATUS_PERMISSION_DENIED, STATUS_UNAVAILABLE (refused, unreachable), else STATUS_IO. */
enum status transport_address_failed(const char *verb,
                                     const char *address,
                                     int nng_error,
                                     struct error *ret_error);

#endif /* COMMON_IO_TRANSPORT_TRANSPORT_ADDRESS_H */
