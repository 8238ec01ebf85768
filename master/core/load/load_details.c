#include "master/core/load/load_details.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

/* --- figures ------------------------------------------------------------------------------------ */

/* factor is below 1; whoever claims to have done more than can be counted is not believed all of it. */
static uint64_t faded(uint64_t figure, double factor)
{
    const uint64_t most = UINT64_MAX / 2;
    return (uint64_t)((double)(figure < most ? figure : most) * factor);
}

/* What was before counts for less and less, until it is a window's length ago. */
static double fading(int64_t gap_us)
{
    return gap_us < 0 || gap_us >= LOAD_DETAIL_WINDOW_US
               ? 0
               : 1 - (double)gap_us / (double)LOAD_DETAIL_WINDOW_US;
}

static struct load_figures add_faded(const struct load_figures *old,
                                     double factor,
                                     const struct load_figures *fresh)
{
    return (struct load_figures){
        .reads = faded(old->reads, factor) + fresh->reads,
        .read_rows = faded(old->read_rows, factor) + fresh->read_rows,
        .read_bytes = faded(old->read_bytes, factor) + fresh->read_bytes,
        .read_cpu_ns = faded(old->read_cpu_ns, factor) + fresh->read_cpu_ns,
        .writes = faded(old->writes, factor) + fresh->writes,
        .write_cells = faded(old->write_cells, factor) + fresh->write_cells,
        .write_bytes = faded(old->write_bytes, factor) + fresh->write_bytes,
        .write_cpu_ns = faded(old->write_cpu_ns, factor) + fresh->write_cpu_ns,
        .read_wait_ns = faded(old->read_wait_ns, factor) + fresh->read_wait_ns,
        .read_latency_ns = faded(old->read_latency_ns, factor) + fresh->read_latency_ns,
        .read_latency_max_ns = fresh->read_latency_max_ns,
        .write_wait_ns = faded(old->write_wait_ns, factor) + fresh->write_wait_ns,
        .write_latency_ns = faded(old->write_latency_ns, factor) + fresh->write_latency_ns,
        .write_latency_max_ns = fresh->write_latency_max_ns,
    };
}

uint64_t load_details_cpu_permille(const struct load_entry_detail *entry)
{
    double cpu_ns = (double)entry->figures.read_cpu_ns + (double)entry->figures.write_cpu_ns;
    return entry->capacity_ns == 0 ? 0 : (uint64_t)(1000 * cpu_ns / (double)entry->capacity_ns);
}

/* --- entries ------------------------------------------------------------------------------------ */

static size_t rows_size(const struct load_detail *detail)
{
    size_t size_bytes = 0;
    for (size_t i = 0; i < detail->point_count; i++) {
        size_bytes += detail->points[i].row.size_bytes;
    }
    for (size_t i = 0; i < detail->key_count; i++) {
        size_bytes += detail->keys[i].row.size_bytes;
    }
    return size_bytes;
}

static struct bytes copy_row(uint8_t **at, struct bytes row)
{
    struct bytes copy = bytes_of(*at, row.size_bytes);
    if (row.size_bytes > 0) {
        memcpy(*at, row.data, row.size_bytes);
    }
    *at += row.size_bytes;
    return copy;
}

/* With the detail behind it: points, keys, rows.  NULL without memory. */
static struct load_entry_detail *entry_create(const struct load_detail *detail)
{
    size_t points_bytes = detail->point_count * sizeof *detail->points;
    size_t keys_bytes = detail->key_count * sizeof *detail->keys;
    size_t size_bytes = sizeof(struct load_entry_detail) + points_bytes + keys_bytes +
                        rows_size(detail);
    struct load_entry_detail *entry = memory_allocate(size_bytes);
    if (entry == NULL) {
        return NULL;
    }
    struct load_point *points = (struct load_point *)(entry + 1);
    struct load_key *keys = (struct load_key *)(points + detail->point_count);
    uint8_t *rows = (uint8_t *)(keys + detail->key_count);
    *entry = (struct load_entry_detail){.detail = *detail, .size_bytes = size_bytes};
    for (size_t i = 0; i < detail->point_count; i++) {
        points[i] = detail->points[i];
        points[i].row = copy_row(&rows, detail->points[i].row);
    }
    for (size_t i = 0; i < detail->key_count; i++) {
        keys[i] = detail->keys[i];
        keys[i].row = copy_row(&rows, detail->keys[i].row);
    }
    entry->detail.points = points;
    entry->detail.keys = keys;
    return entry;
}

static void drop(struct load_details *details, struct load_entry_detail *entry)
{
    (void)number_map_remove(&details->by_tablet, entry->tablet);
    list_remove(&entry->link);
    details->size_bytes -= entry->size_bytes;
    memory_free(entry);
}

