/* Where in tablets the load is, as servers have told last: listed, and put into words. */
#include <stdlib.h>

#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"
#include "master/placement/advice.h"

#define HOT_KEYS_MAX       1000 /* tablets of an answer */
#define HOT_KEYS_BYTES_MAX (4 * 1024 * 1024)
#define ADVICE_WINDOW_US   (INT64_C(15) * 1000 * 1000) /* before what was told last of the table */

/* What is known of one tablet, and the tablet. */
struct known {
    const struct tablet *tablet;
    const struct load_entry_detail *entry;
};

static void refuse_for_memory(struct catalog *catalog, uint64_t request)
{
    struct error error = {0};
    (void)error_set(&error, STATUS_RESOURCE_EXHAUSTED, "the master has no memory to answer");
    emit_error(catalog, request, &error);
}

/* False, and it was refused: there is no such table. */
static bool find_table(struct catalog *catalog,
                       uint64_t request,
                       struct bytes name,
                       const struct table_entry **ret_table)
{
    struct error error = {0};
    char text[BYTES_PRINTABLE_SIZE_MAX];

    *ret_table = state_table_by_name(catalog, name);
    if (*ret_table == NULL) {
        (void)error_set(&error, STATUS_NOT_FOUND, "no table is named '%s'",
                        bytes_printable(name, text));
        emit_error(catalog, request, &error);
    }
    return *ret_table != NULL;
}

/* Of all tablets, or those of a table; in no order that means anything.  NULL without memory. */
static struct known *gather(struct catalog *catalog,
                            const struct table_entry *table,
                            size_t *ret_count)
{
    load_details_expire(&catalog->load_details, catalog->now_us);
    struct known *all = arena_allocate_array(
        &catalog->scratch, catalog->load_details.by_tablet.count + 1, sizeof *all);
    *ret_count = 0;
    if (all == NULL) {
        return NULL;
    }
    LIST_FOREACH(const struct load_entry_detail, entry, &catalog->load_details.entries) {
        const struct tablet *tablet = number_map_get(&catalog->tablets, entry->tablet);
        if (tablet != NULL &&
            (table == NULL || tablet->record.table == table->image->record.table.number)) {
            all[(*ret_count)++] = (struct known){tablet, entry};
        }
    }
    return all;
}

/* --- the list ----------------------------------------------------------------------------------- */

static int by_cpu(const void *a, const void *b)
{
    const struct known *left = a;
    const struct known *right = b;
    uint64_t left_cpu = load_details_cpu_permille(left->entry);
    uint64_t right_cpu = load_details_cpu_permille(right->entry);
    if (left_cpu != right_cpu) {
        return left_cpu < right_cpu ? 1 : -1;
    }
    return (left->entry->tablet > right->entry->tablet) -
           (left->entry->tablet < right->entry->tablet);
}

static struct hot_keys describe(const struct catalog *catalog, const struct known *known)
{
    const struct table_entry *table = number_map_get(&catalog->tables, known->tablet->record.table);
    const struct load_entry_detail *entry = known->entry;
    return (struct hot_keys){
        .table = known->tablet->record.table,
        .table_name = table != NULL ? table->image->record.table.id : BYTES_EMPTY,
        .tablet = entry->tablet,
        .server = entry->server,
        .range = known->tablet->record.range,
        .age_us = (uint64_t)(catalog->now_us - entry->heard_us),
        .elapsed_ns = entry->elapsed_ns,
        .capacity_ns = entry->capacity_ns,
        .figures = entry->figures,
        .detail = entry->detail,
    };
}

void read_list_hot_keys(struct catalog *catalog,
                        uint64_t request,
                        const struct list_hot_keys_request *list)
{
    const struct table_entry *table = NULL;
    size_t known_count = 0;

    if (list->table.size_bytes > 0 && !find_table(catalog, request, list->table, &table)) {
        return;
    }
    struct known *known = gather(catalog, table, &known_count);
    size_t count_max = list->count_max > 0 && list->count_max < HOT_KEYS_MAX ? list->count_max
                                                                             : HOT_KEYS_MAX;
    struct hot_keys *tablets = arena_allocate_array(&catalog->scratch, count_max, sizeof *tablets);
    if (known == NULL || tablets == NULL) {
        refuse_for_memory(catalog, request);
        return;
    }
    qsort(known, known_count, sizeof *known, by_cpu);
    size_t count = 0;
    size_t size_bytes = 0;
    while (count < known_count && count < count_max && size_bytes < HOT_KEYS_BYTES_MAX) {
        size_bytes += known[count].entry->size_bytes;
        tablets[count] = describe(catalog, &known[count]);
        count += 1;
    }
    struct buffer message = effects_begin_message();
    list_hot_keys_response_encode(
        &(struct list_hot_keys_response){tablets, count, count < known_count}, &message);
    emit_reply(catalog, request, &message);
}

