#include "master/heat/heat_following.h"

#define FINE 0 /* the layer that is extra */

/* --- what there is ------------------------------------------------------------------------------ */

static int64_t newest_us(const struct heat_table *table)
{
    int64_t newest = 0;
    for (size_t i = FINE + 1; i < HEAT_LAYERS; i++) {
        const struct heat_layer *layer = &table->layers[i];
        if (layer->count > 0 && layer->columns[layer->count - 1]->end_us > newest) {
            newest = layer->columns[layer->count - 1]->end_us;
        }
    }
    return newest;
}

/* When the newest column of all ended; 0 = there is none. */
static int64_t newest_of_all_us(const struct heat_map *map)
{
    int64_t newest = 0;
    LIST_FOREACH(const struct heat_table, table, &map->tables) {
        int64_t of_table = newest_us(table);
        newest = of_table > newest ? of_table : newest;
    }
    return newest;
}

/* The one with the lowest number from number on; NULL = there is none. */
static const struct heat_table *next_table(const struct heat_map *map, uint64_t number)
{
    const struct heat_table *next = NULL;
    LIST_FOREACH(const struct heat_table, table, &map->tables) {
        if (table->number >= number && (next == NULL || table->number < next->number)) {
            next = table;
        }
    }
    return next;
}

/* --- listing ------------------------------------------------------------------------------------ */

struct page {
    struct heat_column_image *columns;
    struct list_heat_response response;
    size_t size_bytes;
};

/* False: the page is full. */
static bool add_column(struct page *page,
                       const struct heat_table *table,
                       size_t layer,
                       const struct heat_column *column)
{
    if (page->response.column_count == HEAT_PAGE_COLUMNS_MAX ||
        page->size_bytes > HEAT_PAGE_BYTES_MAX) {
        return false;
    }
    page->size_bytes += column->packed_bytes;
    page->columns[page->response.column_count++] = (struct heat_column_image){
        .table = table->number,
        .layer = (uint32_t)layer,
        .start_us = column->start_us,
        .end_us = column->end_us,
        .packed = bytes_of(column->packed, column->packed_bytes)};
    return true;
}

/* The wider are the older: so these are in order of time.  False: the page is full. */
static bool add_table(struct page *page, const struct heat_table *table, int64_t from_us)
{
    for (size_t i = HEAT_LAYERS; i-- > FINE + 1;) {
        const struct heat_layer *layer = &table->layers[i];
        for (size_t j = 0; j < layer->count; j++) {
            if (layer->columns[j]->start_us >= from_us &&
                !add_column(page, table, i, layer->columns[j])) {
                return false;
            }
        }
    }
    return true;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

enum status heat_map_list(const struct heat_map *map,
                          const struct list_heat_request *request,
                          struct arena *arena,
                          struct list_heat_response *ret_response)
{
    struct page page = {.response = {.newest_us = newest_of_all_us(map)}};
    page.columns = arena_allocate_array(arena, HEAT_PAGE_COLUMNS_MAX, sizeof *page.columns);
    if (page.columns == NULL) {
        return STATUS_NO_MEMORY;
    }
    page.response.columns = page.columns;
    const struct heat_table *table = next_table(map, request->table);
    while (table != NULL && !page.response.more) {
        bool goes_on = table->number == request->table && request->start_us < INT64_MAX;
        int64_t from_us = goes_on ? later(request->after_us, request->start_us + 1)
                                  : request->after_us;
        page.response.more = !add_table(&page, table, from_us);
        table = table->number == UINT64_MAX ? NULL : next_table(map, table->number + 1);
    }
    *ret_response = page.response;
    return STATUS_OK;
}

/* --- following ---------------------------------------------------------------------------------- */

bool heat_map_follow(struct heat_map *map, const struct heat_column_image *image, int64_t now_us)
{
    const struct heat_table *table = heat_map_table(map, image->table);
    struct heat_column *column = NULL;
    if (image->layer <= FINE || image->layer >= HEAT_LAYERS || image->start_us < 0 ||
        image->start_us > now_us || image->end_us <= image->start_us ||
        (table != NULL && image->start_us < newest_us(table)) ||
        heat_column_unpack(image->packed, image->start_us, image->end_us, &column) != STATUS_OK) {
        return false;
    }
    return heat_map_put(map, image->table, image->layer, column);
}

void heat_following_begin(struct heat_following *following)
{
    following->newest_us = 0;
    following->next = (struct list_heat_request){.after_us = following->complete_us};
}

/* Of a map that grows while it is told, the first page says what the round is about.  What that one has of our future
 * was not taken in. */
static void end_round(struct heat_following *following, int64_t now_us)
{
    int64_t complete_us = following->newest_us < now_us ? following->newest_us : now_us;
    following->complete_us = complete_us > 0 ? complete_us : 0;
}

bool heat_following_take(struct heat_following *following,
                         struct heat_map *map,
                         const struct list_heat_response *page,
                         int64_t now_us)
{
    bool first = following->next.table == 0;

    for (size_t i = 0; i < page->column_count; i++) {
        (void)heat_map_follow(map, &page->columns[i], now_us);
    }
    following->newest_us = first ? page->newest_us : following->newest_us;
    if (!page->more) {
        end_round(following, now_us);
        return false;
    }
    if (page->column_count == 0) {
        return false; /* it would never end */
    }
    const struct heat_column_image *last = &page->columns[page->column_count - 1];
    following->next.table = last->table;
    following->next.start_us = last->start_us;
    return true;
}
