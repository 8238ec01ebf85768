/* Where in a tablet its load was: points and frequent rows, in reports and in what is made of them. */
#include "common/base/limits.h"
#include "common/wire/message_parts.h"
#include "common/wire/writer.h"

#define POINT_FIELDS 4
#define KEY_FIELDS   3
#define PERMILLE_MAX 1000

bool wire_is_no_load_detail(const struct load_detail *detail)
{
    return detail->point_count == 0 && detail->key_count == 0 && detail->observations == 0 &&
           detail->appended_permille == 0;
}

void wire_write_load_detail(struct buffer *out, const struct load_detail *detail)
{
    wire_write_array(out, 5);
    wire_write_array(out, detail->point_count);
    for (size_t i = 0; i < detail->point_count; i++) {
        wire_write_array(out, POINT_FIELDS);
        wire_write_bytes(out, detail->points[i].row);
        wire_write_u64(out, detail->points[i].reads);
        wire_write_u64(out, detail->points[i].writes);
        wire_write_u64(out, detail->points[i].crossing);
    }
    wire_write_array(out, detail->key_count);
    for (size_t i = 0; i < detail->key_count; i++) {
        wire_write_array(out, KEY_FIELDS);
        wire_write_bytes(out, detail->keys[i].row);
        wire_write_u64(out, detail->keys[i].reads);
        wire_write_u64(out, detail->keys[i].writes);
    }
    wire_write_u64(out, detail->observations);
    wire_write_u64(out, detail->appended_permille);
    wire_write_u64(out, detail->window_ns);
}

/* Room for as many of the list's elements as are taken.  NULL: none, or the reader has failed. */
static void *make_room(struct wire_reader *reader,
                       const struct wire_array *list,
                       size_t element_bytes,
                       size_t count_max,
                       size_t *ret_count)
{
    size_t count = list->left < count_max ? list->left : count_max;
    *ret_count = 0;
    if (count == 0 || reader->status != STATUS_OK) {
        return NULL;
    }
    void *room = arena_allocate_array(reader->arena, count, element_bytes);
    if (room == NULL) {
        reader->status = error_set(reader->error, STATUS_NO_MEMORY, "out of memory");
        return NULL;
    }
    memset(room, 0, count * element_bytes);
    *ret_count = count;
    return room;
}

static void read_points(struct wire_reader *reader,
                        struct wire_array *parts,
                        struct load_detail *detail)
{
    struct wire_array list = wire_read_array(reader, parts, "detail.points");
    struct load_point *points = make_room(reader, &list, sizeof *points, LOAD_POINTS_MAX,
                                          &detail->point_count);
    for (size_t i = 0; i < detail->point_count && reader->status == STATUS_OK; i++) {
        struct wire_array one = wire_read_array(reader, &list, "detail.point");
        points[i].row = wire_read_bytes(reader, &one, "detail.point.row");
        points[i].reads = wire_read_u64(reader, &one, "detail.point.reads");
        points[i].writes = wire_read_u64(reader, &one, "detail.point.writes");
        points[i].crossing = wire_read_u64(reader, &one, "detail.point.crossing");
        wire_array_end(reader, &one);
    }
    detail->points = points;
    wire_array_end(reader, &list);
}

static void read_keys(struct wire_reader *reader,
                      struct wire_array *parts,
                      struct load_detail *detail)
{
    struct wire_array list = wire_read_array(reader, parts, "detail.keys");
    struct load_key *keys = make_room(reader, &list, sizeof *keys, LOAD_KEYS_MAX,
                                      &detail->key_count);
    for (size_t i = 0; i < detail->key_count && reader->status == STATUS_OK; i++) {
        struct wire_array one = wire_read_array(reader, &list, "detail.key");
        keys[i].row = wire_read_bytes(reader, &one, "detail.key.row");
        keys[i].reads = wire_read_u64(reader, &one, "detail.key.reads");
        keys[i].writes = wire_read_u64(reader, &one, "detail.key.writes");
        wire_array_end(reader, &one);
    }
    detail->keys = keys;
    wire_array_end(reader, &list);
}

static bool is_sound(const struct load_detail *detail)
{
    for (size_t i = 0; i < detail->point_count; i++) {
        struct bytes row = detail->points[i].row;
        if (row.size_bytes > LIMIT_ROW_KEY_BYTES ||
            (i > 0 && bytes_compare(detail->points[i - 1].row, row) >= 0)) {
            return false;
        }
    }
    for (size_t i = 0; i < detail->key_count; i++) {
        size_t size_bytes = detail->keys[i].row.size_bytes;
        if (size_bytes == 0 || size_bytes > LIMIT_ROW_KEY_BYTES) {
            return false;
        }
    }
    return detail->appended_permille <= PERMILLE_MAX;
}

void wire_read_load_detail(struct wire_reader *reader,
                           struct wire_array *fields,
                           struct load_detail *ret_detail)
{
    struct load_detail detail = {0};
    struct wire_array parts = wire_read_array(reader, fields, "detail");
    read_points(reader, &parts, &detail);
    read_keys(reader, &parts, &detail);
    detail.observations = wire_read_u64(reader, &parts, "detail.observations");
    detail.appended_permille = wire_read_u32(reader, &parts, "detail.appended_permille");
    detail.window_ns = wire_read_u64(reader, &parts, "detail.window_ns");
    wire_array_end(reader, &parts);
    *ret_detail = reader->status == STATUS_OK && is_sound(&detail) ? detail
                                                                   : (struct load_detail){0};
}
