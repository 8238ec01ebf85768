#include "master/heat/heat_map.h"

#include "common/base/memory.h"

#define PAUSE_MAX_US \
    INT64_C(60000000) /* for so long a busy machine may keep us from looking at the clock */

void heat_map_init(struct heat_map *map, uint64_t bytes_max, const struct heat_gone_to *gone)
{
    *map = (struct heat_map){
        .bytes_max = bytes_max,
        .rows_all_max = HEAT_ROWS_ALL_MAX,
        .gone = *gone,
    };
    list_init(&map->tables);
    number_map_init(&map->by_number);
}

static void ignore(void *context, const struct heat_table *table, size_t layer, int64_t start_us)
{
    (void)context;
    (void)table;
    (void)layer;
    (void)start_us;
}

void heat_map_deinit(struct heat_map *map)
{
    const struct heat_gone_to nobody = {ignore, NULL};
    LIST_FOREACH(struct heat_table, table, &map->tables) {
        list_remove(&table->link);
        heat_table_destroy(table, &nobody);
    }
    number_map_deinit(&map->by_number);
}

struct heat_table *heat_map_table(const struct heat_map *map, uint64_t number)
{
    return number_map_get(&map->by_number, number);
}

/* --- tables ------------------------------------------------------------------------------------- */

static size_t rows_of_each(const struct heat_map *map)
{
    size_t rows = map->table_count == 0 ? HEAT_ROWS_MAX : map->rows_all_max / map->table_count;
    return rows > HEAT_ROWS_MAX ? HEAT_ROWS_MAX : rows < HEAT_ROWS_LEAST ? HEAT_ROWS_LEAST : rows;
}

/* NULL without memory, or where there are too many. */
static struct heat_table *table_make(struct heat_map *map, uint64_t number)
{
    const struct row_range all = {BYTES_EMPTY, BYTES_EMPTY};
    struct heat_table *table = number == 0 ? NULL : heat_map_table(map, number);

    if (table != NULL || number == 0 || map->table_count >= HEAT_TABLES_MAX ||
        number_map_reserve(&map->by_number, 1) != STATUS_OK) {
        return table;
    }
    table = memory_allocate_zeroed(1, sizeof *table);
    if (table == NULL || heat_rows_init(&table->rows, &all, rows_of_each(map)) != STATUS_OK) {
        memory_free(table);
        return NULL;
    }
    table->number = number;
    table->start_us = map->now_us;
    table->sweep = map->sweep + 1; /* the one under way may have passed it over */
    list_append(&map->tables, &table->link, table);
    (void)number_map_put(&map->by_number, number, table);
    map->table_count += 1;
    return table;
}

static void forget(struct heat_map *map, struct heat_table *table)
{
    (void)number_map_remove(&map->by_number, table->number);
    list_remove(&table->link);
    map->table_count -= 1;
    heat_table_destroy(table, &map->gone);
}

/* --- reports ------------------------------------------------------------------------------------ */

static uint64_t bounded(uint64_t value)
{
    return value > HEAT_FIGURES_MAX ? HEAT_FIGURES_MAX : value;
}

static uint64_t counted(uint64_t value)
{
    return bounded(value) * HEAT_UNIT;
}

static struct heat_values values_of(const struct load_figures *figures)
{
    struct heat_values values = {0};
    values.of[HEAT_READS] = counted(figures->reads);
    values.of[HEAT_READ_ROWS] = counted(figures->read_rows);
    values.of[HEAT_READ_BYTES] = counted(figures->read_bytes);
    values.of[HEAT_READ_CPU_NS] = counted(figures->read_cpu_ns);
    values.of[HEAT_WRITES] = counted(figures->writes);
    values.of[HEAT_WRITE_CELLS] = counted(figures->write_cells);
    values.of[HEAT_WRITE_BYTES] = counted(figures->write_bytes);
    values.of[HEAT_WRITE_CPU_NS] = counted(figures->write_cpu_ns);
    values.of[HEAT_READ_WAIT_NS] = counted(figures->read_wait_ns);
    values.of[HEAT_READ_LATENCY_NS] = counted(figures->read_latency_ns);
    values.of[HEAT_WRITE_WAIT_NS] = counted(figures->write_wait_ns);
    values.of[HEAT_WRITE_LATENCY_NS] = counted(figures->write_latency_ns);
    return values;
}

