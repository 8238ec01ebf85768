#include "common/base/assert.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"

#define UNWELL_NS        INT64_C(1000000000)
#define UNKNOWN_NOTES_NS INT64_C(60000000000) /* between two reports of which it is noted */

/*
 * What a server says it holds, against what the catalog says it should hold.  A report names
 * tablets by number and store; the store decides, since a disk may have moved between servers.
 */

/* Is it so of every copy that none is there?  Of one that nobody spoke of, nothing is known. */
static bool all_are_lost(const struct tablet *tablet)
{
    for (uint32_t i = 0; i < tablet->record.configuration.member_count; i++) {
        enum tablet_holding holding = tablet->copies[i].holding;
        if (holding != HOLDING_FAILED && holding != HOLDING_MISSING) {
            return false;
        }
    }
    return true;
}

static bool any_holds(const struct tablet *tablet, enum tablet_holding least)
{
    for (uint32_t i = 0; i < tablet->record.configuration.member_count; i++) {
        enum tablet_holding holding = tablet->copies[i].holding;
        if (holding == HOLDING_SERVING || holding == HOLDING_LEADING || holding == least) {
            return true;
        }
    }
    return false;
}

/* A single copy serves as soon as it is there; several, when their primary has opened them. */
static bool has_begun(struct tablet *tablet)
{
    return tablet->record.configuration.member_count == 1
               ? any_holds(tablet, HOLDING_CREATED)
               : state_leader_copy(tablet)->holding == HOLDING_LEADING;
}

uint32_t report_desired_state(struct tablet *tablet)
{
    uint32_t state = tablet->record.state;

    switch (state) {
    case TABLET_CREATING:
        return has_begun(tablet) ? TABLET_SERVING : TABLET_CREATING;
    case TABLET_UNAVAILABLE:
        /* An empty tablet is welcome where one was ordered; it never stands in for a lost one. */
        return any_holds(tablet, HOLDING_SERVING) ? TABLET_SERVING : TABLET_UNAVAILABLE;
    case TABLET_SPLITTING:
        if (has_begun(tablet)) {
            return TABLET_SERVING;
        }
        break;
    default:
        break;
    }
    /* One copy is enough to serve from: it is lost when all of them say so, and not before. */
    return all_are_lost(tablet) ? TABLET_UNAVAILABLE : state;
}

static enum tablet_holding holding_of(const struct tablet *tablet, const struct held_tablet *held)
{
    switch (held->state) {
    case HELD_SERVING:
        return held->role == HELD_AS_PRIMARY &&
                       held->version == tablet->record.configuration.version
                   ? HOLDING_LEADING
                   : HOLDING_SERVING;
    case HELD_CREATED:
        return HOLDING_CREATED;
    case HELD_FAILED:
        return HOLDING_FAILED;
    }
    return HOLDING_UNKNOWN;
}

static void set_holding(struct catalog *catalog,
                        struct tablet *tablet,
                        struct copy *copy,
                        enum tablet_holding holding)
{
    copy->holding = holding;
    if (report_desired_state(tablet) != tablet->record.state) {
        state_mark_dirty(catalog, tablet);
    }
}

/* Told in the answer to this report; if that is lost, in the answer to the next. */
static void add_stale(struct server *server, const struct held_tablet *held)
{
    if (server->stale_count < STALE_MAX) {
        server->stale[server->stale_count++] = (struct replica_name){held->tablet, held->store};
    }
}

/* Are there children which the server must still make of it?  Then they are not missing. */
static bool is_parent(const struct catalog *catalog,
                      struct server *server,
                      const struct held_tablet *held,
                      uint64_t report)
{
    bool found = false;
    for (struct tablet *child = state_made_of(catalog, held->tablet); child != NULL;
         child = child->twin) {
        const struct tablet_record *record = &child->record;
        uint32_t at = replica_configuration_find(&record->configuration, held->store);
        if (state_copy_on(child, server->number) != NULL &&
            at < record->configuration.member_count &&
            !copies_has(server, record->number, held->store)) {
            child->copies[at].report = report;
            found = true;
        }
    }
    return found;
}

/* Has it had all the members that it should have for a time, and was its primary heard of? */
static bool is_whole(const struct catalog *catalog, struct tablet *tablet)
{
    const struct tablet_record *record = &tablet->record;
    const struct table_entry *entry = number_map_get(&catalog->tables, record->table);

    return record->configuration.member_count >= entry->image->record.table.replicas &&
           record->state == TABLET_SERVING && state_is_there(state_leader_copy(tablet)) &&
           catalog->now_ns - tablet->members_ns >= catalog->settings.keep_outsiders_ns;
}

