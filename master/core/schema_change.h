/*
 * Schema changes: checked completely, then built as a new table; the old one is never touched.
 *
 * Results borrow from their inputs where they can: copy them (table_copy) before the inputs go.
 * Errors of all: STATUS_NO_MEMORY, and those named below; the text names table and family.  Pure.
 */
#ifndef MASTER_CORE_SCHEMA_CHANGE_H
#define MASTER_CORE_SCHEMA_CHANGE_H

#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/wire/message.h"

/*
 * The table that a request describes, with its number, version 1 and families numbered from 1.
 * Errors: STATUS_INVALID_ARGUMENT (name, families, rules).
 */
enum status schema_create(struct arena *arena,
                          const struct table *wanted,
                          uint64_t number,
                          struct table *ret_table,
                          struct error *ret_error);

/*
 * The table after alterations, all of them in order or none; its version is one higher.
 * Errors: STATUS_INVALID_ARGUMENT (name, rule, aggregate type changed, too many families),
 * STATUS_ALREADY_EXISTS, STATUS_NOT_FOUND (family), STATUS_FAILED_PRECONDITION (a protected table
 * loses no family).
 */
enum status schema_alter(struct arena *arena,
                         const struct table *before,
                         const struct alteration *alterations,
                         size_t alteration_count,
                         struct table *ret_after,
                         struct error *ret_error);

struct split_keys {
    const struct bytes *keys; /* ascending, no two equal */
    size_t count;
};

/* Initial splits as they are used: checked, sorted, each once.
 * Errors: STATUS_INVALID_ARGUMENT (empty or over-long key, too many). */
enum status schema_splits(struct arena *arena,
                          const struct bytes *splits,
                          size_t split_count,
                          struct split_keys *ret_splits,
                          struct error *ret_error);

#endif /* MASTER_CORE_SCHEMA_CHANGE_H */