static bool is_of_writes(size_t value)
{
    return value == HEAT_WRITES || value == HEAT_WRITE_CELLS || value == HEAT_WRITE_BYTES ||
           value == HEAT_WRITE_CPU_NS || value == HEAT_WRITE_WAIT_NS ||
           value == HEAT_WRITE_LATENCY_NS;
}

/* What the points from this one on have, of all that is left: the last one takes the rest. */
static struct heat_values take_share(struct heat_values *left,
                                     const struct load_point *point,
                                     uint64_t reads_left,
                                     uint64_t writes_left)
{
    struct heat_values part = {0};
    for (size_t i = 0; i < HEAT_VALUES; i++) {
        uint64_t all = is_of_writes(i) ? writes_left : reads_left;
        uint64_t mine = is_of_writes(i) ? point->writes : point->reads;
        if (all > 0) {
            double wanted = (double)left->of[i] * ((double)mine / (double)all);
            part.of[i] = mine >= all || wanted >= (double)left->of[i] ? left->of[i]
                                                                      : (uint64_t)wanted;
            left->of[i] -= part.of[i];
        }
    }
    return part;
}

/* Points ascend, inside the tablet: else they are not believed. */
static bool are_sound(const struct located_load *load)
{
    const struct load_detail *detail = &load->detail;
    for (size_t i = 0; i < detail->point_count; i++) {
        if (!row_range_contains(&load->range, detail->points[i].row) ||
            (i > 0 && bytes_compare(detail->points[i - 1].row, detail->points[i].row) >= 0)) {
            return false;
        }
    }
    return detail->point_count > 0;
}

static void take_points(struct heat_rows *rows,
                        const struct located_load *load,
                        struct heat_values *left)
{
    const struct load_detail *detail = &load->detail;
    uint64_t reads_left = 0;
    uint64_t writes_left = 0;

    for (size_t i = 0; i < detail->point_count; i++) {
        heat_rows_name(rows, detail->points[i].row);
    }
    for (size_t i = 0; i < detail->point_count; i++) {
        reads_left += bounded(detail->points[i].reads);
        writes_left += bounded(detail->points[i].writes);
        heat_rows_cut(rows, detail->points[i].row);
    }
    for (size_t i = 0; i < detail->point_count; i++) {
        struct load_point point = detail->points[i];
        point.reads = bounded(point.reads);
        point.writes = bounded(point.writes);
        const struct row_range range = {
            .start = heat_key_cut(point.row),
            .end = heat_key_cut(i + 1 < detail->point_count ? detail->points[i + 1].row
                                                            : load->range.end),
        };
        struct heat_values part = take_share(left, &point, reads_left, writes_left);
        heat_rows_add(rows, &range, &part);
        reads_left -= point.reads;
        writes_left -= point.writes;
    }
}

/* Add a tablet's load: at its points as far as they tell where it is, the rest evenly over the tablet. */
static void take_load(struct heat_rows *rows, const struct located_load *load)
{
    struct heat_values left = values_of(&load->figures);
    const struct row_range range = {heat_key_cut(load->range.start), heat_key_cut(load->range.end)};

    heat_rows_cut(rows, range.start);
    if (range.end.size_bytes > 0) {
        heat_rows_cut(rows, range.end);
    }
    if (are_sound(load)) {
        take_points(rows, load, &left);
    }
    heat_rows_add(rows, &range, &left);
}

static void look_at_clock(struct heat_map *map, int64_t now_us)
{
    if (now_us < map->now_us) {
        LIST_FOREACH(struct heat_table, table, &map->tables) {
            heat_table_drop_after(table, now_us, &map->gone);
            table->start_us = table->start_us < now_us ? table->start_us : now_us;
            table->minutes_made_us = table->minutes_made_us < now_us ? table->minutes_made_us
                                                                     : now_us;
        }
    } else if (now_us - map->now_us > PAUSE_MAX_US) {
        LIST_FOREACH(struct heat_table, table, &map->tables) {
            heat_table_skip(table, map->now_us, now_us);
        }
    }
    map->now_us = now_us;
}