/* May a copy that does not count go?  Not while it should be one, nor before the tablet is whole without it. */
static bool may_go(const struct catalog *catalog, struct tablet *tablet, uint64_t store)
{
    const struct replica_configuration *configuration = &tablet->record.configuration;

    return replica_configuration_find(configuration, store) == configuration->member_count &&
           !tablet_goal_names(&tablet->record.goal, store) && is_whole(catalog, tablet);
}

/* The same of what something came of: nor while that may yet be made of it there. */
static bool heir_may_do_without(const struct catalog *catalog,
                                struct server *server,
                                uint64_t number,
                                uint64_t store)
{
    struct tablet *heir = number_map_get(&catalog->tablets, number);
    return heir != NULL && (copies_has(server, number, store) ? is_whole(catalog, heir)
                                                              : may_go(catalog, heir, store));
}

/* Of a tablet that was split or merged: what came of it must all be so. */
static bool part_may_go(const struct catalog *catalog,
                        struct server *server,
                        const struct tablet_heirs *heirs,
                        uint64_t store)
{
    if (heirs->merged != 0) {
        return heir_may_do_without(catalog, server, heirs->merged, store);
    }
    return heir_may_do_without(catalog, server, heirs->left, store) &&
           heir_may_do_without(catalog, server, heirs->right, store);
}

static bool is_well(const struct catalog *catalog, struct tablet *tablet)
{
    const struct tablet_record *record = &tablet->record;
    const struct table_entry *entry = number_map_get(&catalog->tables, record->table);

    return record->state == TABLET_SERVING && state_is_there(state_leader_copy(tablet)) &&
           record->configuration.member_count >= entry->image->record.table.replicas &&
           catalog->now_ns - tablet->members_ns >= catalog->settings.keep_outsiders_ns;
}

/* Are all tablets there, and have been for a time?  It is asked for every forgotten copy with every report:
 * looked at is once a step, and, when they were not, again after a while. */
static bool all_are_well(struct catalog *catalog)
{
    bool well = catalog->now_ns >= catalog->well_not_before_ns;

    if (catalog->well) {
        return true;
    }
    for (size_t i = 0; i < catalog->table_count && well; i++) {
        const struct table_entry *entry = catalog->by_name[i];
        for (size_t j = 0; j < entry->tablet_count && well; j++) {
            well = is_well(catalog, entry->tablets[j]);
        }
        catalog->well_not_before_ns = well ? 0 : catalog->now_ns + UNWELL_NS;
    }
    catalog->well = well;
    return well;
}

/* Is the number one that a split or merge, wished and perhaps done already, will have?  Tablets with
 * a wish are not at their goal. */
static bool is_to_come(const struct catalog *catalog, uint64_t number)
{
    LIST_FOREACH(const struct tablet, tablet, &catalog->astray) {
        const struct tablet_goal *goal = &tablet->record.goal;
        if (goal->wish != GOAL_STAY &&
            (goal->left == number || goal->right == number || goal->merged == number)) {
            return true;
        }
    }
    return false;
}

/*
 * One that this catalog has given, and that went before this master's process began: what came of it
 * is not known any more, but was made of it and is in the catalog, for nothing is taken out of that
 * before what replaces it is there.  So it may go once every tablet that there is stands well.
 */
static bool is_forgotten(const struct catalog *catalog, uint64_t number)
{
    return number >= catalog->counters.tablet_first && number < catalog->counters.tablet_next &&
           !is_to_come(catalog, number);
}

static bool is_there(const struct catalog *catalog, uint64_t tablet)
{
    return number_map_get(&catalog->tablets, tablet) != NULL;
}

/* All that came of it?  Of heirs that were split or merged in turn nothing tells what may go. */
static bool are_there(const struct catalog *catalog, const struct tablet_heirs *heirs)
{
    return heirs->merged != 0 ? is_there(catalog, heirs->merged)
                              : is_there(catalog, heirs->left) && is_there(catalog, heirs->right);
}

static void note_unknown(struct catalog *catalog,
                         const struct server *server,
                         const struct held_tablet *held)
{
    emit_note(catalog,
              &(struct catalog_note){.event = "tablet_unknown",
                                     .warning = true,
                                     .tablet = held->tablet,
                                     .server = server->number,
                                     .store = held->store},
              "%s", "held by a server, not in the catalog: left alone");
}

/* A number that the catalog does not have: the parent of children to come, a tablet of a dropped
 * table, one that was split or merged, or something from another catalog.  That is never touched:
 * whoever knows what it is must decide.  True: it is such a thing. */
