/*
 * edubba_keys.h -- row keys that are built field by field, joined by '#'.
 *
 *     struct edubba_key key;
 *     edubba_key_init(&key);
 *     edubba_key_add_salt(&key, edubba_salt(EDUBBA_TEXT("user17"), 16), 16);   "05"
 *     edubba_key_add_text(&key, "user17");                                     "05#user17"
 *     edubba_key_add_reversed_time(&key, now_us);                              "05#user17#9221..."
 *     edubba_mutate_row(table, edubba_key_bytes(&key), ...);
 *
 * A first field that is empty leaves nothing, and no '#' either.  A key that would be longer than
 * 4 096 bytes is marked too long; edubba_key_bytes() then gives something that is longer than any row
 * or bound of rows may be, which every call that takes one refuses.  (Where something else than a row
 * is wanted, a qualifier or a value, look at too_long before.)
 */
#ifndef EDUBBA_KEYS_H
#define EDUBBA_KEYS_H

#include "edubba.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EDUBBA_KEY_SIZE_MAX 4096

struct edubba_key {
    size_t size;
    bool too_long;
    unsigned char data[EDUBBA_KEY_SIZE_MAX];
};

void edubba_key_init(struct edubba_key *key);
struct edubba_bytes edubba_key_bytes(const struct edubba_key *key);
void edubba_key_add_text(struct edubba_key *key, const char *text);
void edubba_key_add_bytes(struct edubba_key *key, struct edubba_bytes bytes);
/* Padded on the right with spaces, or cut, to width: fields of equal width sort as fields. */
void edubba_key_add_padded(struct edubba_key *key, const char *text, size_t width);
/* Padded with zeros on the left to width digits (numbers with more are not cut). */
void edubba_key_add_number(struct edubba_key *key, uint64_t number, size_t width);
/* INT64_MAX - time, 19 digits: newest first. */
void edubba_key_add_reversed_time(struct edubba_key *key, int64_t time);
/* time cut to a multiple of bucket, padded to 19 digits: one row per period. */
void edubba_key_add_bucket(struct edubba_key *key, int64_t time, int64_t bucket);
/* A salt below count, padded to the digits of count - 1. */
void edubba_key_add_salt(struct edubba_key *key, uint32_t salt, uint32_t count);

/* Which of count salts these bytes get; the same on every machine and in every version. */
uint32_t edubba_salt(struct edubba_bytes bytes, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif /* EDUBBA_KEYS_H */
