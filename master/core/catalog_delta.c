#include "common/base/assert.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"

/*
 * Answers to syncs: what changed in the catalog since the version that the server knows, in order
 * of version, in pages that never end inside a transaction.
 */

#define PAGE_CHANGES_MAX 2000
#define STUCK_NS         INT64_C(10000000000) /* unsettled for longer: no hurry any more */

bool delta_is_due(const struct catalog *catalog, const struct server *server)
{
    return server->known_version != catalog->counters.version;
}

/* Can it be told from what it knows, or must it be the whole map? */
static bool needs_whole_map(const struct catalog *catalog, const struct server *server)
{
    uint64_t known = server->known_version;
    if (known == 0 || known > catalog->counters.version) {
        return true;
    }
    bool goes_on = server->map_page_version != 0 && known == server->map_page_version &&
                   server->map_start_version >= catalog->changed_floor;
    return known < catalog->changed_floor && !goes_on;
}

static uint64_t version_of(const struct list_link *link)
{
    return ((const struct changed *)link->owner)->version;
}

/* The first change above version, the list's head if there is none.  From both ends at once: most
 * who ask know nearly everything, or nothing. */
static const struct list_link *first_above(const struct catalog *catalog, uint64_t version)
{
    const struct list_link *front = catalog->changed.head.next;
    const struct list_link *back = catalog->changed.head.previous;

    while (front->owner != NULL && version_of(front) <= version) {
        if (version_of(back) <= version) {
            return back->next;
        }
        front = front->next;
        back = back->previous;
    }
    return front;
}

static bool is_still_to_be_made(const struct catalog *catalog,
                                const struct server *server,
                                uint64_t number)
{
    struct tablet *child = number_map_get(&catalog->tablets, number);
    const struct copy *copy = child == NULL ? NULL : state_copy_on(child, server->number);
    return copy != NULL && !state_is_there(copy);
}

/* The server that must still make the children of a tablet needs it: to it, it is not gone yet. */
static bool is_needed(const struct catalog *catalog,
                      const struct server *server,
                      const struct gone *gone)
{
    return is_still_to_be_made(catalog, server, gone->heirs.left) ||
           is_still_to_be_made(catalog, server, gone->heirs.right);
}

/* A page under construction; arrays in scratch, each with room for all. */
struct page {
    struct assigned_tablet *tablets;
    size_t tablet_count;
    struct table *tables;
    size_t table_count;
    uint64_t *dropped;
    size_t dropped_count;
    struct server_address *servers;
    size_t server_count;
};

/* Those who have it, and those who should, are told what is wished. */
static struct goal goal_for(const struct catalog *catalog,
                            const struct server *server,
                            struct tablet *tablet)
{
    const struct tablet_goal *goal = &tablet->record.goal;
    struct goal told = {.leader = goal->leader,
                        .wish = goal->wish,
                        .left = goal->left,
                        .right = goal->right,
                        .merged = goal->merged,
                        .row = goal->row};
    bool concerned = state_copy_on(tablet, server->number) != NULL;

    for (uint32_t i = 0; i < goal->store_count; i++) {
        const struct server *owner = state_owner(catalog, goal->stores[i]);
        concerned = concerned || owner == server;
        told.members[told.member_count++] = (struct replica_member){owner->number, goal->stores[i]};
    }
    return concerned && server->replicates ? told : (struct goal){0};
}

/* Who waits for it: a busy server, or those whose tablet has fewer copies than it should. */
static bool is_hurried(const struct tablet *tablet)
{
    const struct tablet_record *record = &tablet->record;
    return tablet->hurried || record->configuration.member_count < record->goal.store_count;
}

static void add_tablet(struct catalog *catalog,
                       const struct server *server,
                       struct tablet *tablet,
                       struct page *page)
{
    page->tablets[page->tablet_count++] = (struct assigned_tablet){
        .location = read_location(catalog, tablet, true),
        .store = tablet_record_leader(&tablet->record).store,
        .parent = tablet->record.parent,
        .soft_limit_bytes = tablet->record.soft_limit_bytes,
        .configuration = tablet->record.configuration,
        .goal = goal_for(catalog, server, tablet),
        .absorbed = tablet->record.absorbed,
        .recovered = tablet->record.recovered_version == tablet->record.configuration.version,
        .hurried = is_hurried(tablet),
    };
}

static void add_gone(const struct catalog *catalog,
                     const struct server *server,
                     const struct gone *gone,
                     bool whole,
                     struct page *page)
{
    if (gone->changed.kind == CHANGED_TABLE_GONE) {
        page->dropped[page->dropped_count++] = gone->number;
    } else if (!whole && !server->replicates && !is_needed(catalog, server, gone)) {
        /* one that replicates keeps what it has: as a member, until it has converted it; else until
         * it may go, which the answer to its report says */
        page->tablets[page->tablet_count++] = (struct assigned_tablet){
            .location = {.tablet = gone->number, .table = gone->table},
            .removed = true,
        };
    }
}

