/*
 * Images of applied maps.  What decodes must hold the invariants of applied_map.h, encode to no
 * more bytes than it came from and to the same the second time round; and what is made of it must
 * agree with it at every boundary.
 */
#include <stdlib.h>

#include "common/base/assert.h"
#include "tabletserver/storage/record/applied_map.h"

#define ARENA_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define ROUGH_COUNT_MAX 64 /* segments of a map that is looked at pair by pair */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct tablet_position everything = {.everything = true};

static void check_order(const struct applied_map *map)
{
    ASSERT(map->count >= 1);
    ASSERT(map->segments[0].from.row.size_bytes == 0 && map->segments[0].from.family == 0);
    for (uint32_t i = 1; i < map->count; i++) {
        ASSERT(tablet_position_compare(&map->segments[i - 1].from, &map->segments[i].from) < 0);
        ASSERT(map->segments[i - 1].sequence != map->segments[i].sequence);
    }
}

static void check_look_ups(const struct applied_map *map)
{
    uint64_t highest = applied_map_highest(map);
    for (uint32_t i = 0; i < map->count && i < ROUGH_COUNT_MAX; i++) {
        const struct applied_segment *segment = &map->segments[i];
        uint64_t low = 0;
        uint64_t high = 0;
        ASSERT(applied_map_at(map, &segment->from) == segment->sequence);
        ASSERT(segment->sequence <= highest);
        applied_map_span_of_row(map, segment->from.row, &low, &high);
        ASSERT(low <= segment->sequence && segment->sequence <= high && high <= highest);
    }
    struct tablet_position prefix = applied_map_prefix(map, highest);
    ASSERT(prefix.everything == (map->count == 1)); /* neighbours differ */
}

/* Raised from one of its boundaries on. */
static void check_changes(const struct applied_map *map, struct arena *arena)
{
    struct applied_map raised;
    const struct tablet_position *from = &map->segments[map->count / 2].from;
    uint64_t sequence = map->segments[map->count - 1].sequence;
    ASSERT(applied_map_raise(arena, map, from, &everything, sequence, &raised) == STATUS_OK);
    check_order(&raised);
    ASSERT(applied_map_at(&raised, from) >= sequence);
}

static void check_round_trip(const struct applied_map *map, struct arena *arena, size_t size)
{
    struct buffer once = BUFFER_INIT;
    struct buffer twice = BUFFER_INIT;
    struct applied_map again;
    struct error error;
    applied_map_encode(map, &once);
    ASSERT(once.size_bytes <= size);
    ASSERT(applied_map_decode(buffer_bytes(&once), arena, &again, &error) == STATUS_OK);
    applied_map_encode(&again, &twice);
    ASSERT(bytes_equal(buffer_bytes(&once), buffer_bytes(&twice)));
    buffer_deinit(&once);
    buffer_deinit(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct applied_map map;
    struct error error = {0};
    arena_init(&arena, 4096, ARENA_BYTES_MAX);
    if (applied_map_decode(bytes_of(data, size), &arena, &map, &error) == STATUS_OK) {
        check_order(&map);
        check_look_ups(&map);
        check_changes(&map, &arena);
        check_round_trip(&map, &arena, size);
    } else {
        ASSERT(error.text[0] != '\0');
    }
    arena_deinit(&arena);
    return 0;
}
