/*
 * A batch job: what a query finds is copied into a table of its own, row by row in batches.
 *
 * Thread rule: the main thread, when nothing is in flight.
 */
#ifndef CLIENT_LOAD_LAB_COPY_H
#define CLIENT_LOAD_LAB_COPY_H

#include "client/load/lab/stand.h"

/* Do the variant's job, if it has one; sets its copied_rows and copy_s, and tells the result what is kept.  The table is called as
 * the variant's with "_copy" behind it, and goes as that does.  Errors: those of the calls. */
enum edubba_code lab_copy(struct lab_stand *stand,
                          const struct lab_world *world,
                          struct lab_result *result,
                          struct lab_variant_result *variant,
                          struct edubba_error *error);

#endif /* CLIENT_LOAD_LAB_COPY_H */
