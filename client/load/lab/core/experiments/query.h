/*
 * A query: what of a table is to be read to answer one question.
 *
 * Texts lie in the query itself: it must not be copied.  Ranges are [start, end), and under salts the
 * keys of both stand without their salt; none are the whole table.
 */
#ifndef CLIENT_LOAD_LAB_CORE_EXPERIMENTS_QUERY_H
#define CLIENT_LOAD_LAB_CORE_EXPERIMENTS_QUERY_H

#include "edubba_keys.h"

#define LAB_QUERY_KEYS_MAX       16
#define LAB_QUERY_RANGES_MAX     8
#define LAB_QUERY_TEXT_BYTES_MAX 4096

enum lab_query_kind {
    LAB_QUERY_ROW,  /* keys[0] */
    LAB_QUERY_KEYS, /* a scan of single rows */
    LAB_QUERY_SCAN, /* ranges */
};

struct lab_query {
    enum lab_query_kind kind;
    struct edubba_bytes keys[LAB_QUERY_KEYS_MAX];
    size_t key_count;
    struct edubba_bounds ranges[LAB_QUERY_RANGES_MAX];
    size_t range_count;
    bool reversed;
    uint64_t rows_limit; /* 0 = none */
    uint32_t salts;      /* 0 = the table is not salted */
    /* Filters, all of which must hold; empty = none. */
    struct edubba_bytes row_regex;
    struct edubba_bytes family_regex;
    struct edubba_bytes qualifier_regex;
    struct edubba_bytes value_regex;
    int64_t from_us; /* timestamps in [from_us, to_us); to_us 0 = any */
    int64_t to_us;
    const char *where_family; /* rows whose column where_qualifier is where_value; NULL = all */
    struct edubba_bytes where_qualifier;
    struct edubba_bytes where_value;
    bool fits;
    size_t text_size;
    char text[LAB_QUERY_TEXT_BYTES_MAX];
};

void lab_query_init(struct lab_query *query, enum lab_query_kind kind);

void lab_query_key(struct lab_query *query, const struct edubba_key *key);
/* One more range. */
void lab_query_range(struct lab_query *query,
                     const struct edubba_key *start,
                     const struct edubba_key *end);
/* One more: all rows that begin with the bytes and a '#'. */
void lab_query_prefix(struct lab_query *query, const struct edubba_key *prefix);

/* Text that lives as long as the query. */
__attribute__((format(printf, 2, 3))) struct edubba_bytes lab_query_text(struct lab_query *query,
                                                                         const char *format,
                                                                         ...);

#endif /* CLIENT_LOAD_LAB_CORE_EXPERIMENTS_QUERY_H */
