#include "tabletserver/storage/base/base_walk.h"

#include <stddef.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/endian.h"
#include "tabletserver/storage/base/base_links.h"

#define LAYER_PREFIX_BYTES   (BASE_EXTENT_PREFIX_BYTES + 8)
#define LINK_BYTES           13
#define LINK_OFFSET_CHECKSUM 1
#define LINK_OFFSET_NUMBER   5

_Static_assert(BASE_EXTENT_PREFIX_BYTES + BASE_SLICE_BYTES <= KV_KEY_BYTES_MAX,
               "a slice fits a key");

/* The record on which a move of the file's cursor has ended. */
struct hit {
    bool found;
    struct bytes key;
    struct bytes value;
};

enum status base_walk_open(struct base_walk *walk,
                           const struct base_store *store,
                           enum base_space space)
{
    memset(walk, 0, offsetof(struct base_walk, numbers));
    walk->store = *store;
    walk->space = space;
    return base_store_cursor_open(store, &walk->cursor);
}

void base_walk_close(struct base_walk *walk)
{
    if (walk->cursor != NULL) {
        kv_cursor_close(walk->cursor);
        walk->cursor = NULL;
    }
    buffer_deinit(&walk->path);
}

static void stand_nowhere(struct base_walk *walk)
{
    walk->found = false;
    walk->barred = false;
}

static void go_to_depth(struct base_walk *walk, uint32_t depth)
{
    walk->depth = depth;
    walk->layer_moves++;
}

void base_walk_set_extent(struct base_walk *walk, uint64_t extent)
{
    walk->extent = extent;
    go_to_depth(walk, 0);
    stand_nowhere(walk);
}

/* --- stored keys ------------------------------------------------------------------------------ */

/* The prefix of all keys of the layer that the walk is in, at the front of `stored`. */
static size_t make_prefix(struct base_walk *walk)
{
    store_be64(walk->stored + 1, walk->extent);
    if (walk->depth == 0) {
        walk->stored[0] = (uint8_t)walk->space;
        return BASE_EXTENT_PREFIX_BYTES;
    }
    walk->stored[0] = BASE_SPACE_LAYER;
    store_be64(walk->stored + BASE_EXTENT_PREFIX_BYTES, walk->numbers[walk->depth - 1]);
    return LAYER_PREFIX_BYTES;
}

static struct bytes make_stored(struct base_walk *walk, struct bytes rest)
{
    size_t prefix = make_prefix(walk);
    ASSERT(rest.size_bytes <= BASE_SLICE_BYTES);
    if (rest.size_bytes > 0) {
        memcpy(walk->stored + prefix, rest.data, rest.size_bytes);
    }
    return bytes_of(walk->stored, prefix + rest.size_bytes);
}

/* The lowest stored key above all keys of the layer. */
static struct bytes make_layer_end(struct base_walk *walk)
{
    size_t size = make_prefix(walk);
    for (size_t i = size; i > 0; i--) {
        walk->stored[i - 1]++;
        if (walk->stored[i - 1] != 0) {
            break;
        }
    }
    return bytes_of(walk->stored, size);
}

static bool is_in_layer(struct base_walk *walk, const struct hit *hit, struct bytes *ret_rest)
{
    if (!hit->found) {
        return false;
    }
    struct bytes prefix = bytes_of(walk->stored, make_prefix(walk));
    if (!bytes_starts_with(hit->key, prefix)) {
        return false;
    }
    *ret_rest = bytes_of(hit->key.data + prefix.size_bytes,
                         hit->key.size_bytes - prefix.size_bytes);
    return true;
}

/* Of the slices in the layer that the walk is in. */
static size_t slice_bytes(const struct base_walk *walk)
{
    return walk->depth == 0 ? BASE_SLICE_BYTES : BASE_SUBSLICE_BYTES;
}

static size_t path_bytes(const struct base_walk *walk)
{
    return base_path_bytes(walk->depth);
}

/* What is left of a key below the path, a slice at most. */
static struct bytes slice_of(const struct base_walk *walk, struct bytes key)
{
    size_t size = key.size_bytes - path_bytes(walk);
    size_t slice = slice_bytes(walk);
    return bytes_of(key.data + path_bytes(walk), size < slice ? size : slice);
}

/* --- links ------------------------------------------------------------------------------------ */

enum status base_link_check(struct bytes stored_key, struct bytes value, uint64_t *ret_number)
{
    if (value.size_bytes != LINK_BYTES) {
        return STATUS_CORRUPT;
    }
    const uint8_t *number = value.data + LINK_OFFSET_NUMBER;
    if (value.data[0] != BASE_FORMAT_LINK ||
        load_le32(value.data + LINK_OFFSET_CHECKSUM) !=
            checksum32(number, sizeof(uint64_t), base_seed(stored_key))) {
        return STATUS_CORRUPT;
    }
    *ret_number = load_le64(number);
    return STATUS_OK;
}

