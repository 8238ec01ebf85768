#include "client/load/lab/core/experiments/query.h"

#include <stdarg.h>
#include <stdio.h>

#define BEHIND_SEPARATOR '$' /* the character after '#' */

void lab_query_init(struct lab_query *query, enum lab_query_kind kind)
{
    query->kind = kind;
    query->key_count = 0;
    query->range_count = 0;
    query->reversed = false;
    query->rows_limit = 0;
    query->salts = 0;
    query->row_regex = EDUBBA_NOTHING;
    query->family_regex = EDUBBA_NOTHING;
    query->qualifier_regex = EDUBBA_NOTHING;
    query->value_regex = EDUBBA_NOTHING;
    query->from_us = 0;
    query->to_us = 0;
    query->where_family = NULL;
    query->where_qualifier = EDUBBA_NOTHING;
    query->where_value = EDUBBA_NOTHING;
    query->fits = true;
    query->text_size = 0;
}

static struct edubba_bytes keep(struct lab_query *query, struct edubba_bytes bytes)
{
    char *at = query->text + query->text_size;
    if (bytes.size == 0 || bytes.size > sizeof query->text - query->text_size) {
        query->fits = false;
        return EDUBBA_NOTHING;
    }
    memcpy(at, bytes.data, bytes.size);
    query->text_size += bytes.size;
    return edubba_bytes_of(at, bytes.size);
}

void lab_query_key(struct lab_query *query, const struct edubba_key *key)
{
    if (query->key_count == LAB_QUERY_KEYS_MAX) {
        query->fits = false;
        return;
    }
    query->keys[query->key_count++] = keep(query, edubba_key_bytes(key));
}

static void add_range(struct lab_query *query, struct edubba_bytes start, struct edubba_bytes end)
{
    if (query->range_count == LAB_QUERY_RANGES_MAX) {
        query->fits = false;
        return;
    }
    query->ranges[query->range_count++] = (struct edubba_bounds){.start = start, .end = end};
}

void lab_query_range(struct lab_query *query,
                     const struct edubba_key *start,
                     const struct edubba_key *end)
{
    struct edubba_bytes from = keep(query, edubba_key_bytes(start));
    add_range(query, from, keep(query, edubba_key_bytes(end)));
}

void lab_query_prefix(struct lab_query *query, const struct edubba_key *prefix)
{
    struct edubba_bytes bytes = edubba_key_bytes(prefix);
    struct edubba_bytes start = lab_query_text(query, "%.*s#", (int)bytes.size,
                                               (const char *)bytes.data);
    add_range(query, start,
              lab_query_text(query, "%.*s%c", (int)bytes.size, (const char *)bytes.data,
                             BEHIND_SEPARATOR));
}

struct edubba_bytes lab_query_text(struct lab_query *query, const char *format, ...)
{
    va_list arguments;
    char *at = query->text + query->text_size;
    size_t room = sizeof query->text - query->text_size;
    va_start(arguments, format);
    int size = vsnprintf(at, room, format, arguments);
    va_end(arguments);
    if (size < 0 || (size_t)size >= room) {
        query->fits = false;
        return EDUBBA_NOTHING;
    }
    query->text_size += (size_t)size;
    return edubba_bytes_of(at, (size_t)size);
}
