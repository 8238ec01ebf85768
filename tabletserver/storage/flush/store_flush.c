/*
 * Flushing: one transaction a step.
 *
 * Each takes up where the applied map ends, writes entries until the transaction has dirtied its
 * share of pages, and commits them together with the map moved on.  Rows may be larger than a
 * transaction, so a cut may fall inside a row, at any cell.  The transaction that reaches the end
 * also carries the tablet's metadata and exactly-once records as of the freeze.
 */
#include "tabletserver/storage/flush/store_flush.h"
#include "common/base/assert.h"
#include "tabletserver/storage/copies/store_copies.h"
#include "tabletserver/storage/flush/flush_choice.h"
#include "tabletserver/storage/flush/flush_rescue.h"
#include "tabletserver/storage/store/store_append.h"
#include "tabletserver/storage/store/store_forsake.h"
#include "tabletserver/storage/store/store_held.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/store/store_split.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

#define DIRTY_CHECK_ENTRIES 32
#define DIRTY_CHECK_BYTES   (64 * 1024)
#define DIRTY_CHECKS_MIN    16 /* in a transaction, however small it is to be */
#define PAGE_BYTES          4096
#define RUN_ARENA_BYTES     4096

/* One transaction in the making. */
struct run {
    struct store_tablet *tablet;
    struct store_layer *layer;
    struct base_writer *writer;
    struct layer_cursor *cursor;
    struct store_pieces *pieces;
    struct store_range_deletes *deletes;
    struct store_schema *schema; /* NULL: nobody has said what the table looks like */
    struct flush_rescue rescue;  /* of one that has met damage before */
    struct arena arena;
    struct applied_map map;
    struct tablet_position from;
    struct tablet_position reached; /* bytes live as long as the cursor is not moved */
    struct stamp later_delete;      /* of the row; STAMP_OLDEST = there is none */
    bool row_barred;                /* what that kills cannot be put */
    uint64_t transaction_bytes;
    uint64_t rows_ended;
    uint32_t piece;
    uint32_t entries_unchecked;
    uint64_t bytes_unchecked;
    uint64_t entries;
};

/* --- writing entries ------------------------------------------------------------------------------ */

/*
 * What is of a family that the table no longer has stays out of the base.  Garbage collection looks
 * for such cells once after a change of the schema, so none may come later: a flush that began
 * before the change is over when that pass looks, since both are the work thread's.
 */
static bool is_of_dropped_family(const struct run *run, const struct entry *entry)
{
    const struct table *table = run->schema != NULL ? &run->schema->table : NULL;
    return table != NULL && entry->family != 0 && entry->family < table->family_number_next &&
           table_family_by_number(table, entry->family) == NULL;
}

static const struct base_piece *find_piece(struct run *run, struct bytes row)
{
    while (!row_range_contains(&run->pieces->pieces[run->piece].range, row)) {
        run->piece++;
        ASSERT(run->piece < run->pieces->count); /* pieces cover the tablet, rows ascend */
    }
    return &run->pieces->pieces[run->piece];
}

static void count(struct run *run, const struct entry *entry)
{
    run->entries++;
    run->entries_unchecked++;
    run->bytes_unchecked += entry->value.size_bytes;
}

static enum status put(struct run *run, struct bytes row, const struct entry *entry)
{
    if (is_of_dropped_family(run, entry)) {
        return STATUS_OK;
    }
    const struct base_piece *piece = find_piece(run, row);
    count(run, entry);
    return base_writer_put(run->writer, piece->extent, row, entry);
}

/* A delete of the row that is younger than all that the base has of it, and, if `also` is not NULL, of those rows. */
static enum status put_youngest(struct run *run,
                                struct bytes row,
                                const struct entry *row_delete,
                                const struct row_range *also)
{
    struct row_range inside; /* other pieces of the extent may be other tablets' */
    const struct base_piece *piece = find_piece(run, row);
    bool some = also != NULL && row_range_intersect(also, &piece->range, &inside);
    count(run, row_delete);
    return base_writer_put_youngest(run->writer, piece->extent, row, row_delete,
                                    some ? &inside : NULL);
}

/* Dirty bytes for this transaction.  The log's syncs wait behind its own, so as long as flushing
 * keeps up it is a small one. */
