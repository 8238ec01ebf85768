/*
 * The form of a state that does not depend on how it was come by: for comparing copies of a cell.
 *
 * A sketch that is still sparse in one copy may be normal in another (README.md, "What to know when
 * states are compared").  A list that may have touched its limit elsewhere is given as the registers
 * that it means; all else is the state itself, byte for byte.
 *
 * Which lists may have, their length says: those of a quarter of the limit or more.  For numbers below
 * 2^(p+7) fewer than 2^(p-7) steps are of 2^14 or more, so nearly all entries take two bytes or one,
 * and a list that touched the limit of 3 * 2^(p-2) bytes has nearly half as many entries.  Merging
 * makes a list no poorer in entries, whatever it does to its bytes; and of a precision that is d bits
 * lower, a 2^d-th of them remains at least, where the limit is 2^d times lower too.
 *
 * Thread rule: pure functions; any thread.
 */
#ifndef COMMON_AGGREGATE_AGGREGATE_FORM_H
#define COMMON_AGGREGATE_AGGREGATE_FORM_H

#include "common/aggregate/aggregate.h"
#include "common/base/buffer.h"
#include "common/base/bytes.h"

/* *ret_form borrows the state, or room, which is reset.  What is no state is its own form.
 * Errors: STATUS_NO_MEMORY. */
enum status aggregate_form(enum aggregate_kind kind,
                           struct bytes state,
                           struct buffer *room,
                           struct bytes *ret_form);

#endif /* COMMON_AGGREGATE_AGGREGATE_FORM_H */
