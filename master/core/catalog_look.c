#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/json_text.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"

/* What a person or a monitor sees of the catalog. */

#define LOOK_NS INT64_C(1000000000)

/* --- is it led? --------------------------------------------------------------------------------- */

bool look_is_led(const struct catalog *catalog, const struct tablet *tablet, int64_t now_ns)
{
    return now_ns - tablet->led_ns < catalog->settings.replace_after_ns;
}

uint32_t look_state(const struct catalog *catalog, const struct tablet *tablet, int64_t now_ns)
{
    uint32_t state = tablet->record.state;
    bool serves = state == TABLET_SERVING || state == TABLET_SPLITTING;
    return serves && !look_is_led(catalog, tablet, now_ns) ? TABLET_NOT_LED : state;
}

static void look_at_table(const struct catalog *catalog, struct table_entry *entry, int64_t now_ns)
{
    memset(entry->not_led, 0, sizeof entry->not_led);
    for (size_t i = 0; i < entry->tablet_count; i++) {
        const struct tablet *tablet = entry->tablets[i];
        entry->not_led[tablet->record.state] += look_state(catalog, tablet, now_ns) ==
                                                TABLET_NOT_LED;
    }
}

void catalog_look(struct catalog *catalog, int64_t now_ns)
{
    if (now_ns - catalog->led_looked_ns < LOOK_NS) {
        return;
    }
    catalog->led_looked_ns = now_ns;
    for (size_t i = 0; i < catalog->table_count; i++) {
        look_at_table(catalog, catalog->by_name[i], now_ns);
    }
}

/* Add a table's tablets by the state that they are shown in; some may be gone since they were looked at. */
static void count_shown(const struct table_entry *entry, uint64_t shown[TABLET_NOT_LED + 1])
{
    for (size_t state = 0; state <= TABLET_SPLITTING; state++) {
        size_t all = entry->by_state[state];
        size_t not_led = entry->not_led[state] < all ? entry->not_led[state] : all;
        shown[state] += all - not_led;
        shown[TABLET_NOT_LED] += not_led;
    }
}

/* --- counts ------------------------------------------------------------------------------------- */

static bool any_lives(const struct catalog *catalog, const struct tablet *tablet)
{
    const struct replica_configuration *configuration = &tablet->record.configuration;
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        if (state_server(catalog, configuration->members[i].server)->alive) {
            return true;
        }
    }
    return false;
}

/* Of a server that is not alive: its tablets of which no copy is on a living one.  Each is counted at
 * its first member's server. */
static uint64_t count_without_copy(const struct catalog *catalog, const struct server *server)
{
    uint64_t count = 0;
    LIST_FOREACH(const struct tablet, tablet, &server->tablets) {
        count += tablet->record.configuration.members[0].server == server->number &&
                 !any_lives(catalog, tablet);
    }
    return count;
}

void catalog_counts(const struct catalog *catalog, struct catalog_counts *ret_counts)
{
    struct catalog_counts counts = {
        .cluster = catalog->identity.cluster,
        .generation = catalog->identity.generation,
        .version = catalog->counters.version,
        .tables = catalog->table_count,
        .tablets = catalog->tablets.count,
        .servers = catalog->server_count,
        .requests_waiting = catalog->request_count,
        .documents = catalog->documents.count,
        .document_bytes = catalog->documents.size_bytes,
        .disputed = identity_dispute(catalog) != NULL,
    };
    for (size_t i = 0; i < catalog->table_count; i++) {
        count_shown(catalog->by_name[i], counts.tablets_by_state);
    }
    for (size_t i = 0; i < catalog->server_count; i++) {
        const struct server *server = catalog->servers[i];
        counts.servers_alive += server->alive;
        counts.stores_unopened += server->alive ? server->unopened_count : 0;
        counts.tablets_without_copy += server->alive ? 0 : count_without_copy(catalog, server);
    }
    *ret_counts = counts;
}