static uint64_t transaction_bytes(struct store *store)
{
    const struct flush_pace pace = store_flush_pace(store);
    uint64_t most_bytes = store->settings.flush_transaction_bytes;
    return store_flush_lags(store) ? most_bytes : flush_pace_transaction_bytes(&pace, most_bytes);
}

/* Has the transaction had its share? */
static bool is_enough(struct run *run)
{
    uint64_t share = run->transaction_bytes / DIRTY_CHECKS_MIN;
    if (run->entries == 0 ||
        (run->entries_unchecked < DIRTY_CHECK_ENTRIES &&
         run->entries_unchecked * PAGE_BYTES < share && run->bytes_unchecked < share &&
         run->bytes_unchecked < DIRTY_CHECK_BYTES)) {
        return false;
    }
    run->entries_unchecked = 0;
    run->bytes_unchecked = 0;
    return base_writer_dirty_bytes(run->writer) >= run->transaction_bytes;
}

/*
 * Rows written after a DropRowRange that still waits to be erased: the row's dead cells must die
 * before newer ones join their chunks.  All of this layer is newer than any such range delete, for
 * each of them began a layer.
 */
static enum status put_range_delete(struct run *run, struct bytes row, const struct entry *first)
{
    struct entry delete = {.kind = ENTRY_ROW_DELETE};
    bool found = false;
    for (uint32_t i = 0; i < run->deletes->count; i++) {
        const struct range_delete *each = &run->deletes->deletes[i];
        if (each->sequence <= run->layer->last_sequence && row_range_contains(&each->range, row) &&
            (!found || stamp_compare(each->stamp, delete.stamp) > 0)) {
            delete.stamp = each->stamp;
            found = true;
        }
    }
    return found && first->kind != ENTRY_ROW_DELETE ? put(run, row, &delete) : STATUS_OK;
}

/* A delete of the row that came later takes along what cannot be read of it (flush_rescue.h). */
static enum status put_later_delete(struct run *run, struct bytes row)
{
    struct flush_rescue_delete later = {.of_range = NULL};
    bool found = false;
    enum status status = flush_rescue_find(&run->rescue, row, &later, &found);
    run->later_delete = found ? later.stamp : STAMP_OLDEST;
    run->row_barred = false;
    if (status != STATUS_OK || !found) {
        return status;
    }
    const struct entry delete = {.kind = ENTRY_ROW_DELETE, .stamp = later.stamp};
    const struct range_delete *of_range = later.of_range;
    if (of_range != NULL && of_range->sequence <= applied_map_highest(&run->map)) {
        return put(run, row, &delete); /* rows in it may have been written since */
    }
    return put_youngest(run, row, &delete, of_range != NULL ? &of_range->range : NULL);
}

/* What this layer has of a row is younger than what the base has.  Where a damaged link bars the way what is dead by then
 * is left out: nothing waits for it. */
static enum status put_own(struct run *run, struct bytes row, const struct entry *entry)
{
    bool is_dead = stamp_compare(entry->stamp, run->later_delete) < 0;
    if (is_dead && run->row_barred) {
        return STATUS_OK;
    }
    enum status status = entry->kind == ENTRY_ROW_DELETE ? put_youngest(run, row, entry, NULL)
                                                         : put(run, row, entry);
    run->row_barred = is_dead && status == STATUS_CORRUPT && base_writer_is_barred(run->writer);
    return run->row_barred ? STATUS_OK : status;
}

