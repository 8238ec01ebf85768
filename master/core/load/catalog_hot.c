/* Hot tablets: what servers report of the load goes into the history, and is listed from there. */
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"

static bool find_tablet(void *context, uint64_t number, struct load_place *ret_place)
{
    const struct catalog *catalog = context;
    const struct tablet *tablet = number_map_get(&catalog->tablets, number);
    if (tablet == NULL) {
        return false;
    }
    *ret_place = (struct load_place){tablet->record.table, tablet->record.range};
    return true;
}

/* Who reports, and to whom. */
struct reporter {
    const struct catalog *catalog;
    uint64_t server;
};

/* Where load is in a tablet its leader alone says: what one that led it says late is of before. */
static bool find_led_tablet(void *context, uint64_t number, struct load_place *ret_place)
{
    const struct reporter *reporter = context;
    const struct tablet *tablet = number_map_get(&reporter->catalog->tablets, number);
    if (tablet == NULL || tablet_record_leader(&tablet->record).server != reporter->server) {
        return false;
    }
    *ret_place = (struct load_place){tablet->record.table, tablet->record.range};
    return true;
}

/* The report again, for whoever shows it: with where each tablet is.  Without memory it is not shown. */
static void hand_over(struct catalog *catalog,
                      const struct load_source *source,
                      const struct load_report *report)
{
    struct located_report *located = located_report_create(source->server, report,
                                                           report->tablet_count);
    for (size_t i = 0; located != NULL && i < report->tablet_count; i++) {
        struct load_place place;
        if (report->tablets[i].tablet != 0 &&
            find_tablet(catalog, report->tablets[i].tablet, &place)) {
            (void)located_report_add(located, place.table, &place.range, &report->tablets[i]);
        }
    }
    if (located != NULL) {
        emit_load(catalog, located);
    }
}

void hot_take(struct catalog *catalog, struct server *server, const struct sync_request *sync)
{
    const struct load_source source = {
        .server = sync->server.number,
        .incarnation = sync->server.incarnation,
        .now_us = catalog->now_us,
    };
    if (load_history_take(&catalog->load, &source, &sync->load, find_tablet, catalog)) {
        struct reporter reporter = {catalog, server->number};
        load_details_take(&catalog->load_details, &source, &sync->load, find_led_tablet, &reporter);
        if (catalog->settings.shows_load) {
            hand_over(catalog, &source, &sync->load);
        }
        balance_take(catalog, server, &sync->load);
    }
}

void hot_inherit(struct catalog *catalog, const struct tablet_record *made)
{
    if (made->parent != 0 && made->absorbed == 0) {
        load_details_inherit(&catalog->load_details, made->parent, made->number, &made->range);
    }
}

/* Leave out what tables that are gone had to do, and name the others. */
static size_t name_tables(const struct catalog *catalog, struct hot_tablet *tablets, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct table_entry *entry = number_map_get(&catalog->tables, tablets[i].table);
        if (entry != NULL) {
            tablets[kept] = tablets[i];
            tablets[kept++].table_name = entry->image->record.table.id;
        }
    }
    return kept;
}

void read_list_hot_tablets(struct catalog *catalog,
                           uint64_t request,
                           const struct list_hot_tablets_request *list)
{
    struct load_page page = {0};
    enum status status = load_history_list(&catalog->load, list, catalog->now_us, &catalog->scratch,
                                           &page);
    if (status != STATUS_OK) {
        struct error error = {0};
        (void)error_set(&error, STATUS_RESOURCE_EXHAUSTED, "the master has no memory to answer");
        emit_error(catalog, request, &error);
        return;
    }
    struct buffer message = effects_begin_message();
    struct list_hot_tablets_response response = {
        .tablets = page.tablets,
        .tablet_count = name_tables(catalog, page.tablets, page.count),
        .next = page.next,
    };
    list_hot_tablets_response_encode(&response, &message);
    emit_reply(catalog, request, &message);
}
