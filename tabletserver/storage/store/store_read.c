/*
 * Reading without blocking: one capture, one snapshot, one check.
 *
 *   1 capture    under the tablet's mutex: the sequence R, the layers, pieces, range deletes; the
 *                read is registered, so nothing above the oldest R is folded away
 *   2 snapshot   an LMDB read transaction
 *   3 check      from the snapshot itself: the applied map.  If anything above R is in the base, a
 *                memtable that we captured half full was flushed meanwhile: begin again.
 *
 * The map also says how much of each frozen memtable is in the base: with the data, from the same
 * transaction, so an entry is taken from one of the two and never from both.  A memtable dropped
 * before the capture is wholly in any later snapshot; one dropped after it is still referenced.
 */
#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tabletserver/storage/rows/range_cursor.h"
#include "tabletserver/storage/store/store_internal.h"

#define READ_ARENA_BLOCK_BYTES 2048
#define READ_RETRIES_MAX       1000

void (*store_read_between)(void *context);
void *store_read_between_context;

/* What step 1 takes along. */
struct capture {
    struct store_layer *layers[STORE_LAYERS_MAX];
    uint64_t last_sequences[STORE_LAYERS_MAX]; /* that the read may want of them */
    uint32_t layer_count;
    uint64_t tablets[1 + STORE_LINEAGE_MAX]; /* whose applied map holds: the first that is there */
    uint32_t tablet_count;
    uint64_t freeze_count;
};

void store_read_register(struct store_read *read)
{
    struct store_tablet *tablet = read->tablet;
    read->newer = NULL;
    read->older = tablet->reads;
    if (tablet->reads != NULL) {
        tablet->reads->newer = read;
    }
    tablet->reads = read;
}

void store_read_unregister(struct store_read *read)
{
    struct store_tablet *tablet = read->tablet;
    (void)pthread_mutex_lock(&tablet->mutex);
    if (read->newer != NULL) {
        read->newer->older = read->older;
    } else {
        tablet->reads = read->older;
    }
    if (read->older != NULL) {
        read->older->newer = read->newer;
    }
    (void)pthread_mutex_unlock(&tablet->mutex);
}

uint64_t store_read_floor(const struct store_tablet *tablet)
{
    uint64_t floor = store_tablet_committed(tablet);
    for (const struct store_read *read = tablet->reads; read != NULL; read = read->older) {
        floor = read->sequence < floor ? read->sequence : floor;
    }
    return floor;
}

static enum status capture(struct store_read *read, enum store_read_point point, struct capture *to)
{
    struct store_tablet *tablet = read->tablet;
    (void)pthread_mutex_lock(&tablet->mutex);
    enum store_tablet_state state = atomic_load(&tablet->state);
    if (state == STORE_TABLET_SPLIT || state == STORE_TABLET_DROPPING) {
        (void)pthread_mutex_unlock(&tablet->mutex);
        return STATUS_NOT_OWNER;
    }
    /* The clock first: what lies above R is then stamped later, for certain (store_append.c). */
    read->clock = atomic_load(&tablet->clock);
    read->sequence = point == STORE_READ_COMMITTED ? store_tablet_committed(tablet)
                                                   : store_tablet_prepared(tablet);
    read->pieces = store_pieces_ref(tablet->pieces);
    read->range_deletes = store_range_deletes_ref(tablet->range_deletes);
    to->layer_count = tablet->layer_count;
    for (uint32_t i = 0; i < tablet->layer_count; i++) {
        to->layers[i] = store_layer_ref(tablet->layers[i]);
        /* The active one may freeze and be flushed before the snapshot; what of it we want ends
         * with R, for if it had more and were in the base, we would begin again. */
        to->last_sequences[i] = i == 0 ? read->sequence : tablet->layers[i]->last_sequence;
    }
    to->tablets[0] = tablet->descriptor.tablet;
    to->tablet_count = 1;
    for (uint32_t i = 0; i < tablet->lineage_count; i++) {
        to->tablets[to->tablet_count++] = tablet->lineage[i];
    }
    to->freeze_count = atomic_load(&tablet->freeze_count);
    store_read_register(read);
    (void)pthread_mutex_unlock(&tablet->mutex);
    return STATUS_OK;
}

static void release_layers(struct store *store, struct capture *capture)
{
    for (uint32_t i = 0; i < capture->layer_count; i++) {
        store_layer_unref(store, capture->layers[i]);
    }
    capture->layer_count = 0;
}