/* The entries of one row from `from` on; *ret_cut: enough, run->reached says where. */
static enum status put_row(struct run *run, struct bytes row, bool resumed, bool *ret_cut)
{
    struct layer_cursor *cursor = run->cursor;
    enum status status = cursor->operations->seek_entry(
        cursor, resumed ? run->from.family : 0, resumed ? run->from.qualifier : BYTES_EMPTY);
    bool first = !resumed;
    bool begun = false;
    struct entry last = {.kind = ENTRY_ERASE};
    while (status == STATUS_OK) {
        struct entry entry;
        bool found = false;
        status = cursor->operations->next_entry(cursor, &entry, &found);
        if (status != STATUS_OK || !found) {
            return status;
        }
        struct tablet_position position = tablet_position_of(row, &entry);
        if (resumed && tablet_position_compare(&position, &run->from) < 0) {
            continue;
        }
        /* Deletes of one column share a position: the first of them may be cut at, not the
         * others. */
        bool may_cut = first || entry.kind != ENTRY_COLUMN_DELETE ||
                       last.kind != ENTRY_COLUMN_DELETE || last.family != entry.family ||
                       !bytes_equal(last.qualifier, entry.qualifier);
        last = entry;
        if (may_cut && is_enough(run)) {
            run->reached = first ? tablet_position_of_row(row) : position;
            *ret_cut = true;
            return STATUS_OK;
        }
        if (!begun) {
            status = put_later_delete(run, row);
            begun = true;
        }
        if (status == STATUS_OK && first) {
            status = put_range_delete(run, row, &entry);
            first = false;
        }
        if (status == STATUS_OK) {
            status = put_own(run, row, &entry);
        }
    }
    return status;
}

static enum status put_entries(struct run *run)
{
    struct layer_cursor *cursor = run->cursor;
    struct bytes row = BYTES_EMPTY;
    bool found = false;
    enum status status = cursor->operations->seek_row(cursor, ROW_AT_OR_AFTER, run->from.row, &row,
                                                      &found);
    bool resumed = status == STATUS_OK && found && run->from.family != 0 &&
                   bytes_equal(row, run->from.row);
    bool cut = false;
    while (status == STATUS_OK && found) {
        status = put_row(run, row, resumed, &cut);
        if (status != STATUS_OK || cut) {
            return status;
        }
        resumed = false;
        run->rows_ended++;
        status = cursor->operations->seek_row(cursor, ROW_AFTER, row, &row, &found);
    }
    run->reached = (struct tablet_position){.everything = true};
    return status;
}

/* Is it the layer that ends the tablet?  (It was not chosen before it might.) */
static bool ends_tablet(const struct run *run)
{
    return atomic_load(&run->tablet->state) == STORE_TABLET_SPLIT &&
           run->layer->last_sequence == run->tablet->split.ending_sequence;
}

/* --- one transaction ------------------------------------------------------------------------------ */

/* The layer is in: the tablet as of its last record. */
static enum status put_end(struct run *run, uint32_t *ret_dedupe_pieces)
{
    struct store_tablet *tablet = run->tablet;
    struct store_layer *layer = run->layer;
    enum status status = STATUS_OK;
    if (ends_tablet(run)) {
        status = store_split_write(run->writer, tablet);
    } else {
        status = store_put_dedupe(run->writer, tablet->descriptor.tablet,
                                  buffer_bytes(&layer->dedupe), tablet->dedupe_piece_count,
                                  ret_dedupe_pieces);
        if (status == STATUS_OK) {
            status = store_put_tablet_meta(run->writer, tablet, layer->last_sequence, layer->clock,
                                           *ret_dedupe_pieces);
        }
    }
    return status == STATUS_OK ? store_put_store_meta(run->writer, tablet->store, layer->clock)
                               : status;
}

/* Move the map on, and with the last entry everything else; the new map's image is in *applied. */
static enum status put_meta(struct run *run, struct buffer *applied, uint32_t *ret_dedupe_pieces)
{
    static const struct tablet_position start;
    struct applied_map map;
    enum status status = applied_map_raise(&run->arena, &run->map, &start, &run->reached,
                                           run->layer->last_sequence, &map);
    if (status != STATUS_OK) {
        return status;
    }
    applied_map_encode(&map, applied);
    if (applied->failed) {
        return STATUS_NO_MEMORY;
    }
    status = store_put_applied(run->writer, run->tablet->descriptor.tablet, applied);
    return status == STATUS_OK && run->reached.everything ? put_end(run, ret_dedupe_pieces)
                                                          : status;
}

