/*
 * Which tablet server is meant: people name one by its number, or by its address.
 *
 * A number is one server's for good.  An address may be that of several: of one that is gone and of the
 * one that has come in its place.  Then the one that is alive is meant.
 */
#ifndef CLIENT_CLI_SERVER_CHOICE_H
#define CLIENT_CLI_SERVER_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "edubba.h"

/* name: a number, or an address with or without "tcp://".  False: none or several may be meant, and
 * the error tells what there is: EDUBBA_NOT_FOUND, EDUBBA_FAILED_PRECONDITION (with their numbers). */
bool server_choose(const struct edubba_server *servers,
                   size_t count,
                   const char *name,
                   uint64_t *ret_number,
                   struct edubba_error *ret_error);

#endif /* CLIENT_CLI_SERVER_CHOICE_H */