void load_details_drop(struct load_details *details, uint64_t tablet)
{
    struct load_entry_detail *entry = number_map_get(&details->by_tablet, tablet);
    if (entry != NULL) {
        drop(details, entry);
    }
}

/* NULL if there is none. */
static struct load_entry_detail *newest(const struct load_details *details)
{
    return details->entries.head.previous->owner;
}

void load_details_expire(struct load_details *details, int64_t now_us)
{
    while (newest(details) != NULL && newest(details)->heard_us > now_us) {
        drop(details, newest(details));
    }
    LIST_FOREACH(struct load_entry_detail, entry, &details->entries) {
        if (now_us - entry->heard_us <= LOAD_DETAIL_AGE_MAX_US) {
            return; /* those behind it are newer */
        }
        drop(details, entry);
    }
}

const struct load_entry_detail *load_details_find(const struct load_details *details,
                                                  uint64_t tablet)
{
    return number_map_get(&details->by_tablet, tablet);
}

/* --- reports ------------------------------------------------------------------------------------ */

static bool lies_in(const struct load_detail *detail, const struct row_range *range)
{
    struct bytes last = detail->points[detail->point_count - 1].row;
    bool keys_inside = true;
    for (size_t i = 0; i < detail->key_count; i++) {
        keys_inside = keys_inside && row_range_contains(range, detail->keys[i].row);
    }
    return keys_inside && bytes_equal(detail->points[0].row, range->start) &&
           row_range_contains(range, last);
}

static void take_one(struct load_details *details,
                     const struct load_source *source,
                     const struct load_report *report,
                     const struct tablet_load *load)
{
    struct load_entry_detail *old = number_map_get(&details->by_tablet, load->tablet);
    if (old == NULL && number_map_reserve(&details->by_tablet, 1) != STATUS_OK) {
        return;
    }
    struct load_entry_detail *entry = entry_create(&load->detail);
    if (entry == NULL) {
        return;
    }
    static const struct load_figures none;
    bool goes_on = old != NULL && !old->inherited && old->server == source->server;
    bool is_known = old != NULL && fading(source->now_us - old->heard_us) > 0;
    double factor = goes_on ? fading(source->now_us - old->heard_us) : 0;
    entry->tablet = load->tablet;
    entry->server = source->server;
    entry->heard_us = source->now_us;
    entry->since_us = is_known ? old->since_us : source->now_us;
    entry->elapsed_ns = report->elapsed_ns + (goes_on ? faded(old->elapsed_ns, factor) : 0);
    entry->capacity_ns = report->capacity_ns + (goes_on ? faded(old->capacity_ns, factor) : 0);
    entry->figures = add_faded(goes_on ? &old->figures : &none, factor, &load->figures);
    if (old != NULL) {
        drop(details, old);
    }
    list_append(&details->entries, &entry->link, entry);
    (void)number_map_put(&details->by_tablet, entry->tablet, entry);
    details->size_bytes += entry->size_bytes;
}

/* Those heard of longest ago go. */
static void drop_surplus(struct load_details *details)
{
    while (details->by_tablet.count > details->entries_max ||
           details->size_bytes > details->bytes_max) {
        drop(details, list_first(&details->entries));
    }
}

void load_details_take(struct load_details *details,
                       const struct load_source *source,
                       const struct load_report *report,
                       load_find find,
                       void *context)
{
    struct load_place place;

    load_details_expire(details, source->now_us);
    for (size_t i = 0; i < report->tablet_count; i++) {
        const struct tablet_load *load = &report->tablets[i];
        if (load->detail.point_count > 0 && load->tablet != 0 &&
            find(context, load->tablet, &place) && lies_in(&load->detail, &place.range)) {
            take_one(details, source, report, load);
        }
    }
    drop_surplus(details);
}

/* --- splits ------------------------------------------------------------------------------------- */

/* Points that begin in the range, and one at its start; keys in it.  Rows stay where they are. */
static struct load_detail part_of(const struct load_detail *whole,
                                  const struct row_range *range,
                                  struct load_point points[LOAD_POINTS_MAX],
                                  struct load_key keys[LOAD_KEYS_MAX])
{
    struct bytes last = whole->points[whole->point_count - 1].row;
    struct load_detail part = {.points = points, .keys = keys};

    for (size_t i = 0; i < whole->point_count; i++) {
        struct bytes row = whole->points[i].row;
        if (!row_range_contains(range, row)) {
            continue;
        }
        if (part.point_count == 0 && !bytes_equal(row, range->start)) {
            points[part.point_count++] = (struct load_point){.row = range->start};
        }
        points[part.point_count++] = whole->points[i];
    }
    for (size_t i = 0; i < whole->key_count; i++) {
        if (row_range_contains(range, whole->keys[i].row)) {
            keys[part.key_count++] = whole->keys[i];
        }
    }
    part.appended_permille = row_range_contains(range, last) ? whole->appended_permille : 0;
    return part;
}

