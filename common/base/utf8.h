/*
 * UTF-8 (RFC 3629): where a character ends, and whether a text is made of nothing else.
 *
 * Pure.  Thread rule: any thread.
 */
#ifndef COMMON_BASE_UTF8_H
#define COMMON_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"

/* Bytes of the character that begins at p, of which left are there (at least one); 0: none does.  *ret_character: which
 * one it is. */
size_t utf8_read(const uint8_t *p, size_t left, uint32_t *ret_character);

bool utf8_is_valid(struct bytes text);

#endif /* COMMON_BASE_UTF8_H */
