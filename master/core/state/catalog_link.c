/* Committed objects taken into the catalog and out of it: what links them, and what is counted of them. */
#include "master/core/state/catalog_state.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

void state_touch(struct catalog *catalog, struct changed *changed, uint64_t version)
{
    changed->version = version;
    list_append(&catalog->changed, &changed->link, changed);
}

void state_link_table(struct catalog *catalog, struct table_entry *entry)
{
    const struct table_record *record = &entry->image->record;
    size_t index = state_name_index(catalog, record->table.id);

    ASSERT(catalog->table_count < catalog->table_capacity);
    memmove(catalog->by_name + index + 1, catalog->by_name + index,
            (catalog->table_count - index) * sizeof(struct table_entry *));
    catalog->by_name[index] = entry;
    catalog->table_count++;
    void *replaced = number_map_put(&catalog->tables, record->table.number, entry);
    ASSERT(replaced == NULL);
    state_touch(catalog, &entry->changed, record->changed_version);
}

/* Count the tablet's copies in (or out) where its configuration says they are. */
static void count_copies(struct catalog *catalog, struct tablet *tablet, bool in)
{
    const struct replica_configuration *configuration = &tablet->record.configuration;
    size_t one = in ? 1 : SIZE_MAX; /* adding SIZE_MAX takes one away */

    for (uint32_t i = 0; i < configuration->member_count; i++) {
        struct server *server = state_server(catalog, configuration->members[i].server);
        struct store *store = number_map_get(&catalog->stores, configuration->members[i].store);
        ASSERT(server != NULL);
        ASSERT(store != NULL);
        server->tablet_count += one;
        store->tablet_count += in ? 1 : UINT32_MAX;
        if (in) {
            list_append(&server->tablets, &tablet->copies[i].on_server, tablet);
        } else {
            list_remove(&tablet->copies[i].on_server);
        }
    }
}

uint64_t state_wanted_leader(const struct tablet_record *record)
{
    return record->goal.leader != 0 ? record->goal.leader : tablet_record_leader(record).store;
}

/* The same for what is wished. */
static void count_goal(struct catalog *catalog, const struct tablet_record *record, bool in)
{
    uint32_t one = in ? 1 : UINT32_MAX;

    for (uint32_t i = 0; i < record->goal.store_count; i++) {
        struct store *store = number_map_get(&catalog->stores, record->goal.stores[i]);
        ASSERT(store != NULL);
        store->wanted_count += one;
    }
    struct store *lead = number_map_get(&catalog->stores, state_wanted_leader(record));
    lead->lead_count += one;
}

size_t state_children_to_come(const struct tablet_record *record)
{
    return record->state == TABLET_SPLITTING ? 1 : record->goal.wish == GOAL_SPLIT ? 2 : 0;
}

static void count_tablet(struct catalog *catalog, struct tablet *tablet, bool in)
{
    const struct tablet_record *record = &tablet->record;
    struct table_entry *entry = number_map_get(&catalog->tables, record->table);
    struct server *leader = state_server(catalog, tablet_record_leader(record).server);
    size_t one = in ? 1 : SIZE_MAX;

    count_copies(catalog, tablet, in);
    count_goal(catalog, record, in);
    entry->by_state[record->state] += one;
    leader->leading_count += one;
    leader->unsettled_count += state_is_unsettled(record->state) ? one : 0;
    leader->splitting_count += state_children_to_come(record) * one;
}

static void settle(struct catalog *catalog, struct tablet *tablet)
{
    if (state_is_unsettled(tablet->record.state)) {
        tablet->unsettled_ns = catalog->now_ns;
        list_append(&catalog->unsettled, &tablet->unsettled, tablet);
    } else {
        list_remove(&tablet->unsettled);
    }
    if (tablet_record_is_at_goal(&tablet->record)) {
        list_remove(&tablet->astray);
        tablet->hurried = false;
    } else if (!list_is_linked(&tablet->astray)) {
        list_append(&catalog->astray, &tablet->astray, tablet);
    }
}

void state_link_tablet(struct catalog *catalog, struct tablet *tablet)
{
    void *replaced = number_map_put(&catalog->tablets, tablet->record.number, tablet);
    ASSERT(replaced == NULL);
    tablet->members_ns = catalog->now_ns;
    tablet->led_ns = catalog->now_ns;
    count_tablet(catalog, tablet, true);
    settle(catalog, tablet);
    state_touch(catalog, &tablet->changed, tablet->record.changed_version);
}

void state_unlink_tablet(struct catalog *catalog, struct tablet *tablet)
{
    void *removed = number_map_remove(&catalog->tablets, tablet->record.number);
    ASSERT(removed == tablet);
    count_tablet(catalog, tablet, false);
    list_remove(&tablet->changed.link);
    list_remove(&tablet->unsettled);
    list_remove(&tablet->dirty);
    list_remove(&tablet->astray);
    load_details_drop(&catalog->load_details, tablet->record.number);
    state_tablet_destroy(tablet);
}

