#include "tabletserver/storage/record/horizon.h"

/* --- rules ---------------------------------------------------------------------------------------- */

/* A union drops what its youngest age drops; an intersection of ages, what its oldest does. */
static bool age_of_list(const struct gc_rule *rule, int64_t *ret_age_us)
{
    bool found = false;
    bool all = true;
    int64_t age_us = 0;
    for (uint32_t i = 0; i < rule->child_count; i++) {
        int64_t child_us = 0;
        if (!horizon_age_of(&rule->children[i], &child_us)) {
            all = false;
        } else if (!found || (rule->kind == GC_UNION ? child_us < age_us : child_us > age_us)) {
            age_us = child_us;
            found = true;
        }
    }
    if (!found || (rule->kind == GC_INTERSECTION && !all)) {
        return false;
    }
    *ret_age_us = age_us;
    return true;
}

bool horizon_age_of(const struct gc_rule *rule, int64_t *ret_age_us)
{
    switch (rule->kind) {
    case GC_NONE:
    case GC_VERSIONS:
        return false;
    case GC_AGE:
        *ret_age_us = rule->age_us;
        return true;
    case GC_UNION:
    case GC_INTERSECTION:
        break;
    }
    return age_of_list(rule, ret_age_us);
}

bool horizon_does_all(const struct gc_rule *rule)
{
    if (rule->kind == GC_UNION || rule->kind == GC_INTERSECTION) {
        for (uint32_t i = 0; i < rule->child_count; i++) {
            if (!horizon_does_all(&rule->children[i])) {
                return false;
            }
        }
        return true;
    }
    return rule->kind == GC_AGE || rule->kind == GC_NONE;
}

/* --- the list ------------------------------------------------------------------------------------- */

static struct horizon *find(const struct horizon_list *list, uint32_t family)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].family == family) {
            return &list->items[i];
        }
    }
    return NULL;
}

const struct horizon *horizon_find(const struct horizon_list *list, uint32_t family)
{
    return find(list, family);
}

bool horizon_raise(const struct horizon_list *list, const struct horizon *to)
{
    struct horizon *old = find(list, to->family);
    if (old == NULL) {
        return false;
    }
    bool same_rule = to->rule_version == old->rule_version;
    if (to->rule_version > old->rule_version || (same_rule && to->horizon_us > old->horizon_us)) {
        *old = *to;
    }
    return true;
}

void horizon_forget_above(struct horizon_list *list, uint64_t sequence)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].sequence <= sequence) {
            list->items[count++] = list->items[i];
        }
    }
    list->count = count;
}

/* --- what may be said and done -------------------------------------------------------------------- */

bool horizon_must_say(const struct horizon_list *list,
                      const struct table *table,
                      const struct family *family,
                      struct record_gc_horizon *ret_horizon)
{
    const struct horizon *old = find(list, family->number);
    bool must = old == NULL ? family->gc.kind != GC_NONE : old->rule_version < table->version;
    if (must) {
        *ret_horizon = (struct record_gc_horizon){
            .family = family->number, .rule_version = table->version, .horizon_us = INT64_MIN};
    }
    return must;
}

bool horizon_is_outdated(const struct horizon_list *list, const struct table *table)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].rule_version > table->version) {
            return true;
        }
    }
    return false;
}

bool horizon_is_due(const struct horizon_list *list,
                    const struct table *table,
                    const struct family *family,
                    int64_t now_us,
                    struct record_gc_horizon *ret_horizon)
{
    int64_t age_us = 0;
    if (!horizon_age_of(&family->gc, &age_us) || age_us >= now_us) {
        return false;
    }
    const struct horizon *old = find(list, family->number);
    bool is_newer = old != NULL && old->rule_version > table->version;
    bool is_said = old != NULL && old->rule_version == table->version &&
                   old->horizon_us >= now_us - age_us;
    if (is_newer || is_said) {
        return false;
    }
    *ret_horizon = (struct record_gc_horizon){
        .family = family->number, .rule_version = table->version, .horizon_us = now_us - age_us};
    return true;
}

int64_t horizon_time_us(const struct horizon_list *list, const struct table *table, int64_t now_us)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct family *family = table_family_by_number(table, list->items[i].family);
        int64_t age_us = 0;
        int64_t said_us = 0;
        if (family != NULL && horizon_age_of(&family->gc, &age_us) &&
            !__builtin_add_overflow(list->items[i].horizon_us, age_us, &said_us) &&
            said_us > now_us) {
            now_us = said_us;
        }
    }
    return now_us;
}

bool horizon_all_committed(const struct horizon_list *list, uint64_t committed)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].sequence > committed) {
            return false;
        }
    }
    return true;
}

bool horizon_may_erase(const struct horizon_list *list,
                       const struct table *table,
                       uint64_t committed,
                       uint32_t family,
                       int64_t timestamp_us)
{
    if (table_family_by_number(table, family) == NULL) {
        /* Dropped; or so new that we have not been told yet: numbers only rise. */
        return family < table->family_number_next;
    }
    const struct horizon *horizon = find(list, family);
    return horizon != NULL && horizon->rule_version == table->version &&
           horizon->sequence <= committed && timestamp_us < horizon->horizon_us;
}
