/*
 * Bytes as a JSON string, in what daemons tell of themselves.
 *
 * Printable ASCII is written as it is, with a backslash before " and \; every other byte is \u00NN.  So the
 * text is ASCII whatever the bytes are, and exact: each character of the string stands for one byte.
 *
 * Pure.  Thread rule: the buffer's.
 */
#ifndef COMMON_BASE_JSON_TEXT_H
#define COMMON_BASE_JSON_TEXT_H

#include "common/base/buffer.h"

/* Appended with its quotes. */
void json_text(struct buffer *out, struct bytes text);

/* A row key, for people and programs that are to give it back: as text in which a backslash is two of them, and a byte
 * that is not printable ASCII is \xNN.  The console's API and `ebt --escaped` take it so. */
void json_key(struct buffer *out, struct bytes key);

#endif /* COMMON_BASE_JSON_TEXT_H */
