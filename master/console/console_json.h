/*
 * JSON of the console's API: how numbers are written, and keys read.  (Names and keys are written by json_text.h.)
 *
 * Pure.  Thread rule: the buffer's.
 */
#ifndef MASTER_CONSOLE_CONSOLE_JSON_H
#define MASTER_CONSOLE_CONSOLE_JSON_H

#include "common/base/buffer.h"
#include "common/base/json_text.h"

/* A number as a string: JavaScript's own have 53 bits. */
void json_id(struct buffer *out, uint64_t number);

/* Rounded to a whole number from 100 on; below it to as many digits as say something. */
void json_number(struct buffer *out, double value);

/* A key as it is written in the API, back to bytes; in place: text is overwritten.  False: it is not one. */
bool json_key_read(uint8_t *text, size_t size_bytes, struct bytes *ret_key);

#endif /* MASTER_CONSOLE_CONSOLE_JSON_H */
