/*
 * Tables as Bigtable's admin messages describe them, and as edubba.h does.
 *
 * What is checked here is only what would be lost on the way: numbers that do not fit, types that
 * edubba.h has no word for.  The rest (names, the shape and size of a GC rule, how many families)
 * is the master's to check, whose texts are Bigtable's.
 *
 * TYPES.  A family is plain or an aggregate.  Aggregates are made from an input type and an
 * aggregator, and answered with both and with the type of their state:
 *
 *     sum, min, max         of Int64 (big endian)    state: the same
 *     hllpp_unique_count    of Int64 or Bytes        state: Bytes, a serialized sketch
 *
 * A family whose type is Bytes is plain, and is answered without a type.
 *
 * Pure.  Thread rule: any thread.  What is made of messages borrows their texts; messages borrow
 * nothing, as a schema goes before its answer is sent.
 */
#ifndef GATEWAY_CONVERT_CONVERT_SCHEMA_H
#define GATEWAY_CONVERT_CONVERT_SCHEMA_H

#include "admin.pb-c.h"
#include "client/include/edubba.h"
#include "common/base/arena.h"
#include "common/base/error.h"

/* --- to edubba.h ------------------------------------------------------------------------------ */

/* rule NULL or empty: keep everything.  Children lie in the arena.
 * Errors: STATUS_INVALID_ARGUMENT, STATUS_NO_MEMORY. */
enum status convert_gc_rule(const Google__Bigtable__Admin__V2__GcRule *rule,
                            struct arena *arena,
                            struct edubba_gc_rule *ret_rule,
                            struct error *ret_error);

/* type NULL or of no kind: plain.  Errors: STATUS_INVALID_ARGUMENT (no such aggregate),
 * STATUS_UNIMPLEMENTED (a type that is not served). */
enum status convert_value_type(const Google__Bigtable__Admin__V2__Type *type,
                               enum edubba_aggregate *ret_aggregate,
                               struct error *ret_error);

/* family NULL: plain, without a rule.  Errors: those of the two above, naming the family. */
enum status convert_family(const char *name,
                           const Google__Bigtable__Admin__V2__ColumnFamily *family,
                           struct arena *arena,
                           struct edubba_family *ret_family,
                           struct error *ret_error);

/* Families in the order of their names, as a map has none.  table NULL: one without families.
 * Errors: those of convert_family(); STATUS_UNIMPLEMENTED (change streams, automated backups, row
 * key schemas). */
enum status convert_schema(const Google__Bigtable__Admin__V2__Table *table,
                           const char *name,
                           struct arena *arena,
                           struct edubba_schema *ret_schema,
                           struct error *ret_error);

/* --- and back --------------------------------------------------------------------------------- */

/* NULL in *ret_rule: keep everything.  Errors: STATUS_NO_MEMORY. */
enum status convert_gc_rule_back(const struct edubba_gc_rule *rule,
                                 struct arena *arena,
                                 Google__Bigtable__Admin__V2__GcRule **ret_rule);

/* NULL: plain.  Shared and never freed; not to be written to. */
Google__Bigtable__Admin__V2__Type *convert_value_type_back(enum edubba_aggregate aggregate);

/* What of a table belongs to its schema: families, granularity, protection.  The name and the rest
 * are left as they are.  Errors: STATUS_NO_MEMORY. */
enum status convert_schema_back(const struct edubba_schema *schema,
                                struct arena *arena,
                                Google__Bigtable__Admin__V2__Table *table);

#endif /* GATEWAY_CONVERT_CONVERT_SCHEMA_H */
