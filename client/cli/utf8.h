/*
 * UTF-8: where a character ends, and whether a terminal shows it or does as it says.  (The gateway has its own: ebt uses
 * nothing but the public headers.)
 */
#ifndef CLIENT_CLI_UTF8_H
#define CLIENT_CLI_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character that begins at p, of which left are there; 0: none does.  *ret_character: which one it is. */
size_t utf8_read(const unsigned char *p, size_t left, uint32_t *ret_character);

/* False: it steers a terminal, or how others are shown (their direction, their lines), or shows nothing at all; two keys
 * that differ by it look the same. */
bool utf8_is_shown(uint32_t character);

#endif /* CLIENT_CLI_UTF8_H */