static void add_changed(struct catalog *catalog,
                        const struct server *server,
                        const struct changed *changed,
                        bool whole,
                        struct page *page)
{
    switch (changed->kind) {
    case CHANGED_TABLET:
        add_tablet(catalog, server, changed->object, page);
        break;
    case CHANGED_TABLE: {
        const struct table_entry *entry = changed->object;
        page->tables[page->table_count++] = entry->image->record.table;
        break;
    }
    case CHANGED_TABLET_GONE:
    case CHANGED_TABLE_GONE:
        add_gone(catalog, server, changed->object, whole, page);
        break;
    }
}

/* What it reported and must drop. */
static void add_stale(const struct catalog *catalog, struct server *server, struct page *page)
{
    for (size_t i = 0; i < server->stale_count; i++) {
        const struct tablet *tablet = number_map_get(&catalog->tablets, server->stale[i].tablet);
        struct assigned_tablet *stale = &page->tablets[page->tablet_count++];
        *stale = (struct assigned_tablet){
            .location.tablet = server->stale[i].tablet,
            .store = server->stale[i].store,
            .removed = true,
        };
        if (tablet != NULL) { /* as of that: it may be a member again before it hears this */
            stale->configuration = tablet->record.configuration;
        }
    }
    server->stale_count = 0;
}

/* Where servers are that are new or changed since then: replicas of a tablet must find one another. */
static void add_servers(const struct catalog *catalog, uint64_t known_version, struct page *page)
{
    for (size_t i = 0; i < catalog->server_count; i++) {
        const struct server_image *image = catalog->servers[i]->image;
        if (image != NULL && image->record.changed_version > known_version) {
            page->servers[page->server_count++] = (struct server_address){image->record.number,
                                                                          image->record.address};
        }
    }
}

/* How many changes from first on make a page: whole transactions. */
static size_t page_size(const struct list_link *first, const struct list_link **ret_end)
{
    const struct list_link *link = first;
    uint64_t version = 0;
    size_t count = 0;

    while (link->owner != NULL) {
        const struct changed *changed = link->owner;
        if (count >= PAGE_CHANGES_MAX && changed->version != version) {
            break;
        }
        version = changed->version;
        count++;
        link = link->next;
    }
    *ret_end = link;
    return count;
}

static bool page_allocate(struct catalog *catalog, size_t count, struct page *ret_page)
{
    struct arena *arena = &catalog->scratch;
    struct page page = {
        .tablets = arena_allocate_array(arena, count + STALE_MAX, sizeof *page.tablets),
        .tables = arena_allocate_array(arena, count + 1, sizeof *page.tables),
        .dropped = arena_allocate_array(arena, count + 1, sizeof *page.dropped),
        .servers = arena_allocate_array(arena, catalog->server_count, sizeof *page.servers),
    };
    *ret_page = page;
    return page.tablets != NULL && page.tables != NULL && page.dropped != NULL &&
           page.servers != NULL;
}

/* Is something under way on it that its next sync will bring forward? */
static bool is_busy(const struct catalog *catalog, const struct server *server)
{
    if (server->unsettled_count == 0) {
        return false;
    }
    LIST_FOREACH(const struct tablet, tablet, &catalog->unsettled) {
        if (tablet_record_leader(&tablet->record).server == server->number &&
            catalog->now_ns - tablet->unsettled_ns < STUCK_NS) {
            return true;
        }
    }
    return false;
}

void delta_reply(struct catalog *catalog, struct server *server, uint64_t request, bool held)
{
    bool whole = needs_whole_map(catalog, server);
    const struct list_link *first = first_above(catalog, whole ? 0 : server->known_version);
    const struct list_link *end = NULL;
    size_t count = page_size(first, &end);
    struct page page;

    if (!page_allocate(catalog, count, &page)) {
        struct error error = {0};
        (void)error_set(&error, STATUS_RESOURCE_EXHAUSTED, "the master has no memory to answer");
        emit_error(catalog, request, &error);
        return;
    }
    for (const struct list_link *link = first; link != end; link = link->next) {
        add_changed(catalog, server, link->owner, whole, &page);
    }
    bool dropping = server->stale_count > 0;
    add_stale(catalog, server, &page);
    add_servers(catalog, whole ? 0 : server->known_version, &page);
    bool more = end->owner != NULL;
    const struct changed *last = more ? end->previous->owner : NULL;
    bool quick = held || dropping || count > 0 || is_busy(catalog, server);
    struct sync_response response = {
        .generation = catalog->identity.generation,
        .version = more ? last->version : catalog->counters.version,
        .reset = whole,
        .more = more,
        .tablets = page.tablets,
        .tablet_count = page.tablet_count,
        .tables = page.tables,
        .table_count = page.table_count,
        .dropped_tables = page.dropped,
        .dropped_table_count = page.dropped_count,
        .interval_ms = quick ? catalog->settings.sync_interval_quick_ms
                             : catalog->settings.sync_interval_ms,
        .servers = page.servers,
        .server_count = page.server_count,
        .newest_version = catalog->counters.version,
        .predecessor = catalog->identity.predecessor,
    };
    if (whole) {
        server->map_start_version = catalog->counters.version;
    }
    server->map_page_version = more ? response.version : 0;
    struct buffer message = effects_begin_message();
    sync_response_encode(&response, &message);
    emit_reply(catalog, request, &message);
}

void delta_unpark(struct catalog *catalog, struct server *server)
{
    ASSERT(server->sync.parked);
    server->sync.parked = false;
    delta_reply(catalog, server, server->sync.request, true);
}