static bool take_unknown(struct catalog *catalog,
                         struct server *server,
                         const struct held_tablet *held,
                         uint64_t report)
{
    struct tablet_heirs heirs;
    if (report == 0 || is_parent(catalog, server, held, report)) {
        return false;
    }
    enum proposed_outcome fate = state_fate(catalog, held->tablet, &heirs);
    bool goes = fate == PROPOSED_DROPPED;
    if (!goes && are_there(catalog, &heirs) && server->replicates) {
        goes = part_may_go(catalog, server, &heirs, held->store);
    } else if (!goes && is_forgotten(catalog, held->tablet)) {
        goes = all_are_well(catalog);
    }
    if (goes) {
        add_stale(server, held);
    }
    return !goes && fate == PROPOSED_UNKNOWN && !is_forgotten(catalog, held->tablet);
}

/*
 * A copy on another store than the catalog says.  On a server that replicates: an outsider.  On one
 * that does not: made too late, after it had been placed again; it can go once the right one is
 * there, but for a server that has that one too, and would not know which is meant.  Nor while it is being created: a
 * transaction may be on its way that places it on this very server again (simulator, seed 4330952); and of a server that
 * makes it in one of its stores only it is placed there (seed 95001282).
 */
static void take_misplaced(const struct catalog *catalog,
                           struct server *server,
                           struct tablet *tablet,
                           const struct held_tablet *held,
                           uint64_t report)
{
    bool goes = server->replicates ? may_go(catalog, tablet, held->store)
                                   : tablet->record.state != TABLET_CREATING &&
                                         state_is_there(state_leader_copy(tablet)) &&
                                         state_copy_on(tablet, server->number) == NULL;
    if (report != 0 && goes) {
        add_stale(server, held);
    }
    if (!server->replicates && held->state != HELD_FAILED &&
        tablet->record.state == TABLET_CREATING &&
        tablet_record_leader(&tablet->record).server == server->number) {
        tablet->made_in = held->store;
    }
}

/* What only the primary knows. */
static void take_leader(struct catalog *catalog,
                        struct tablet *tablet,
                        const struct held_tablet *held)
{
    tablet->size_bytes = held->size_bytes;
    if (held->wants_split && held->size_bytes >= tablet->record.soft_limit_bytes &&
        held->split_row.size_bytes > 0 && held->split_row.size_bytes <= LIMIT_ROW_KEY_BYTES &&
        tablet->record.state == TABLET_SERVING && tablet->record.goal.wish == GOAL_STAY) {
        plan_wish_split(catalog, tablet, held->split_row);
    }
}

static void take_known(struct catalog *catalog,
                       struct server *server,
                       struct tablet *tablet,
                       const struct held_tablet *held,
                       uint64_t report)
{
    const struct replica_configuration *configuration = &tablet->record.configuration;
    uint32_t at = replica_configuration_find(configuration, held->store);

    if (at == configuration->member_count) {
        take_misplaced(catalog, server, tablet, held, report);
        return;
    }
    if (held->state == HELD_CREATED && tablet->record.state == TABLET_UNAVAILABLE) {
        emit_note(catalog,
                  &(struct catalog_note){.event = "tablet_empty_refused",
                                         .warning = true,
                                         .tablet = held->tablet,
                                         .server = server->number,
                                         .store = held->store},
                  "%s", "a lost tablet came back empty: it stays unavailable");
    }
    struct copy *copy = &tablet->copies[at];
    copy->report = report;
    copy->damaged = held->damaged;
    set_holding(catalog, tablet, copy, holding_of(tablet, held));
    if (copy->holding == HOLDING_LEADING ||
        (copy->holding == HOLDING_SERVING && held->role == HELD_AS_UNKNOWN)) {
        tablet->led_ns = catalog->now_ns;
    }
    if (at == configuration->leader) {
        take_leader(catalog, tablet, held);
    }
}

void report_take(struct catalog *catalog, struct server *server, const struct sync_request *sync)
{
    uint64_t report = sync->full ? ++catalog->reports : 0;
    bool tell = server->unknown_noted_ns == 0 ||
                catalog->now_ns - server->unknown_noted_ns >= UNKNOWN_NOTES_NS;

    server->stale_count = 0;
    if (sync->full) {
        copies_take_report(server, sync);
    }
    for (size_t i = 0; i < sync->held_count; i++) {
        const struct held_tablet *held = &sync->held[i];
        struct tablet *tablet = number_map_get(&catalog->tablets, held->tablet);
        if (tablet == NULL) {
            if (take_unknown(catalog, server, held, report) && tell) {
                note_unknown(catalog, server, held);
                server->unknown_noted_ns = catalog->now_ns;
            }
        } else {
            take_known(catalog, server, tablet, held, report);
        }
    }
    if (!sync->full) {
        return;
    }
    LIST_FOREACH(struct tablet, tablet, &server->tablets) {
        struct copy *copy = state_copy_on(tablet, server->number);
        if (copy->report != report) {
            set_holding(catalog, tablet, copy, HOLDING_MISSING);
        }
    }
}