void heat_map_take(struct heat_map *map, const struct located_report *report, int64_t now_us)
{
    look_at_clock(map, now_us);
    for (size_t i = 0; i < report->load_count; i++) {
        struct heat_table *table = table_make(map, report->loads[i].table);
        if (table != NULL) {
            take_load(&table->rows, &report->loads[i]);
            table->busy = true;
        }
    }
}

/* --- sizes -------------------------------------------------------------------------------------- */

void heat_map_sweep_begin(struct heat_map *map)
{
    map->sweep += 1;
    LIST_FOREACH(struct heat_table, table, &map->tables) {
        for (size_t i = 0; i < table->rows.count; i++) {
            table->rows.rows[i]->coming = 0;
        }
    }
}

void heat_map_sweep(struct heat_map *map,
                    uint64_t number,
                    const struct row_range *range,
                    uint64_t size_bytes)
{
    struct heat_table *table = heat_map_table(map, number);
    const struct row_range cut = {heat_key_cut(range->start), heat_key_cut(range->end)};

    if (table != NULL) {
        if (table->sweep < map->sweep) {
            table->sweep = map->sweep;
        }
        heat_rows_cut(&table->rows, cut.start);
        heat_rows_sweep(&table->rows, &cut, size_bytes);
    }
}

void heat_map_sweep_end(struct heat_map *map)
{
    LIST_FOREACH(struct heat_table, table, &map->tables) {
        if (table->sweep < map->sweep) {
            forget(map, table);
        } else if (table->sweep == map->sweep) {
            heat_rows_sweep_end(&table->rows);
        }
    }
}

/* --- time --------------------------------------------------------------------------------------- */

uint64_t heat_map_column_bytes(const struct heat_map *map)
{
    uint64_t sum = 0;
    LIST_FOREACH(const struct heat_table, table, &map->tables) {
        sum += table->column_bytes;
    }
    return sum;
}

static struct heat_table *table_of_oldest(const struct heat_map *map)
{
    struct heat_table *oldest = NULL;
    int64_t oldest_us = INT64_MAX;
    LIST_FOREACH(struct heat_table, table, &map->tables) {
        int64_t start_us = heat_table_oldest_us(table);
        if (start_us < oldest_us) {
            oldest_us = start_us;
            oldest = table;
        }
    }
    return oldest;
}

static void make_room(struct heat_map *map)
{
    uint64_t sum = heat_map_column_bytes(map);
    struct heat_table *table = NULL;
    while (sum > map->bytes_max && (table = table_of_oldest(map)) != NULL) {
        size_t before = table->column_bytes;
        (void)heat_table_drop_oldest(table, &map->gone);
        sum -= before - table->column_bytes;
    }
    map->bytes_most = sum;
}

void heat_map_age(struct heat_map *map, int64_t now_us, bool ending)
{
    size_t rows_max = rows_of_each(map);

    look_at_clock(map, now_us);
    LIST_FOREACH(struct heat_table, table, &map->tables) {
        heat_table_age(table, now_us, ending, &map->gone);
        table->rows.count_max = rows_max;
        heat_rows_join(&table->rows, rows_max);
    }
    make_room(map);
}

bool heat_map_put(struct heat_map *map, uint64_t number, size_t layer, struct heat_column *column)
{
    struct heat_table *table = table_make(map, number);
    size_t before = table != NULL ? table->column_bytes : 0;
    bool put = table != NULL && layer < HEAT_LAYERS && heat_table_put(table, layer, column);
    if (!put) {
        heat_column_destroy(column);
        return false;
    }
    map->bytes_most += table->column_bytes - before;
    if (map->bytes_most > map->bytes_max) {
        make_room(map);
    }
    return true;
}

bool heat_map_restore(struct heat_map *map,
                      uint64_t number,
                      size_t layer,
                      struct heat_column *column)
{
    int64_t start_us = column->start_us;

    column->stored = true;
    if (layer == 0) { /* that one is never kept */
        heat_column_destroy(column);
        return false;
    }
    bool restored = heat_map_put(map, number, layer, column);
    if (restored && start_us > map->now_us) {
        heat_table_drop_after(heat_map_table(map, number), map->now_us, &map->gone);
        restored = false;
    }
    return restored;
}