static enum status prepare(struct run *run)
{
    struct store_tablet *tablet = run->tablet;
    enum status status = applied_map_decode(buffer_bytes(&tablet->applied), &run->arena, &run->map,
                                            NULL);
    if (status != STATUS_OK) {
        return status;
    }
    run->from = applied_map_prefix(&run->map, run->layer->last_sequence);
    run->schema = store_schema_find(tablet->store, tablet->descriptor.table);
    (void)pthread_mutex_lock(&tablet->mutex);
    run->pieces = store_pieces_ref(tablet->pieces);
    run->deletes = store_range_deletes_ref(tablet->range_deletes);
    (void)pthread_mutex_unlock(&tablet->mutex);
    if (atomic_load(&tablet->flush_stuck)) {
        status = flush_rescue_open(&run->rescue, tablet, run->layer);
    }
    if (status == STATUS_OK) {
        status = memtable_cursor_open(run->layer->memtable, run->layer->last_sequence,
                                      &run->cursor);
    }
    return status == STATUS_OK ? base_writer_begin(tablet->store->base, &run->writer) : status;
}

static void release(struct run *run)
{
    if (run->writer != NULL) {
        base_writer_abort(run->writer);
    }
    if (run->cursor != NULL) {
        run->cursor->operations->close(run->cursor);
    }
    flush_rescue_close(&run->rescue);
    if (run->pieces != NULL) {
        store_pieces_unref(run->pieces);
        store_range_deletes_unref(run->deletes);
    }
    if (run->schema != NULL) {
        store_schema_unref(run->schema);
    }
    arena_deinit(&run->arena);
}

/* The transaction is durable: what the tablet knows of the base moves on with it. */
static void note_success(struct run *run, struct buffer *applied, uint32_t dedupe_pieces)
{
    struct store_tablet *tablet = run->tablet;
    struct store *store = tablet->store;
    struct buffer old = tablet->applied;
    tablet->applied = *applied;
    *applied = old;
    tablet->applied_whole = run->reached.everything;
    struct flush_event event = {.kind = FLUSH_EVENT_ADVANCED};
    if (run->reached.everything) {
        event.kind = FLUSH_EVENT_FINISHED;
        if (atomic_exchange(&tablet->flush_stuck, false)) {
            store_held_forget(store, tablet->descriptor.tablet);
        }
        tablet->dedupe_piece_count = dedupe_pieces;
        store_note_meta_written(tablet);
        tablet->flushed_sequence = run->layer->last_sequence;
        atomic_store(&tablet->flushed_clock, run->layer->clock);
        tablet->estimate_due = true;
        tablet->sweep.due = true;
        atomic_fetch_add(&tablet->row_estimate, memtable_row_count(run->layer->memtable));
        atomic_fetch_add(&tablet->flush_count, 1);
        atomic_fetch_add(&store->flushes, 1);
    }
    (void)pthread_mutex_lock(&tablet->mutex);
    enum flush_effect effect = flush_progress_step(&tablet->progress, &event);
    flush_progress_check(&tablet->progress);
    (void)pthread_mutex_unlock(&tablet->mutex);
    atomic_fetch_add(&store->flush_transactions, 1);
    run->layer->rows_flushed += run->rows_ended;
    if (effect == FLUSH_DROP || effect == FLUSH_DROP_AND_RUN) {
        store_tell(store, &run->layer->event);
    }
    if (run->reached.everything && ends_tablet(run)) {
        store_split_note_written(tablet);
    } else if (run->reached.everything) {
        store_note_untidy(tablet);
    }
}

/* Nothing waits for it, but the tablet's other copies, or whoever operates it, are to know. */
static void note_bar(struct store_tablet *tablet)
{
    (void)store_trouble_note(tablet->store, STATUS_CORRUPT, "base");
    store_trouble_mark_damaged(tablet);
}

static void note_failure(struct store_tablet *tablet)
{
    struct flush_event event = {.kind = FLUSH_EVENT_FAILED};
    (void)pthread_mutex_lock(&tablet->mutex);
    (void)flush_progress_step(&tablet->progress, &event);
    (void)pthread_mutex_unlock(&tablet->mutex);
}