void state_entry_remove(struct table_entry *entry, const struct tablet *tablet)
{
    size_t index = state_tablet_index(entry, tablet->record.range.start);
    ASSERT(entry->tablets[index] == tablet);
    entry->tablet_count--;
    memmove(entry->tablets + index, entry->tablets + index + 1,
            (entry->tablet_count - index) * sizeof(struct tablet *));
}

void state_entry_insert(struct table_entry *entry, struct tablet *tablet)
{
    struct bytes start = tablet->record.range.start;
    size_t index = 0;

    ASSERT(entry->tablet_count < entry->tablet_capacity);
    if (entry->tablet_count > 0) {
        index = state_tablet_index(entry, start);
        index += bytes_compare(entry->tablets[index]->record.range.start, start) < 0;
    }
    memmove(entry->tablets + index + 1, entry->tablets + index,
            (entry->tablet_count - index) * sizeof(struct tablet *));
    entry->tablets[index] = tablet;
    entry->tablet_count++;
}

/* What was said of members that stay is still so; of the others nothing is known yet. */
static void carry_copies(struct tablet *tablet, const struct tablet_record *record)
{
    const struct replica_configuration *before = &tablet->record.configuration;
    const struct replica_configuration *after = &record->configuration;
    struct copy copies[REPLICA_MEMBERS_MAX] = {0};

    for (uint32_t i = 0; i < after->member_count; i++) {
        uint32_t at = replica_configuration_find(before, after->members[i].store);
        /* one that is to be created elsewhere is not there, whatever the old server held */
        bool same = at < before->member_count &&
                    (before->members[at].server == after->members[i].server ||
                     record->state != TABLET_CREATING);
        if (same) {
            copies[i] = tablet->copies[at];
        }
        if (copies[i].holding == HOLDING_LEADING && before->version != after->version) {
            copies[i].holding = HOLDING_SERVING;
        }
    }
    memcpy(tablet->copies, copies, sizeof copies);
}

void state_update_tablet(struct catalog *catalog,
                         struct tablet *tablet,
                         const struct tablet_record *record,
                         uint8_t *row)
{
    const struct replica_configuration *before = &tablet->record.configuration;
    const struct replica_configuration *after = &record->configuration;
    struct row_range range = tablet->record.range;

    ASSERT(tablet->record.number == record->number);
    ASSERT(tablet->record.table == record->table);
    ASSERT(after->version >= before->version);
    ASSERT(IMPLIES(after->version == before->version, replica_configuration_equal(after, before)));
    count_tablet(catalog, tablet, false);
    carry_copies(tablet, record);
    if (!replica_configuration_same_members(before, after)) {
        tablet->members_ns = catalog->now_ns;
    }
    if (after->version > before->version) {
        tablet->led_ns = catalog->now_ns; /* whoever proposed it lives */
    }
    memory_free(tablet->row);
    tablet->record = *record;
    tablet->record.range = range;
    state_tablet_adopt_row(tablet, row);
    count_tablet(catalog, tablet, true);
    settle(catalog, tablet);
    state_touch(catalog, &tablet->changed, record->changed_version);
}

struct gone *state_gone_create(enum changed_kind kind,
                               uint64_t number,
                               uint64_t table,
                               uint64_t version,
                               const struct number_range *ranges,
                               size_t range_count)
{
    struct gone *gone = memory_allocate(sizeof *gone + range_count * sizeof *ranges);
    if (gone == NULL) {
        return NULL;
    }
    *gone = (struct gone){.number = number, .table = table, .range_count = range_count};
    gone->changed.kind = kind;
    gone->changed.version = version;
    gone->changed.object = gone;
    if (range_count > 0) {
        memcpy(gone->ranges, ranges, range_count * sizeof *ranges);
    }
    return gone;
}

/* In the list of all that changed there may be any number of tablets before it. */
static void forget_oldest_gone(struct catalog *catalog)
{
    struct gone *oldest = list_first(&catalog->gone);

    /* whoever knows less than this would never hear of it */
    catalog->changed_floor = oldest->changed.version;
    catalog->gone_tablet_count--;
    list_remove(&oldest->changed.link);
    list_remove(&oldest->beside);
    (void)number_map_remove(&catalog->gone_tablets, oldest->number);
    memory_free(oldest);
}

void state_add_gone(struct catalog *catalog, struct gone *gone)
{
    state_touch(catalog, &gone->changed, gone->changed.version);
    if (gone->changed.kind != CHANGED_TABLET_GONE) {
        return;
    }
    list_append(&catalog->gone, &gone->beside, gone);
    catalog->gone_tablet_count++;
    if (catalog->gone_tablet_count > CATALOG_GONE_MAX) {
        forget_oldest_gone(catalog);
    }
}

void state_mark_dirty(struct catalog *catalog, struct tablet *tablet)
{
    if (!list_is_linked(&tablet->dirty)) {
        list_append(&catalog->dirty, &tablet->dirty, tablet);
    }
}

void state_follow_store(struct catalog *catalog, struct tablet *tablet)
{
    struct replica_member leader = tablet_record_leader(&tablet->record);
    if (tablet->record.configuration.member_count == 1 &&
        state_owner(catalog, leader.store)->number != leader.server) {
        state_mark_dirty(catalog, tablet);
    }
}