static void make_link(struct bytes stored_key, uint64_t number, uint8_t link[LINK_BYTES])
{
    link[0] = BASE_FORMAT_LINK;
    store_le64(link + LINK_OFFSET_NUMBER, number);
    store_le32(link + LINK_OFFSET_CHECKSUM,
               checksum32(link + LINK_OFFSET_NUMBER, sizeof number, base_seed(stored_key)));
}

/* How much of path and rest is row': up to the first 00. */
static size_t row_bytes(const struct base_walk *walk, struct bytes rest)
{
    size_t before = walk->depth > 0 ? walk->row_bytes_known[walk->depth - 1] : 0;
    const uint8_t *end = NULL;
    if (before < path_bytes(walk)) {
        return before;
    }
    if (rest.size_bytes > 0) {
        end = memchr(rest.data, 0, rest.size_bytes);
    }
    return before + (end != NULL ? (size_t)(end - rest.data) : rest.size_bytes);
}

/* Go down into a sublayer; slice must not be memory of the path. */
static enum status push(struct base_walk *walk, struct bytes slice, uint64_t number)
{
    if (walk->depth == BASE_DEPTH_MAX) {
        return STATUS_CORRUPT;
    }
    ASSERT(walk->path.size_bytes >= path_bytes(walk));
    walk->path.size_bytes = path_bytes(walk);
    walk->path.failed = false;
    buffer_append_bytes(&walk->path, slice);
    if (walk->path.failed) {
        return STATUS_NO_MEMORY;
    }
    walk->numbers[walk->depth] = number;
    walk->row_bytes_known[walk->depth] = (uint32_t)row_bytes(walk, slice);
    go_to_depth(walk, walk->depth + 1);
    return STATUS_OK;
}

/* Go up to where key's path and ours part. */
static void pop_to_common(struct base_walk *walk, struct bytes key)
{
    while (walk->depth > 0) {
        size_t size = path_bytes(walk);
        if (key.size_bytes >= size && memcmp(walk->path.data, key.data, size) == 0) {
            return;
        }
        go_to_depth(walk, walk->depth - 1);
    }
}

/* --- moves ------------------------------------------------------------------------------------ */

static enum status move(struct base_walk *walk,
                        enum kv_move move,
                        struct bytes key,
                        struct hit *hit)
{
    return kv_cursor_move(walk->cursor, move, key, &hit->key, &hit->value, &hit->found);
}

/* Stand on what was hit: the end of a key. */
static enum status stand_on(struct base_walk *walk, const struct hit *hit, struct bytes rest)
{
    walk->stored_key = hit->key;
    walk->value = hit->value;
    walk->key = rest;
    if (walk->depth > 0) {
        walk->path.size_bytes = path_bytes(walk);
        walk->path.failed = false;
        buffer_append_bytes(&walk->path, rest);
        if (walk->path.failed) {
            return STATUS_NO_MEMORY;
        }
        walk->key = buffer_bytes(&walk->path);
    }
    walk->row = bytes_of(walk->key.data, row_bytes(walk, rest));
    walk->found = true;
    walk->barred = false;
    return STATUS_OK;
}

/* Stand on a link that is damaged. */
static enum status stand_barred(struct base_walk *walk, const struct hit *hit, struct bytes slice)
{
    enum status status = stand_on(walk, hit, slice);
    walk->barred = status == STATUS_OK;
    walk->met_bar = walk->met_bar || walk->barred;
    return status;
}

/* What is looked for lies behind it. */
static enum status fail_barred(struct base_walk *walk, const struct hit *hit, struct bytes slice)
{
    enum status status = stand_barred(walk, hit, slice);
    walk->found = false;
    return status == STATUS_OK ? STATUS_CORRUPT : status;
}

/* Through a link to the first or last of its sublayer. */
static enum status enter(
    struct base_walk *walk, bool forward, struct bytes slice, uint64_t number, struct hit *hit)
{
    enum status status = push(walk, slice, number);
    if (status != STATUS_OK) {
        return status;
    }
    if (forward) {
        return move(walk, KV_SEEK, make_stored(walk, BYTES_EMPTY), hit);
    }
    status = move(walk, KV_SEEK, make_layer_end(walk), hit);
    return status != STATUS_OK ? status : move(walk, KV_PREVIOUS, BYTES_EMPTY, hit);
}

