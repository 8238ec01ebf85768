/*
 * Base64, as JSON, headers and error details carry bytes.
 *
 * Pure.  Thread rule: any thread.
 */
#ifndef COMMON_BASE_BASE64_H
#define COMMON_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"

/* With the NUL. */
#define BASE64_TEXT_SIZE(size_bytes) (((size_bytes) + 2) / 3 * 4 + 1)

/* The standard alphabet, padded, NUL-terminated; text has BASE64_TEXT_SIZE() bytes. */
void base64_encode(struct bytes bytes, char *ret_text);

/* Of either alphabet, with its padding or without.  False: it is none, or more than so many bytes;
 * then out holds anything. */
bool base64_decode(struct bytes text, uint8_t *out, size_t out_bytes_max, size_t *ret_size_bytes);

#endif /* COMMON_BASE_BASE64_H */
