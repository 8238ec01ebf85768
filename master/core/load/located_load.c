#include "master/core/load/located_load.h"

#include "common/base/memory.h"

#define BLOCK_BYTES ((size_t)16384)
#define BYTES_MAX   ((size_t)64 << 20)

struct located_report *located_report_create(uint64_t server,
                                             const struct load_report *report,
                                             size_t tablet_count)
{
    struct located_report *made = memory_allocate_zeroed(1, sizeof *made);

    if (made == NULL) {
        return NULL;
    }
    arena_init(&made->arena, BLOCK_BYTES, BYTES_MAX);
    made->server = server;
    made->elapsed_ns = report->elapsed_ns;
    made->capacity_ns = report->capacity_ns;
    made->loads = arena_allocate_array(&made->arena, tablet_count + 1, sizeof *made->loads);
    if (made->loads == NULL) {
        located_report_destroy(made);
        return NULL;
    }
    return made;
}

void located_report_destroy(struct located_report *report)
{
    if (report != NULL) {
        arena_deinit(&report->arena);
        memory_free(report);
    }
}

static bool copy_key(struct arena *arena, struct bytes key, struct bytes *ret_copy)
{
    *ret_copy = key.size_bytes == 0 ? BYTES_EMPTY : arena_copy(arena, key);
    return ret_copy->size_bytes == key.size_bytes;
}

static bool copy_points(struct arena *arena,
                        const struct load_detail *detail,
                        struct load_detail *ret_copy)
{
    struct load_point *points = arena_allocate_array(arena, detail->point_count + 1,
                                                     sizeof *points);
    struct load_key *keys = arena_allocate_array(arena, detail->key_count + 1, sizeof *keys);
    bool copied = points != NULL && keys != NULL;

    for (size_t i = 0; copied && i < detail->point_count; i++) {
        points[i] = detail->points[i];
        copied = copy_key(arena, detail->points[i].row, &points[i].row);
    }
    for (size_t i = 0; copied && i < detail->key_count; i++) {
        keys[i] = detail->keys[i];
        copied = copy_key(arena, detail->keys[i].row, &keys[i].row);
    }
    *ret_copy = *detail;
    ret_copy->points = points;
    ret_copy->keys = keys;
    return copied;
}

bool located_report_add(struct located_report *report,
                        uint64_t table,
                        const struct row_range *range,
                        const struct tablet_load *load)
{
    struct located_load copy = {.table = table, .tablet = load->tablet, .figures = load->figures};
    bool copied = copy_key(&report->arena, range->start, &copy.range.start) &&
                  copy_key(&report->arena, range->end, &copy.range.end) &&
                  copy_points(&report->arena, &load->detail, &copy.detail);
    if (copied) {
        report->loads[report->load_count++] = copy;
    }
    return copied;
}