/* Out of a sublayer, past its link. */
static enum status leave(struct base_walk *walk, bool forward, struct hit *hit)
{
    go_to_depth(walk, walk->depth - 1);
    struct bytes link = make_stored(
        walk, bytes_of(walk->path.data + path_bytes(walk), slice_bytes(walk)));
    enum status status = move(walk, KV_SEEK, link, hit);
    if (status != STATUS_OK) {
        return status;
    }
    if (!forward) {
        return move(walk, KV_PREVIOUS, BYTES_EMPTY, hit);
    }
    if (hit->found && bytes_equal(hit->key, link)) {
        return move(walk, KV_NEXT, BYTES_EMPTY, hit);
    }
    return STATUS_OK;
}

/* From a hit to the nearest end of a key, across links and ends of layers. */
static enum status settle(struct base_walk *walk, bool forward, struct hit *hit)
{
    for (;;) {
        struct bytes rest;
        uint64_t number = 0;
        enum status status = STATUS_OK;
        if (is_in_layer(walk, hit, &rest)) {
            if (rest.size_bytes < slice_bytes(walk)) {
                return stand_on(walk, hit, rest);
            }
            if (base_link_check(hit->key, hit->value, &number) != STATUS_OK) {
                return stand_barred(walk, hit, rest);
            }
            status = enter(walk, forward, rest, number, hit);
        } else if (walk->depth > 0) {
            status = leave(walk, forward, hit);
        } else {
            return STATUS_OK;
        }
        if (status != STATUS_OK) {
            return status;
        }
    }
}

/* Down the slices of key to where it ends or leaves what is stored; *ret_hit is the first there. */
static enum status descend(struct base_walk *walk, struct bytes key, struct hit *ret_hit)
{
    for (;;) {
        struct bytes slice = slice_of(walk, key);
        struct bytes stored = make_stored(walk, slice);
        enum status status = move(walk, KV_SEEK, stored, ret_hit);
        if (status != STATUS_OK) {
            return status;
        }
        if (slice.size_bytes < slice_bytes(walk) || !ret_hit->found ||
            !bytes_equal(ret_hit->key, stored)) {
            return STATUS_OK;
        }
        uint64_t number = 0;
        if (base_link_check(ret_hit->key, ret_hit->value, &number) != STATUS_OK) {
            return fail_barred(walk, ret_hit, slice);
        }
        status = push(walk, slice, number);
        if (status != STATUS_OK) {
            return status;
        }
    }
}

/* The same from depth 0, over links that are remembered.  A recalled path is proved by a record in
 * the sublayer that it ends in: the hit, or the link that led below. */
static enum status descend_by_memory(struct base_walk *walk, struct bytes key, struct hit *ret_hit)
{
    struct base_trail trail;
    struct bytes rest;
    uint32_t missed = 0;
    base_links_recall(walk->store.links, walk, key, &trail);
    enum status status = descend(walk, key, ret_hit);
    if (trail.recalled > 0 && walk->depth == trail.recalled &&
        (status != STATUS_OK || !is_in_layer(walk, ret_hit, &rest))) {
        missed = trail.recalled;
        trail.recalled = 0;
        stand_nowhere(walk);
        go_to_depth(walk, 0);
        status = descend(walk, key, ret_hit);
    }
    if (status == STATUS_OK) {
        base_links_learn(walk->store.links, walk, &trail, missed);
    }
    return status;
}

enum status base_walk_seek(struct base_walk *walk, struct bytes key)
{
    struct hit hit = {0};
    stand_nowhere(walk);
    pop_to_common(walk, key);
    bool by_memory = walk->store.links != NULL && walk->depth == 0 &&
                     key.size_bytes >= BASE_SLICE_BYTES;
    enum status status = by_memory ? descend_by_memory(walk, key, &hit) : descend(walk, key, &hit);
    return status == STATUS_OK ? settle(walk, true, &hit) : status;
}

enum status base_walk_next(struct base_walk *walk)
{
    struct hit hit = {0};
    if (!walk->found) {
        return STATUS_OK;
    }
    stand_nowhere(walk);
    enum status status = move(walk, KV_NEXT, BYTES_EMPTY, &hit);
    return status != STATUS_OK ? status : settle(walk, true, &hit);
}

enum status base_walk_previous(struct base_walk *walk)
{
    struct hit hit = {0};
    if (!walk->found) {
        go_to_depth(walk, 0);
        enum status status = move(walk, KV_SEEK, make_layer_end(walk), &hit);
        if (status != STATUS_OK) {
            return status;
        }
    }
    stand_nowhere(walk);
    enum status status = move(walk, KV_PREVIOUS, BYTES_EMPTY, &hit);
    return status != STATUS_OK ? status : settle(walk, false, &hit);
}

/* --- writing ---------------------------------------------------------------------------------- */