/* Undo what a capture has done so far. */
static void let_go(struct store_read *read)
{
    if (read->snapshot != NULL) {
        base_snapshot_end(read->snapshot);
        read->snapshot = NULL;
    }
    store_read_unregister(read);
    store_pieces_unref(read->pieces);
    store_range_deletes_unref(read->range_deletes);
    read->pieces = NULL;
    read->range_deletes = NULL;
    arena_reset(&read->arena);
}

/* The applied map that holds in the snapshot.  STATUS_ABORTED: begin again. */
static enum status check(struct store_read *read,
                         const struct capture *capture,
                         struct applied_map *ret_map)
{
    struct bytes image = BYTES_EMPTY;
    bool found = false;
    for (uint32_t i = 0; i < capture->tablet_count && !found; i++) {
        struct store_meta_key key = store_meta_key(STORE_META_APPLIED, capture->tablets[i], 0);
        enum status status = base_meta_get(read->snapshot, store_meta_key_bytes(&key), &image,
                                           &found);
        if (status != STATUS_OK) {
            return status;
        }
    }
    if (!found) {
        return STATUS_NOT_OWNER; /* split or dropped since the capture */
    }
    enum status status = applied_map_decode(image, &read->arena, ret_map, NULL);
    if (status != STATUS_OK) {
        return status;
    }
    return applied_map_highest(ret_map) > read->sequence ? STATUS_ABORTED : STATUS_OK;
}

/* Nothing frozen was captured and nothing has frozen since: the base holds nothing above R. */
static bool is_quiet(struct store_tablet *tablet, const struct capture *capture)
{
    return capture->layer_count == 1 && atomic_load(&tablet->freeze_count) == capture->freeze_count;
}

/* Those that the read may see, in its arena. */
static enum status choose_range_deletes(struct store_read *read, struct row_reader_options *options)
{
    const struct store_range_deletes *all = read->range_deletes;
    if (all->count == 0) {
        return STATUS_OK;
    }
    struct range_delete *visible = arena_allocate_array(&read->arena, all->count, sizeof *visible);
    if (visible == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->deletes[i].sequence <= read->sequence) {
            visible[options->range_delete_count++] = all->deletes[i];
        }
    }
    options->range_deletes = visible;
    return STATUS_OK;
}

static void close_layers(struct row_reader_options *options)
{
    for (uint32_t i = 0; i < options->layer_count; i++) {
        struct layer_cursor *cursor = options->layers[i].cursor;
        cursor->operations->close(cursor);
    }
    options->layer_count = 0;
}

/* A cursor over a captured memtable, unless all of it is in the base already. */
static enum status open_layer(struct store_read *read,
                              const struct store_layer *layer,
                              uint64_t last_sequence,
                              const struct applied_map *map,
                              struct row_reader_options *options)
{
    struct tablet_position flushed = {0};
    if (map != NULL) {
        flushed = applied_map_prefix(map, last_sequence);
        if (flushed.everything) {
            return STATUS_OK;
        }
    }
    struct layer_cursor *cursor = NULL;
    enum status status = memtable_cursor_open(layer->memtable, read->sequence, &cursor);
    if (status == STATUS_OK && layer->owner != read->tablet->descriptor.tablet) {
        status = range_cursor_open(cursor, &read->tablet->descriptor.range, &cursor);
    }
    if (status == STATUS_OK) {
        options->layers[options->layer_count++] = (struct row_reader_layer){cursor, flushed};
    }
    return status;
}

static enum status open_reader(struct store_read *read,
                               const struct capture *capture,
                               const struct applied_map *map,
                               struct row_reader_options *options)
{
    enum status status = choose_range_deletes(read, options);
    for (uint32_t i = 0; i < capture->layer_count && status == STATUS_OK; i++) {
        status = open_layer(read, capture->layers[i], capture->last_sequences[i], map, options);
    }
    if (status == STATUS_OK) {
        struct layer_cursor *cursor = NULL;
        status = base_cursor_open(read->snapshot, read->pieces->pieces, read->pieces->count,
                                  &cursor);
        if (status == STATUS_OK) {
            options->layers[options->layer_count++] = (struct row_reader_layer){.cursor = cursor};
        }
    }
    if (status != STATUS_OK) {
        close_layers(options);
        return status;
    }
    row_reader_open(read->reader, options);
    return STATUS_OK;
}

