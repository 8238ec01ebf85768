/*
 * Tables that were opened, so that only the first call to one asks a master.
 *
 * A table is found by its name here ("T", or "P/I/T") and held by those that use it.  One that a
 * server calls NOT_FOUND is forgotten, so the next call looks again: it may have been made anew.
 * What is known of its families is as old as its opening: who would refuse something for their
 * sake looks again first.
 *
 * Thread rule: any thread.
 */
#ifndef GATEWAY_METHODS_CALL_TABLES_H
#define GATEWAY_METHODS_CALL_TABLES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "client/include/edubba.h"
#include "common/base/bytes.h"
#include "gateway/core/family_check.h"

struct tables;

struct open_table {
    struct open_table *next; /* in its bucket */
    struct edubba_table *handle;
    bool is_micros;
    struct family_types families;
    int64_t asked_ns; /* no change before it is missed in here */
    atomic_uint holders;
    char name[];
};

/* Errors: STATUS_NO_MEMORY as NULL. */
struct tables *tables_create(struct edubba_client *client);
void tables_destroy(struct tables *tables); /* nobody holds one; NULL is fine */

/* Hold the table if it was opened; NULL = it was not. */
struct open_table *tables_find(struct tables *tables, const char *name);

/* Open it, waiting for a master; it is found from now on, and one that was opened before is not.
 * Errors: those of edubba_table_open(). */
enum edubba_code tables_open(struct tables *tables,
                             const char *name,
                             struct open_table **ret_table,
                             struct edubba_error *error);

void table_release(struct open_table *table);

/* It is not there any more: those who hold it keep it, nobody else finds it. */
void tables_forget(struct tables *tables, const char *name);
/* The same of this one, which the caller holds: not of another that has its name by now. */
void tables_forget_table(struct tables *tables, const struct open_table *table);

#endif /* GATEWAY_METHODS_CALL_TABLES_H */