static enum status make_sublayer(struct base_walk *walk, struct bytes stored, uint64_t *ret_number)
{
    uint8_t link[LINK_BYTES];
    make_link(stored, *walk->number_next, link);
    enum status status = kv_write_put(walk->store.write, stored, bytes_of(link, sizeof link));
    if (status == STATUS_OK) {
        *ret_number = *walk->number_next;
        (*walk->number_next)++;
        walk->delta_bytes += (int64_t)(stored.size_bytes + sizeof link);
    }
    return status;
}

enum status base_walk_resolve(struct base_walk *walk,
                              struct bytes key,
                              bool create,
                              struct bytes *ret_stored_key,
                              bool *ret_found)
{
    stand_nowhere(walk);
    pop_to_common(walk, key);
    while (key.size_bytes - path_bytes(walk) >= slice_bytes(walk)) {
        struct bytes slice = slice_of(walk, key);
        struct bytes stored = make_stored(walk, slice);
        struct bytes value;
        bool found = false;
        uint64_t number = 0;
        enum status status = kv_write_get(walk->store.write, stored, &value, &found);
        if (status == STATUS_OK && !found && !create) {
            *ret_found = false;
            return STATUS_OK;
        }
        if (status == STATUS_OK && found && base_link_check(stored, value, &number) != STATUS_OK) {
            const struct hit hit = {true, stored, value};
            return fail_barred(walk, &hit, slice);
        }
        if (status == STATUS_OK && !found) {
            status = make_sublayer(walk, stored, &number);
        }
        if (status == STATUS_OK) {
            status = push(walk, slice, number);
        }
        if (status != STATUS_OK) {
            return status;
        }
    }
    *ret_stored_key = make_stored(walk, slice_of(walk, key));
    *ret_found = true;
    return STATUS_OK;
}

enum status base_walk_put(struct base_walk *walk,
                          struct bytes stored_key,
                          struct bytes value,
                          size_t replaced_bytes)
{
    stand_nowhere(walk);
    enum status status = kv_write_put(walk->store.write, stored_key, value);
    if (status == STATUS_OK) {
        walk->delta_bytes += (int64_t)(stored_key.size_bytes + value.size_bytes);
        walk->delta_bytes -= (int64_t)replaced_bytes;
    }
    return status;
}

/* Take away links to sublayers that hold nothing any more, from where the walk is upwards. */
static enum status prune(struct base_walk *walk)
{
    while (walk->depth > 0) {
        struct hit hit = {0};
        struct bytes rest;
        enum status status = move(walk, KV_SEEK, make_stored(walk, BYTES_EMPTY), &hit);
        if (status != STATUS_OK || is_in_layer(walk, &hit, &rest)) {
            return status;
        }
        go_to_depth(walk, walk->depth - 1);
        struct bytes link = make_stored(
            walk, bytes_of(walk->path.data + path_bytes(walk), slice_bytes(walk)));
        bool found = false;
        status = kv_write_delete(walk->store.write, link, &found);
        if (status != STATUS_OK) {
            return status;
        }
        walk->delta_bytes -= found ? (int64_t)(link.size_bytes + LINK_BYTES) : 0;
    }
    return STATUS_OK;
}

enum status base_walk_delete(struct base_walk *walk, struct bytes key, size_t value_bytes)
{
    struct bytes stored;
    bool found = false;
    enum status status = base_walk_resolve(walk, key, false, &stored, &found);
    if (status != STATUS_OK || !found) {
        return status;
    }
    status = kv_write_delete(walk->store.write, stored, &found);
    if (status != STATUS_OK || !found) {
        return status;
    }
    walk->delta_bytes -= (int64_t)(stored.size_bytes + value_bytes);
    return prune(walk);
}

bool base_walk_bars_only(const struct base_walk *walk, struct bytes start, struct bytes end)
{
    bool is_in_row = walk->row.size_bytes < walk->key.size_bytes;
    if (!walk->barred || bytes_compare(walk->row, start) < 0) {
        return false;
    }
    return end.size_bytes == 0 ||
           (bytes_compare(walk->row, end) < 0 && (is_in_row || !bytes_starts_with(end, walk->row)));
}

enum status base_walk_erase_bar(struct base_walk *walk)
{
    uint8_t data[KV_KEY_BYTES_MAX];
    struct bytes link = bytes_of(data, walk->stored_key.size_bytes);
    int64_t bytes = (int64_t)(link.size_bytes + walk->value.size_bytes);
    bool found = false;
    ASSERT(walk->barred);
    memcpy(data, walk->stored_key.data, link.size_bytes);
    stand_nowhere(walk);
    enum status status = kv_write_delete(walk->store.write, link, &found);
    if (status != STATUS_OK || !found) {
        return status;
    }
    walk->delta_bytes -= bytes;
    return prune(walk);
}
