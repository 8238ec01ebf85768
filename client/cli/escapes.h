/*
 * Keys that a command line cannot hold as they are: written as print_quoted() writes them (output.h).
 */
#ifndef CLIENT_CLI_ESCAPES_H
#define CLIENT_CLI_ESCAPES_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes that a text with \xNN, \\, \", \n and the like, \uNNNN and \UNNNNNNNN stands for, in its place.  False:
 * behind a backslash stands something else; the text is spoilt. */
bool escapes_take(char *text, size_t *ret_size);

#endif /* CLIENT_CLI_ESCAPES_H */