static enum status flush_transaction(struct store_tablet *tablet, struct store_layer *layer)
{
    struct run run = {
        .tablet = tablet, .layer = layer, .transaction_bytes = transaction_bytes(tablet->store)};
    struct buffer applied = BUFFER_INIT;
    uint32_t dedupe_pieces = 0;
    uint64_t dirty_bytes = 0;
    bool met_bar = false;
    arena_init(&run.arena, RUN_ARENA_BYTES, SIZE_MAX);
    /* Held until the loop has let the layer go. */
    layer->event = (struct store_event){.kind = STORE_EVENT_LAYER_FLUSHED, .subject = layer};
    enum status status = prepare(&run);
    if (status == STATUS_OK) {
        run.reached = run.from;
        status = run.from.everything ? STATUS_OK : put_entries(&run);
    }
    if (status == STATUS_OK && run.reached.family != 0) {
        status = base_writer_settle(run.writer); /* the row goes on in the next one */
    }
    if (status == STATUS_OK) {
        status = put_meta(&run, &applied, &dedupe_pieces);
    }
    if (status == STATUS_OK) {
        dirty_bytes = base_writer_dirty_bytes(run.writer);
        met_bar = base_writer_met_bar(run.writer);
        struct base_writer *writer = run.writer;
        run.writer = NULL;
        status = base_writer_commit(writer);
    }
    if (status == STATUS_OK) {
        atomic_fetch_add(&tablet->store->flush_bytes, dirty_bytes);
        note_success(&run, &applied, dedupe_pieces);
    } else {
        note_failure(tablet);
    }
    if (status == STATUS_OK && met_bar) {
        note_bar(tablet);
    }
    if (status == STATUS_CORRUPT) {
        store_held_note(tablet, run.writer != NULL ? base_writer_row(run.writer) : BYTES_EMPTY);
    }
    release(&run);
    buffer_deinit(&applied);
    return status;
}

/* What nobody wants any more is not flushed. */
static enum status flush_or_forsake(struct store_tablet *tablet, struct store_layer *layer)
{
    if (!store_is_forsaken(tablet)) {
        return flush_transaction(tablet, layer);
    }
    enum status status = store_forsake(tablet);
    if (status != STATUS_OK) {
        note_failure(tablet);
    }
    return status;
}

enum status store_flush_step(struct store *store, bool *ret_worked)
{
    enum status asked = store_metas_step(store, ret_worked);
    if (asked != STATUS_OK || *ret_worked) {
        return asked;
    }
    struct flush_choice choice = flush_choose(store);
    *ret_worked = choice.tablet != NULL;
    if (choice.tablet == NULL) {
        return STATUS_OK;
    }
    enum status status = flush_or_forsake(choice.tablet, choice.layer);
    if (status == STATUS_CORRUPT) {
        flush_rescue_note_stuck(choice.tablet);
        atomic_store(&store->flush_stuck, true);
        store_trouble_mark_damaged(choice.tablet);
    }
    if (status == STATUS_OK) {
        flush_note_progress(store, &choice);
    }
    flush_choice_release(store, &choice);
    return status;
}

void store_flush_retry(struct store *store)
{
    struct flush_event event = {.kind = FLUSH_EVENT_RETRY};
    (void)pthread_mutex_lock(&store->mutex);
    for (struct store_queue_node *node = store->frozen.first; node != NULL; node = node->next) {
        struct store_tablet *tablet = node->tablet;
        (void)pthread_mutex_lock(&tablet->mutex);
        (void)flush_progress_step(&tablet->progress, &event);
        (void)pthread_mutex_unlock(&tablet->mutex);
    }
    (void)pthread_mutex_unlock(&store->mutex);
}

static uint64_t pending_of(struct store_tablet *tablet)
{
    (void)pthread_mutex_lock(&tablet->mutex);
    uint64_t count = tablet->progress.frozen_count;
    (void)pthread_mutex_unlock(&tablet->mutex);
    return count;
}

uint64_t store_flushes_pending(struct store *store)
{
    uint64_t count = 0;
    (void)pthread_mutex_lock(&store->mutex);
    for (struct store_queue_node *node = store->frozen.first; node != NULL; node = node->next) {
        count += pending_of(node->tablet);
    }
    (void)pthread_mutex_unlock(&store->mutex);
    for (uint32_t i = 0; store->flush_wanted && i < store->tablet_count; i++) {
        count += store->tablets[i]->flush_wanted ? 1 : 0;
    }
    for (struct store_tablet *t = store->hidden; t != NULL; t = t->hidden_next) {
        count += atomic_load(&t->state) == STORE_TABLET_SPLIT ? 1 : 0;
    }
    return count;
}
