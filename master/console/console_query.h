/*
 * What stands behind the question mark: "?table=METRIC&rows=200".  Whoever sends it may send anything.
 *
 * Pure.  Thread rule: one owner.
 */
#ifndef MASTER_CONSOLE_CONSOLE_QUERY_H
#define MASTER_CONSOLE_CONSOLE_QUERY_H

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/base/limits.h"

/* Two keys, as "start" and "end" are, of which each byte is written as six: %5CxNN. */
#define QUERY_BYTES_MAX (2 * 6 * LIMIT_ROW_KEY_BYTES + 1024)
#define QUERY_ITEMS_MAX 16

struct query_item {
    struct bytes name;
    uint8_t *value;
    size_t value_bytes;
};

struct query {
    char path[64];
    uint8_t *text; /* what items point into */
    struct query_item items[QUERY_ITEMS_MAX];
    size_t count;
};

/* Take a URI apart.
 * Errors: STATUS_INVALID_ARGUMENT, STATUS_NO_MEMORY; then there is nothing to deinit. */
enum status query_parse(const char *uri, struct query *ret_query, struct error *ret_error);
void query_deinit(struct query *query);

/* Empty when it is not there. */
struct bytes query_text(const struct query *query, const char *name);

/* *ret_value stays as it is when it is not there.  Errors: STATUS_INVALID_ARGUMENT. */
enum status query_number(const struct query *query,
                         const char *name,
                         int64_t minimum,
                         int64_t maximum,
                         int64_t *ret_value,
                         struct error *ret_error);

/* A row key (console_json.h); reading it spends it: once.  Errors: STATUS_INVALID_ARGUMENT. */
enum status query_key(const struct query *query,
                      const char *name,
                      struct bytes *ret_key,
                      struct error *ret_error);

/* Errors: STATUS_INVALID_ARGUMENT: there is one that is not among names (NULL at the end). */
enum status query_check(const struct query *query,
                        const char *const *names,
                        struct error *ret_error);

#endif /* MASTER_CONSOLE_CONSOLE_QUERY_H */
