/* Are the wishes of a tablet sound, and what became of one that is gone? */
#include "master/core/catalog_state.h"

/* --- wishes ----------------------------------------------------------------------------------- */

static bool are_to_merge(const struct tablet *left, const struct tablet *right)
{
    const struct tablet_goal *a = &left->record.goal;
    const struct tablet_goal *b = &right->record.goal;
    return a->wish == GOAL_MERGE && b->wish == GOAL_MERGE && a->left == b->left &&
           a->right == b->right && a->merged == b->merged &&
           left->record.table == right->record.table && left->record.range.end.size_bytes > 0 &&
           bytes_equal(left->record.range.end, right->record.range.start);
}

bool state_wish_is_sound(const struct catalog *catalog, const struct tablet *tablet)
{
    const struct tablet_goal *goal = &tablet->record.goal;
    const struct tablet *left = number_map_get(&catalog->tablets, goal->left);
    const struct tablet *right = number_map_get(&catalog->tablets, goal->right);

    switch (goal->wish) {
    case GOAL_STAY:
        return true;
    case GOAL_SPLIT:
        return left == NULL && right == NULL;
    case GOAL_MERGE:
        return left != NULL && right != NULL && are_to_merge(left, right) &&
               number_map_get(&catalog->tablets, goal->merged) == NULL;
    }
    return false;
}

/* --- what became of a number ------------------------------------------------------------------ */

static bool was_in(const struct gone *gone, uint64_t tablet)
{
    for (size_t i = 0; i < gone->range_count; i++) {
        if (tablet >= gone->ranges[i].first &&
            tablet - gone->ranges[i].first < gone->ranges[i].count) {
            return true;
        }
    }
    return false;
}

/* Take in what the tablet says of where it came from. */
static void see_origin(const struct tablet_record *record,
                       uint64_t from,
                       struct tablet_heirs *heirs,
                       bool *ret_split)
{
    if (record->absorbed == from || (record->absorbed != 0 && record->parent == from)) {
        heirs->merged = record->number;
    } else if (record->parent == from && *ret_split) {
        heirs->right = record->number;
    } else if (record->parent == from) {
        heirs->left = record->number;
        *ret_split = true;
    }
}

/* The memory of what went is lost with the process, or given up; but tablets know what they came
 * from.  When only one child is left it is not known which one it was. */
static enum proposed_outcome find_heirs(const struct catalog *catalog,
                                        uint64_t tablet,
                                        struct tablet_heirs *ret_heirs)
{
    struct tablet_heirs heirs = {0};
    bool split = false;

    for (size_t i = 0; i < catalog->table_count; i++) {
        const struct table_entry *entry = catalog->by_name[i];
        for (size_t j = 0; j < entry->tablet_count; j++) {
            see_origin(&entry->tablets[j]->record, tablet, &heirs, &split);
        }
    }
    if (heirs.right == 0) {
        heirs.left = 0;
    }
    *ret_heirs = heirs;
    if (heirs.merged != 0) {
        return PROPOSED_MERGED;
    }
    return split ? PROPOSED_SPLIT : PROPOSED_UNKNOWN;
}

enum proposed_outcome state_fate(const struct catalog *catalog,
                                 uint64_t tablet,
                                 struct tablet_heirs *ret_heirs)
{
    *ret_heirs = (struct tablet_heirs){0};
    if (number_map_get(&catalog->tablets, tablet) != NULL) {
        return PROPOSED_CONFIGURATION;
    }
    LIST_FOREACH(const struct changed, changed, &catalog->changed) {
        const struct gone *gone = changed->object;
        if (changed->kind == CHANGED_TABLE_GONE && was_in(gone, tablet)) {
            return PROPOSED_DROPPED;
        }
        if (changed->kind == CHANGED_TABLET_GONE && gone->number == tablet) {
            *ret_heirs = gone->heirs;
            return gone->heirs.merged != 0 ? PROPOSED_MERGED : PROPOSED_SPLIT;
        }
    }
    return find_heirs(catalog, tablet, ret_heirs);
}
