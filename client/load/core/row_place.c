#include "client/load/core/row_place.h"

#include <stdio.h>
#include <string.h>

#include "client/load/core/excerpt.h"

/* As rows are ordered: by bytes, the shorter first. */
static int compare(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
    int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
    if (order != 0) {
        return order;
    }
    return a_size < b_size ? -1 : a_size > b_size;
}

void load_row_place_begin(struct load_row_place *place, const uint8_t *key, size_t size)
{
    place->size = size < sizeof place->key ? size : sizeof place->key;
    place->has_begun = false;
    memcpy(place->key, key, place->size);
}

bool load_row_place_is(const struct load_row_place *place, const uint8_t *key, size_t size)
{
    return compare(key, size, place->key, place->size) == 0;
}

bool load_row_place_take(struct load_row_place *place,
                         const uint8_t *key,
                         size_t size,
                         const uint8_t *end,
                         size_t end_size)
{
    int order = compare(key, size, place->key, place->size);
    if (order < 0 || (order == 0 && place->has_begun) || compare(key, size, end, end_size) >= 0) {
        return false;
    }
    load_row_place_begin(place, key, size);
    place->has_begun = true;
    return true;
}

void load_row_place_text(const struct load_row_place *place,
                         const uint8_t *key,
                         size_t size,
                         bool is_scan,
                         char out[LOAD_PLACE_BYTES])
{
    char row[LOAD_PLAIN_BYTES];
    char other[LOAD_PLAIN_BYTES];
    (void)snprintf(out, LOAD_PLACE_BYTES, "row %s %s row %s", load_plain(key, size, row),
                   !is_scan           ? "came, asked for was"
                   : place->has_begun ? "came in a scan behind"
                                      : "came in a scan that begins at",
                   load_plain(place->key, place->size, other));
}