static void append_tables(const struct catalog *catalog, struct buffer *out)
{
    for (size_t i = 0; i < catalog->table_count; i++) {
        const struct table_entry *entry = catalog->by_name[i];
        const struct table *table = &entry->image->record.table;
        uint64_t shown[TABLET_NOT_LED + 1] = {0};
        count_shown(entry, shown);
        buffer_append_format(out, "%s{\"number\":\"%llu\",\"name\":", i == 0 ? "" : ",",
                             (unsigned long long)table->number);
        json_text(out, table->id);
        buffer_append_format(
            out,
            ",\"version\":%llu,\"families\":%u,\"replicas\":%u,\"min_in_sync\":%u,"
            "\"tablets\":%zu,\"serving\":%llu,\"creating\":%llu,\"splitting\":%llu,"
            "\"unavailable\":%llu,\"not_led\":%llu}",
            (unsigned long long)table->version, table->family_count, table->replicas,
            table->min_in_sync, entry->tablet_count, (unsigned long long)shown[TABLET_SERVING],
            (unsigned long long)shown[TABLET_CREATING], (unsigned long long)shown[TABLET_SPLITTING],
            (unsigned long long)shown[TABLET_UNAVAILABLE],
            (unsigned long long)shown[TABLET_NOT_LED]);
    }
}

static void append_stores(const struct catalog *catalog,
                          const struct server_record *record,
                          struct buffer *out)
{
    for (size_t i = 0; i < record->store_count; i++) {
        const struct store *store = number_map_get(&catalog->stores, record->stores[i].number);
        buffer_append_format(out, "%s{\"number\":\"%llu\",\"folder\":", i == 0 ? "" : ",",
                             (unsigned long long)store->number);
        json_text(out, record->stores[i].folder);
        buffer_append_format(out,
                             ",\"condition\":%u,\"used_bytes\":%llu,\"free_bytes\":%llu,"
                             "\"tablets\":%u}",
                             store->condition, (unsigned long long)store->used_bytes,
                             (unsigned long long)store->free_bytes, store->tablet_count);
    }
}

static void append_servers(const struct catalog *catalog, struct buffer *out)
{
    bool first = true;
    for (size_t i = 0; i < catalog->server_count; i++) {
        const struct server *server = catalog->servers[i];
        const struct server_image *image = server->seen != NULL ? server->seen : server->image;
        if (image == NULL) {
            continue;
        }
        buffer_append_format(out, "%s{\"number\":\"%llu\",\"address\":", first ? "" : ",",
                             (unsigned long long)server->number);
        first = false;
        json_text(out, image->record.address);
        buffer_append_format(out, ",\"http\":");
        json_text(out, image->record.http_address);
        buffer_append_format(out, ",\"zone\":");
        json_text(out, image->record.zone);
        buffer_append_format(
            out,
            ",\"incarnation\":\"%llu\",\"alive\":%s,\"last_heard_us\":%lld,\"known_version\":%llu,"
            "\"tablets\":%zu,\"leading\":%zu,\"draining\":%s,\"replicates\":%s,"
            "\"unopened_stores\":%u,\"stores\":[",
            (unsigned long long)image->record.incarnation, server->alive ? "true" : "false",
            (long long)server->heard_us, (unsigned long long)server->known_version,
            server->tablet_count, server->leading_count,
            server->image != NULL && server->image->record.draining ? "true" : "false",
            server->replicates ? "true" : "false", server->unopened_count);
        append_stores(catalog, &image->record, out);
        buffer_append_format(out, "]}");
    }
}

void catalog_status_json(const struct catalog *catalog, const char *role, struct buffer *out)
{
    struct catalog_counts counts;
    catalog_counts(catalog, &counts);
    buffer_append_format(
        out,
        "{\"role\":\"%s\",\"cluster\":\"%llu\",\"generation\":\"%llu\",\"version\":%llu,\"requests_waiting\":%llu,"
        "\"tablets\":%llu,\"tables\":[",
        role, (unsigned long long)counts.cluster, (unsigned long long)counts.generation,
        (unsigned long long)counts.version, (unsigned long long)counts.requests_waiting,
        (unsigned long long)counts.tablets);
    append_tables(catalog, out);
    buffer_append_format(out, "],\"servers\":[");
    append_servers(catalog, out);
    buffer_append_format(out, "]");
    if (counts.disputed) {
        buffer_append_format(out, ",\"disputed\":");
        json_text(out, bytes_of_text(identity_dispute(catalog)));
    }
    buffer_append_format(out, "}");
}
