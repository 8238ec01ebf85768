/*
 * Row keys from numbers, and where to cut a table of them.
 *
 *   ordered   "0000000000000042"                    numbers in order are rows in order
 *   hashed    "user8806421023214567890"             YCSB's: scattered, whatever the order
 *   series    "server17.bbb.com#1426535612045"      hosts in arrival order, as METRIC has them:
 *                                                   number n is host n % hosts, time n / hosts
 *   counter   "sum#000000000042"                    rows of the aggregate family
 */
#ifndef CLIENT_LOAD_CORE_ROW_KEY_H
#define CLIENT_LOAD_CORE_ROW_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOAD_ROW_KEY_BYTES_MAX 64
#define LOAD_COUNTER_PREFIX    "sum#"

enum load_key_form {
    LOAD_KEY_ORDERED = 1,
    LOAD_KEY_HASHED,
    LOAD_KEY_SERIES,
    LOAD_KEY_COUNTER,
};

/* Gives the size.  hosts is for LOAD_KEY_SERIES. */
size_t load_row_key(enum load_key_form form,
                    uint64_t hosts,
                    uint64_t number,
                    uint8_t out[LOAD_ROW_KEY_BYTES_MAX]);

/* The number of an ordered or counter key; false for anything else. */
bool load_row_key_parse(enum load_key_form form,
                        const uint8_t *key,
                        size_t size,
                        uint64_t *ret_number);

/* The first row of part `index` of `count` about equal parts (index 1 to count - 1). */
size_t load_row_key_split(enum load_key_form form,
                          uint64_t hosts,
                          uint64_t records,
                          uint64_t index,
                          uint64_t count,
                          uint8_t out[LOAD_ROW_KEY_BYTES_MAX]);

#endif /* CLIENT_LOAD_CORE_ROW_KEY_H */
