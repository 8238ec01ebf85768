/* Schemas and GC rules between the public structs and the catalog's. */
#ifndef CLIENT_ADMIN_SCHEMA_H
#define CLIENT_ADMIN_SCHEMA_H

#include "client/loop/client.h"
#include "common/model/schema.h"

#define SCHEMA_GC_DEPTH_MAX 32

/* In the arena; names are borrowed.  Errors: STATUS_NO_MEMORY, STATUS_INVALID_ARGUMENT (an enum out
 * of range, a rule nested too deep). */
enum status schema_gc_from_public(struct arena *arena,
                                  const struct edubba_gc_rule *rule,
                                  struct gc_rule *ret_rule,
                                  struct error *ret_error);
enum status schema_family_from_public(struct arena *arena,
                                      const struct edubba_family *family,
                                      struct family *ret_family,
                                      struct error *ret_error);

/* In one piece of memory; NULL without. */
struct edubba_schema *schema_to_public(const struct table *table, uint32_t tablet_count);

#endif /* CLIENT_ADMIN_SCHEMA_H */
