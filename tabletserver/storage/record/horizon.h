/*
 * How far garbage collection by age has come in a tablet, and what of it may be erased: the decisions, without
 * a store around them.
 *
 * Who leads a tablet says in the log which cells of a family are older than its rule allows: a horizon, by the
 * version of the schema that the rule came from.  Each copy then erases by itself what lies below, whatever its own
 * clock says.  A horizon of another version of the schema than the copy's is void: under a laxer rule, cells
 * below it may be written and shall stay.
 *
 * Servers hear of a schema one after the other.  So before who leads gives out the first write under a newer one, it says
 * so in the log, for each family that has a horizon or a rule: with a horizon below which nothing lies.  A copy that
 * knows the older schema has no horizon of that any more, and whoever leads next with an older schema sees that
 * others have gone by a newer one.
 *
 * Pure.
 */
#ifndef TABLETSERVER_STORAGE_RECORD_HORIZON_H
#define TABLETSERVER_STORAGE_RECORD_HORIZON_H

#include <stdbool.h>
#include <stdint.h>

#include "common/model/schema.h"
#include "tabletserver/storage/record/record.h"

struct horizon {
    uint32_t family;
    uint64_t rule_version; /* of the schema */
    int64_t horizon_us;    /* what is older may go */
    uint64_t sequence;     /* of the record that said so; 0 = none did */
};

/* Of one tablet: one a family at most. */
struct horizon_list {
    struct horizon *items;
    uint32_t count;
};

/* Does age alone decide?  *ret_age_us: what is older is dropped.  Of an intersection, all of it must be ages. */
bool horizon_age_of(const struct gc_rule *rule, int64_t *ret_age_us);
/* Is there nothing in the rule that horizons do not collect in the end? */
bool horizon_does_all(const struct gc_rule *rule);

/* NULL when the family has none.  For tests. */
const struct horizon *horizon_find(const struct horizon_list *list, uint32_t family);
/* One of a newer rule replaces the old, one of the same rule only moves it on.  False: the family has none yet,
 * and nothing is changed; whoever owns the items adds it. */
bool horizon_raise(const struct horizon_list *list, const struct horizon *to);
/* Forget those that were said above the sequence. */
void horizon_forget_above(struct horizon_list *list, uint64_t sequence);

/* Must who leads say, before it gives out a write, that it goes by this schema now?  *ret_horizon: how. */
bool horizon_must_say(const struct horizon_list *list,
                      const struct table *table,
                      const struct family *family,
                      struct record_gc_horizon *ret_horizon);
/* Has something been given out under a newer schema?  Then nothing may be judged by this one. */
bool horizon_is_outdated(const struct horizon_list *list, const struct table *table);

/* Has who leads something to say of the family?  *ret_horizon: what. */
bool horizon_is_due(const struct horizon_list *list,
                    const struct table *table,
                    const struct family *family,
                    int64_t now_us,
                    struct record_gc_horizon *ret_horizon);
/* Not before the latest moment by which something of it was said to have expired: what a horizon lies ahead of a
 * clock may be erased in one copy and not in another, and at that moment no copy shows it. */
int64_t horizon_time_us(const struct horizon_list *list, const struct table *table, int64_t now_us);
/* Has all been committed that was said? */
bool horizon_all_committed(const struct horizon_list *list, uint64_t committed);
/* May a copy whose schema this is erase such a cell for good?  Also one of a family that is dropped. */
bool horizon_may_erase(const struct horizon_list *list,
                       const struct table *table,
                       uint64_t committed,
                       uint32_t family,
                       int64_t timestamp_us);

#endif /* TABLETSERVER_STORAGE_RECORD_HORIZON_H */
