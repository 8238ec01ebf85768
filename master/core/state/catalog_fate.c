/* Are the wishes of a tablet sound, and what became of one that is gone? */
#include "common/base/assert.h"
#include "master/core/state/catalog_state.h"

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
    size_t low = 0; /* so many begin at the tablet or below it */
    size_t high = gone->range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (gone->ranges[middle].first <= tablet) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && tablet - gone->ranges[low - 1].first < gone->ranges[low - 1].count;
}

struct tablet *state_made_of(const struct catalog *catalog, uint64_t number)
{
    return number_map_get(&catalog->origins, number);
}

/* Two are made of one, or one of two: a number that has more than one tablet to its name is its parent. */
void state_note_origin(struct catalog *catalog, struct tablet *tablet)
{
    const struct tablet_record *record = &tablet->record;
    if (record->parent != 0) {
        tablet->twin = number_map_put(&catalog->origins, record->parent, tablet);
    }
    if (record->absorbed != 0) {
        (void)number_map_put(&catalog->origins, record->absorbed, tablet);
    }
}

static void leave_twins(struct catalog *catalog, struct tablet *tablet)
{
    struct tablet *first = state_made_of(catalog, tablet->record.parent);
    if (first == tablet && tablet->twin == NULL) {
        (void)number_map_remove(&catalog->origins, tablet->record.parent);
    } else if (first == tablet) {
        (void)number_map_put(&catalog->origins, tablet->record.parent, tablet->twin);
    }
    for (struct tablet *twin = first; twin != NULL && twin != tablet; twin = twin->twin) {
        twin->twin = twin->twin == tablet ? tablet->twin : twin->twin;
    }
    tablet->twin = NULL;
}

void state_forget_origin(struct catalog *catalog, struct tablet *tablet)
{
    if (tablet->record.parent != 0) {
        leave_twins(catalog, tablet);
    }
    if (tablet->record.absorbed != 0 && state_made_of(catalog, tablet->record.absorbed) == tablet) {
        (void)number_map_remove(&catalog->origins, tablet->record.absorbed);
    }
}

static size_t check_origin(const struct catalog *catalog, const struct tablet *tablet)
{
    const struct tablet_record *record = &tablet->record;
    const struct tablet *first = state_made_of(catalog, record->parent);
    const struct tablet *twin = first;

    while (twin != NULL && twin != tablet) {
        ASSERT(twin->record.parent == record->parent);
        twin = twin->twin;
    }
    ASSERT(IMPLIES(record->parent != 0, twin == tablet));
    ASSERT(IMPLIES(record->absorbed != 0, state_made_of(catalog, record->absorbed) == tablet));
    return (record->parent != 0 && first == tablet ? 1U : 0U) + (record->absorbed != 0 ? 1U : 0U);
}

void state_check_origins(const struct catalog *catalog)
{
    const struct list_link *beside = catalog->gone.head.next;
    size_t origins = 0;
    size_t gone = 0;

    for (size_t i = 0; i < catalog->table_count; i++) {
        const struct table_entry *entry = catalog->by_name[i];
        for (size_t j = 0; j < entry->tablet_count; j++) {
            origins += check_origin(catalog, entry->tablets[j]);
        }
    }
    LIST_FOREACH(const struct changed, changed, &catalog->changed) {
        const struct gone *tablet = changed->object;
        if (changed->kind == CHANGED_TABLET_GONE) {
            ASSERT(number_map_get(&catalog->gone_tablets, tablet->number) == tablet);
            ASSERT(beside->owner == tablet);
            beside = beside->next;
            gone++;
        }
    }
    ASSERT(beside->owner == NULL);
    ASSERT(catalog->origins.count == origins);
    ASSERT(catalog->gone_tablets.count == gone && catalog->gone_tablet_count == gone);
}

/* The memory of what went is lost with the process, or given up; but tablets know what they came
 * from.  When only one child is left it is not known which one it was. */
static enum proposed_outcome find_heirs(const struct catalog *catalog,
                                        uint64_t number,
                                        struct tablet_heirs *ret_heirs)
{
    const struct tablet *made = state_made_of(catalog, number);

    if (made == NULL) {
        return PROPOSED_UNKNOWN;
    }
    if (made->record.absorbed != 0) {
        ret_heirs->merged = made->record.number;
        return PROPOSED_MERGED;
    }
    if (made->twin != NULL) {
        bool is_left = bytes_compare(made->record.range.start, made->twin->record.range.start) < 0;
        ret_heirs->left = is_left ? made->record.number : made->twin->record.number;
        ret_heirs->right = is_left ? made->twin->record.number : made->record.number;
    }
    return PROPOSED_SPLIT;
}

enum proposed_outcome state_fate(const struct catalog *catalog,
                                 uint64_t tablet,
                                 struct tablet_heirs *ret_heirs)
{
    *ret_heirs = (struct tablet_heirs){0};
    if (number_map_get(&catalog->tablets, tablet) != NULL) {
        return PROPOSED_CONFIGURATION;
    }
    const struct gone *gone = number_map_get(&catalog->gone_tablets, tablet);
    if (gone != NULL) {
        *ret_heirs = gone->heirs;
        return gone->heirs.merged != 0 ? PROPOSED_MERGED : PROPOSED_SPLIT;
    }
    LIST_FOREACH(const struct gone, dropped, &catalog->dropped) {
        if (was_in(dropped, tablet)) {
            return PROPOSED_DROPPED;
        }
    }
    return find_heirs(catalog, tablet, ret_heirs);
}
