#include "common/base/assert.h"
#include "master/core/catalog_state.h"

/*
 * What a server says it holds, against what the catalog says it should hold.  A report names
 * tablets by number and store; the store decides, since a disk may have moved between servers.
 */

uint32_t report_desired_state(const struct tablet *tablet)
{
    uint32_t state = tablet->record.state;

    switch (tablet->holding) {
    case HOLDING_UNKNOWN:
        return state;
    case HOLDING_SERVING:
        return TABLET_SERVING;
    case HOLDING_CREATED:
        /* An empty tablet is welcome where one was ordered; it never stands in for a lost one. */
        return state == TABLET_UNAVAILABLE ? TABLET_UNAVAILABLE : TABLET_SERVING;
    case HOLDING_FAILED:
    case HOLDING_MISSING:
        return state == TABLET_CREATING ? TABLET_CREATING : TABLET_UNAVAILABLE;
    }
    UNREACHABLE();
}

static enum tablet_holding holding_of(enum held_state state)
{
    switch (state) {
    case HELD_SERVING:
        return HOLDING_SERVING;
    case HELD_CREATED:
        return HOLDING_CREATED;
    case HELD_FAILED:
        return HOLDING_FAILED;
    }
    return HOLDING_UNKNOWN;
}

static void set_holding(struct catalog *catalog, struct tablet *tablet, enum tablet_holding holding)
{
    tablet->holding = holding;
    if (report_desired_state(tablet) != tablet->record.state) {
        state_mark_dirty(catalog, tablet);
    }
}

/* Told in the answer to this report; if that is lost, in the answer to the next. */
static void add_stale(struct server *server, uint64_t tablet)
{
    if (server->stale_count < STALE_MAX) {
        server->stale[server->stale_count++] = tablet;
    }
}

static bool was_dropped(const struct catalog *catalog, uint64_t tablet)
{
    LIST_FOREACH(const struct changed, changed, &catalog->changed) {
        const struct gone *gone = changed->kind == CHANGED_TABLE_GONE
                                      ? (const struct gone *)changed->object
                                      : NULL;
        for (size_t i = 0; gone != NULL && i < gone->range_count; i++) {
            if (tablet >= gone->ranges[i].first &&
                tablet - gone->ranges[i].first < gone->ranges[i].count) {
                return true;
            }
        }
    }
    return false;
}

/* Are there children which the server must still make of it?  Then they are not missing. */
static bool is_parent(struct server *server, const struct held_tablet *held, uint64_t report)
{
    bool found = false;
    LIST_FOREACH(struct tablet, child, &server->tablets) {
        if (child->record.parent == held->tablet && child->record.store == held->store) {
            child->report = report;
            found = true;
        }
    }
    return found;
}

/* A number that the catalog does not have: the parent of children to come, a tablet of a dropped
 * table, or something from another time.  That is never touched: whoever knows what it is must
 * decide. */
static void take_unknown(struct catalog *catalog,
                         struct server *server,
                         const struct held_tablet *held,
                         uint64_t report)
{
    if (report == 0 || is_parent(server, held, report)) {
        return;
    }
    if (was_dropped(catalog, held->tablet)) {
        add_stale(server, held->tablet);
        return;
    }
    emit_note(catalog,
              &(struct catalog_note){.event = "tablet_unknown",
                                     .warning = true,
                                     .tablet = held->tablet,
                                     .server = server->number,
                                     .store = held->store},
              "%s", "held by a server, not in the catalog: left alone");
}

/* A copy on another store than the catalog says: made too late, after it had been placed again.
 * It can go once the right one is there. */
static void take_misplaced(struct server *server, const struct tablet *tablet, uint64_t report)
{
    bool is_safe = tablet->holding == HOLDING_CREATED || tablet->holding == HOLDING_SERVING;
    if (report != 0 && is_safe) {
        add_stale(server, tablet->record.number);
    }
}

static void take_known(struct catalog *catalog,
                       struct server *server,
                       struct tablet *tablet,
                       const struct held_tablet *held,
                       uint64_t report)
{
    if (tablet->record.store != held->store) {
        take_misplaced(server, tablet, report);
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
    tablet->report = report;
    tablet->size_bytes = held->size_bytes;
    set_holding(catalog, tablet, holding_of(held->state));
    if (held->wants_split && held->size_bytes >= tablet->record.soft_limit_bytes &&
        held->split_row.size_bytes > 0 && held->split_row.size_bytes <= LIMIT_ROW_KEY_BYTES &&
        tablet->record.state == TABLET_SERVING) {
        plan_wish_split(catalog, tablet, held->split_row);
    }
}

void report_take(struct catalog *catalog, struct server *server, const struct sync_request *sync)
{
    uint64_t report = sync->full ? ++catalog->reports : 0;

    server->stale_count = 0;
    for (size_t i = 0; i < sync->held_count; i++) {
        const struct held_tablet *held = &sync->held[i];
        struct tablet *tablet = number_map_get(&catalog->tablets, held->tablet);
        if (tablet == NULL) {
            take_unknown(catalog, server, held, report);
        } else {
            take_known(catalog, server, tablet, held, report);
        }
    }
    if (!sync->full) {
        return;
    }
    LIST_FOREACH(struct tablet, tablet, &server->tablets) {
        if (tablet->report != report) {
            set_holding(catalog, tablet, HOLDING_MISSING);
        }
    }
}