static enum status attempt(struct store_read *read,
                           enum store_read_point point,
                           const struct table *table,
                           int64_t now_us)
{
    struct store *store = read->tablet->store;
    struct capture captured = {0};
    enum status status = capture(read, point, &captured);
    if (status != STATUS_OK) {
        return status;
    }
    if (store_read_between != NULL) {
        store_read_between(store_read_between_context);
    }
    status = base_snapshot_begin(store->base, &read->snapshot);
    struct applied_map map;
    bool quiet = status == STATUS_OK && is_quiet(read->tablet, &captured);
    if (status == STATUS_OK && !quiet) {
        status = check(read, &captured, &map);
    }
    if (status == STATUS_OK) {
        struct row_reader_options options = {.table = table, .now_us = now_us};
        status = open_reader(read, &captured, quiet ? NULL : &map, &options);
    }
    release_layers(store, &captured);
    if (status != STATUS_OK) {
        let_go(read);
    }
    return status;
}

/* --- memory ----------------------------------------------------------------------------------- */

static void read_destroy(struct store_read *read)
{
    row_reader_destroy(read->reader);
    arena_deinit(&read->arena);
    memory_free(read);
}

void store_spare_reads_init(struct store_spare_reads *spares)
{
    *spares = (struct store_spare_reads){.count = 0};
    (void)pthread_mutex_init(&spares->lock, NULL);
}

void store_spare_reads_deinit(struct store_spare_reads *spares)
{
    for (uint32_t i = 0; i < spares->count; i++) {
        read_destroy(spares->reads[i]);
    }
    (void)pthread_mutex_destroy(&spares->lock);
}

static void give_spare(struct store_spare_reads *spares, struct store_read *read)
{
    (void)pthread_mutex_lock(&spares->lock);
    bool given = spares->count < STORE_SPARE_READS_MAX;
    if (given) {
        spares->reads[spares->count++] = read;
    }
    (void)pthread_mutex_unlock(&spares->lock);
    if (!given) {
        read_destroy(read);
    }
}

/* One that may have been used; its tablet, snapshot and the like are for the caller to set. */
static struct store_read *take_spare(struct store_spare_reads *spares)
{
    struct store_read *read = NULL;
    (void)pthread_mutex_lock(&spares->lock);
    if (spares->count > 0) {
        read = spares->reads[--spares->count];
    }
    (void)pthread_mutex_unlock(&spares->lock);
    if (read != NULL) {
        return read;
    }
    read = memory_allocate_zeroed(1, sizeof *read);
    if (read == NULL) {
        return NULL;
    }
    arena_init(&read->arena, READ_ARENA_BLOCK_BYTES, SIZE_MAX);
    read->reader = row_reader_create();
    if (read->reader == NULL) {
        memory_free(read);
        return NULL;
    }
    return read;
}

/* --- beginning and ending --------------------------------------------------------------------- */

enum status store_read_begin(struct store_tablet *tablet,
                             const struct table *table,
                             enum store_read_point point,
                             int64_t now_us,
                             struct store_read **ret_read)
{
    struct store_spare_reads *spares = &tablet->store->spare_reads;
    struct store_read *read = take_spare(spares);
    if (read == NULL) {
        return STATUS_NO_MEMORY;
    }
    read->tablet = tablet;
    /* Each retry means that a whole memtable froze between two steps of ours: a few at most. */
    enum status status = STATUS_ABORTED;
    for (int i = 0; i < READ_RETRIES_MAX && status == STATUS_ABORTED; i++) {
        status = attempt(read, point, table, now_us);
    }
    if (status != STATUS_OK) {
        give_spare(spares, read);
        return status;
    }
    store_tablet_ref(tablet);
    *ret_read = read;
    return STATUS_OK;
}

struct row_reader *store_read_reader(struct store_read *read)
{
    return read->reader;
}

enum status store_read_explain(const struct store_read *read,
                               enum status status,
                               struct error *ret_error)
{
    const char *trouble = base_snapshot_trouble(read->snapshot);
    if (status != STATUS_CORRUPT || trouble[0] == '\0') {
        return status;
    }
    return error_set(ret_error, status, "store %s: %s", read->tablet->store->folder, trouble);
}

void store_read_end(struct store_read *read)
{
    struct store_tablet *tablet = read->tablet;
    const char *trouble = base_snapshot_trouble(read->snapshot);
    if (trouble[0] != '\0') {
        store_trouble_note_damage(tablet, 1, "read", trouble);
    }
    row_reader_close(read->reader);
    let_go(read);
    give_spare(&tablet->store->spare_reads, read);
    store_tablet_unref(tablet);
}