/* How much of what there is. */
struct shares {
    double reads;
    double writes;
    double both;
};

static struct shares add_points(const struct load_detail *detail)
{
    struct shares sum = {0};
    for (size_t i = 0; i < detail->point_count; i++) {
        sum.reads += (double)detail->points[i].reads;
        sum.writes += (double)detail->points[i].writes;
    }
    sum.both = sum.reads + sum.writes;
    return sum;
}

static struct shares shares_of(const struct load_detail *part, const struct load_detail *whole)
{
    struct shares own = add_points(part);
    struct shares all = add_points(whole);
    return (struct shares){
        .reads = all.reads > 0 ? own.reads / all.reads : 0,
        .writes = all.writes > 0 ? own.writes / all.writes : 0,
        .both = all.both > 0 ? own.both / all.both : 0,
    };
}

static struct load_figures take_shares(const struct load_figures *whole, struct shares shares)
{
    return (struct load_figures){
        .reads = faded(whole->reads, shares.reads),
        .read_rows = faded(whole->read_rows, shares.reads),
        .read_bytes = faded(whole->read_bytes, shares.reads),
        .read_cpu_ns = faded(whole->read_cpu_ns, shares.reads),
        .writes = faded(whole->writes, shares.writes),
        .write_cells = faded(whole->write_cells, shares.writes),
        .write_bytes = faded(whole->write_bytes, shares.writes),
        .write_cpu_ns = faded(whole->write_cpu_ns, shares.writes),
        .read_wait_ns = faded(whole->read_wait_ns, shares.reads),
        .read_latency_ns = faded(whole->read_latency_ns, shares.reads),
        .read_latency_max_ns = whole->read_latency_max_ns,
        .write_wait_ns = faded(whole->write_wait_ns, shares.writes),
        .write_latency_ns = faded(whole->write_latency_ns, shares.writes),
        .write_latency_max_ns = whole->write_latency_max_ns,
    };
}

void load_details_inherit(struct load_details *details,
                          uint64_t parent,
                          uint64_t tablet,
                          const struct row_range *range)
{
    struct load_entry_detail *whole = number_map_get(&details->by_tablet, parent);
    struct load_point points[LOAD_POINTS_MAX];
    struct load_key keys[LOAD_KEYS_MAX];

    if (whole == NULL || number_map_get(&details->by_tablet, tablet) != NULL) {
        return;
    }
    struct load_detail part = part_of(&whole->detail, range, points, keys);
    struct shares shares = shares_of(&part, &whole->detail);
    part.observations = faded(whole->detail.observations, shares.both);
    if (shares.both <= 0 || number_map_reserve(&details->by_tablet, 1) != STATUS_OK) {
        return;
    }
    struct load_entry_detail *entry = entry_create(&part);
    if (entry == NULL) {
        return;
    }
    entry->tablet = tablet;
    entry->server = whole->server;
    entry->heard_us = whole->heard_us;
    entry->since_us = whole->since_us;
    entry->elapsed_ns = whole->elapsed_ns;
    entry->capacity_ns = whole->capacity_ns;
    entry->figures = take_shares(&whole->figures, shares);
    entry->inherited = true;
    list_insert_behind(&whole->link, &entry->link, entry);
    (void)number_map_put(&details->by_tablet, tablet, entry);
    details->size_bytes += entry->size_bytes;
    drop_surplus(details);
}

/* --- life --------------------------------------------------------------------------------------- */

void load_details_init(struct load_details *details)
{
    *details = (struct load_details){.entries_max = LOAD_DETAILS_MAX,
                                     .bytes_max = LOAD_DETAILS_BYTES_MAX};
    list_init(&details->entries);
    number_map_init(&details->by_tablet);
}

void load_details_deinit(struct load_details *details)
{
    LIST_FOREACH(struct load_entry_detail, entry, &details->entries) {
        memory_free(entry);
    }
    number_map_deinit(&details->by_tablet);
}

void load_details_check(const struct load_details *details)
{
    size_t count = 0;
    size_t size_bytes = 0;
    int64_t heard_us = INT64_MIN;
    LIST_FOREACH(const struct load_entry_detail, entry, &details->entries) {
        ASSERT(number_map_get(&details->by_tablet, entry->tablet) == entry);
        ASSERT(entry->heard_us >= heard_us);
        ASSERT(entry->detail.point_count > 0 && entry->detail.point_count <= LOAD_POINTS_MAX);
        heard_us = entry->heard_us;
        count += 1;
        size_bytes += entry->size_bytes;
    }
    ASSERT(count == details->by_tablet.count && count <= details->entries_max);
    ASSERT(size_bytes == details->size_bytes && size_bytes <= details->bytes_max);
}