/* --- advice ------------------------------------------------------------------------------------- */

static int by_range(const void *a, const void *b)
{
    const struct known *left = a;
    const struct known *right = b;
    return bytes_compare(left->tablet->record.range.start, right->tablet->record.range.start);
}

/* INT64_MIN: nothing. */
static int64_t told_last_us(const struct known *known, size_t count)
{
    int64_t newest_us = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        newest_us = known[i].entry->heard_us > newest_us ? known[i].entry->heard_us : newest_us;
    }
    return newest_us;
}

/* What was told long before the newest says nothing of now.  How many are left of them. */
static size_t keep_recent(struct known *known, size_t count)
{
    int64_t newest_us = told_last_us(known, count);
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (newest_us - known[i].entry->heard_us <= ADVICE_WINDOW_US) {
            known[kept++] = known[i];
        }
    }
    return kept;
}

static int64_t busy_last_us(const struct known *known)
{
    int64_t heard_us = known->entry->heard_us;
    return known->tablet->busy_us > heard_us ? known->tablet->busy_us : heard_us;
}

/* Since when its server tells of others only, while the table is known to have load (until_us). */
static uint64_t quiet_ns(const struct catalog *catalog, const struct known *known, int64_t until_us)
{
    uint64_t leader = tablet_record_leader(&known->tablet->record).server;
    const struct server *server = state_server(catalog, leader);
    int64_t told_us = server->told_us < until_us ? server->told_us : until_us;
    int64_t busy_us = busy_last_us(known);
    return told_us > busy_us ? (uint64_t)(told_us - busy_us) * 1000 : 0;
}

static struct advice_tablet to_advise(const struct catalog *catalog,
                                      const struct known *known,
                                      int64_t until_us)
{
    const struct load_entry_detail *entry = known->entry;
    return (struct advice_tablet){
        .tablet = entry->tablet,
        .range = known->tablet->record.range,
        .elapsed_ns = entry->elapsed_ns,
        .capacity_ns = entry->capacity_ns,
        .figures = entry->figures,
        .detail = entry->detail,
        .quiet_ns = quiet_ns(catalog, known, until_us),
        .inherited = entry->inherited,
    };
}

/* The longest of them: by then every server has told, as they do each second. */
static uint64_t known_ns(const struct known *known, size_t count)
{
    uint64_t longest_ns = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t own_ns = (uint64_t)(known[i].entry->heard_us - known[i].entry->since_us) * 1000;
        longest_ns = own_ns > longest_ns ? own_ns : longest_ns;
    }
    return longest_ns;
}

enum status hot_advise(struct catalog *catalog,
                       const struct table_entry *table,
                       struct advise_response *ret_response)
{
    size_t count = 0;
    int64_t until_us = INT64_MIN;
    struct known *known = gather(catalog, table, &count);
    struct advice_tablet *tablets = arena_allocate_array(&catalog->scratch, count + 1,
                                                         sizeof *tablets);
    if (known == NULL || tablets == NULL) {
        return STATUS_NO_MEMORY;
    }
    count = keep_recent(known, count);
    qsort(known, count, sizeof *known, by_range);
    for (size_t i = 0; i < count; i++) {
        until_us = busy_last_us(&known[i]) > until_us ? busy_last_us(&known[i]) : until_us;
    }
    for (size_t i = 0; i < count; i++) {
        tablets[i] = to_advise(catalog, &known[i], until_us);
    }
    const struct advice_table all = {tablets, count, table->tablet_count, known_ns(known, count)};
    enum status status = advise(&all, &catalog->scratch, ret_response);
    if (status == STATUS_OK && count > 0) {
        ret_response->age_us = (uint64_t)(catalog->now_us - told_last_us(known, count));
    }
    return status;
}

void read_advise(struct catalog *catalog, uint64_t request, const struct advise_request *ask)
{
    const struct table_entry *table = NULL;
    struct advise_response response;

    if (!find_table(catalog, request, ask->table, &table)) {
        return;
    }
    if (hot_advise(catalog, table, &response) != STATUS_OK) {
        refuse_for_memory(catalog, request);
        return;
    }
    struct buffer message = effects_begin_message();
    advise_response_encode(&response, &message);
    emit_reply(catalog, request, &message);
}
