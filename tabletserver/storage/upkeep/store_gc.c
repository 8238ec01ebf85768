/*
 * Garbage collection: one pass per tablet and interval, in small steps on the work thread.
 *
 *   HORIZONS   what an age rule alone has expired for good is said in the log: cells of the family
 *              older than a horizon.  Replicas then drop the same cells, whatever their clocks say.
 *   ERASE      cells in the base below a logged, committed horizon are erased, and so are cells of
 *              families that the table no longer has.  A horizon counts as long as the schema does
 *              that it came from: under a laxer rule, cells below it may be written and shall stay
 *   VERSIONS   what other rules drop is removed by ordinary deletes, logged like a client's
 *
 * Of a tablet with copies only who leads it says and removes; each erases by itself what it was told.
 *
 * None of it is needed for what reads show: they hide what has expired.  The log's records are
 * appended by the loop (store_collect.c), since all appends are.
 *
 * Of an aggregate cell that has expired the part in the base may go before what was added since and
 * lies in a memtable.  No read shows that, unless the rule is relaxed just then: what has expired
 * once may come back whole, in part or not at all.
 */
#include "common/base/assert.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/upkeep/store_collect.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

#define STEP_CELLS       8192 /* looked at in a step */
#define STEP_DIRTY_BYTES (1024 * 1024)

#define FIRST_PASS_SHARES 64 /* passes after a start are spread over the interval */

/* At a start nothing but the machine says what time it is.  Where that is so far from when the store
 * was last written to, it waits a while before it erases anything by it. */
#define AWAY_LONG_US  (INT64_C(24) * 3600 * 1000 * 1000)
#define FIRST_WAIT_US (INT64_C(10) * 60 * 1000 * 1000)

/* --- rules ---------------------------------------------------------------------------------------- */

static bool any_rule(const struct table *table)
{
    for (uint32_t i = 0; i < table->family_count; i++) {
        if (table->families[i].gc.kind != GC_NONE) {
            return true;
        }
    }
    return false;
}

static bool any_explicit_rule(const struct table *table)
{
    for (uint32_t i = 0; i < table->family_count; i++) {
        if (!horizon_does_all(&table->families[i].gc)) {
            return true;
        }
    }
    return false;
}

/* --- where a pass stands -------------------------------------------------------------------------- */

static void begin_stage(struct store_tablet *tablet, enum store_collect_stage stage)
{
    struct store_collect_state *state = &tablet->collect;
    state->stage = stage;
    state->family = 0;
    buffer_reset(&state->row);
    buffer_reset(&state->qualifier);
}

/* Go on at the column of this cell. */
static enum status keep_place(struct store_collect_state *state,
                              struct bytes row,
                              const struct entry *entry)
{
    buffer_reset(&state->row);
    buffer_reset(&state->qualifier);
    buffer_append_bytes(&state->row, row);
    buffer_append_bytes(&state->qualifier, entry->qualifier);
    state->family = entry->family;
    return state->row.failed || state->qualifier.failed ? STATUS_NO_MEMORY : STATUS_OK;
}

/* --- HORIZONS ------------------------------------------------------------------------------------- */

static bool say_horizons(struct store_tablet *tablet, const struct table *table, int64_t now_us)
{
    struct store_collection *collection = tablet->store->collection;
    store_collection_begin(collection, tablet);
    (void)pthread_mutex_lock(&tablet->mutex);
    for (uint32_t i = 0; i < table->family_count && atomic_load(&tablet->leads); i++) {
        collection->horizon_count += horizon_is_due(
            &tablet->horizons, table, &table->families[i], now_us,
            &collection->horizons[collection->horizon_count]);
    }
    (void)pthread_mutex_unlock(&tablet->mutex);
    return collection->horizon_count > 0;
}

/* --- ERASE ---------------------------------------------------------------------------------------- */

struct eraser {
    struct store_tablet *tablet;
    const struct table *table;
    struct store_pieces *pieces;
    struct base_snapshot *snapshot;
    struct layer_cursor *cursor;
    struct base_writer *writer; /* begun with the first cell to erase */
    struct buffer column; /* qualifier of the last cell looked at; the cursor's own bytes move on */
    uint32_t family;      /* of it; 0 = none yet */
    uint32_t looked_at;
    uint64_t erased;
    uint32_t damaged_rows;
    bool write_failed; /* what was written in the transaction is no good */
};

static bool is_expired(const struct eraser *eraser, const struct entry *entry)
{
    uint64_t committed = store_tablet_committed(eraser->tablet);
    (void)pthread_mutex_lock(&eraser->tablet->mutex);
    bool may = horizon_may_erase(&eraser->tablet->horizons, eraser->table, committed, entry->family,
                                 entry->timestamp_us);
    (void)pthread_mutex_unlock(&eraser->tablet->mutex);
    return may;
}

static enum status erase_cell(struct eraser *eraser, struct bytes row, const struct entry *entry)
{
    if (eraser->writer == NULL) {
        enum status status = base_writer_begin(eraser->tablet->store->base, &eraser->writer);
        if (status != STATUS_OK) {
            return status;
        }
    }
    struct entry erase = *entry;
    erase.kind = ENTRY_ERASE;
    for (uint32_t i = 0; i < eraser->pieces->count; i++) {
        const struct base_piece *piece = &eraser->pieces->pieces[i];
        if (row_range_contains(&piece->range, row)) {
            eraser->erased++;
            enum status status = base_writer_put(eraser->writer, piece->extent, row, &erase);
            eraser->write_failed = status != STATUS_OK;
            return status;
        }
    }
    UNREACHABLE(); /* the cursor reads these pieces */
}

static bool step_is_over(const struct eraser *eraser)
{
    return eraser->looked_at >= STEP_CELLS ||
           (eraser->writer != NULL && base_writer_dirty_bytes(eraser->writer) >= STEP_DIRTY_BYTES);
}

/* Is the cell the first one of its column that is looked at? */
static bool is_new_column(const struct eraser *eraser, const struct entry *entry)
{
    return entry->family != eraser->family ||
           !bytes_equal(entry->qualifier, buffer_bytes(&eraser->column));
}

static enum status note_column(struct eraser *eraser, const struct entry *entry)
{
    buffer_reset(&eraser->column);
    buffer_append_bytes(&eraser->column, entry->qualifier);
    eraser->family = entry->family;
    return eraser->column.failed ? STATUS_NO_MEMORY : STATUS_OK;
}

static enum status erase_in_row(struct eraser *eraser, struct bytes row, bool *ret_over)
{
    struct store_collect_state *state = &eraser->tablet->collect;
    struct layer_cursor *cursor = eraser->cursor;
    bool resumed = bytes_equal(row, buffer_bytes(&state->row));
    uint64_t erased_before = eraser->erased;
    enum status status = cursor->operations->seek_entry(cursor, resumed ? state->family : 0,
                                                        resumed ? buffer_bytes(&state->qualifier)
                                                                : BYTES_EMPTY);
    while (status == STATUS_OK) {
        struct entry entry;
        bool found = false;
        status = cursor->operations->next_entry(cursor, &entry, &found);
        if (status != STATUS_OK || !found) {
            return status;
        }
        if (entry.kind != ENTRY_PUT && entry.kind != ENTRY_FOLD) {
            continue;
        }
        /* Beginning again in the middle of a column gets on only if something of it is gone. */
        bool new_column = is_new_column(eraser, &entry);
        if (step_is_over(eraser) && (new_column || eraser->erased > erased_before)) {
            *ret_over = true;
            return keep_place(state, row, &entry);
        }
        status = new_column ? note_column(eraser, &entry) : STATUS_OK;
        eraser->looked_at++;
        if (status == STATUS_OK && is_expired(eraser, &entry)) {
            status = erase_cell(eraser, row, &entry);
        }
    }
    return status;
}

/* A row that cannot be read keeps what it has; those behind it have their turn. */
static enum status pass_by_damage(struct eraser *eraser, enum status status)
{
    if (status != STATUS_CORRUPT || eraser->write_failed ||
        ++eraser->damaged_rows > STORE_DAMAGED_ROWS_MAX) {
        return status;
    }
    store_note_damage(eraser->tablet);
    return STATUS_OK;
}

static enum status erase_rows(struct eraser *eraser, bool *ret_over)
{
    struct layer_cursor *cursor = eraser->cursor;
    struct bytes row = BYTES_EMPTY;
    bool found = false;
    enum status status = cursor->operations->seek_row(
        cursor, ROW_AT_OR_AFTER, buffer_bytes(&eraser->tablet->collect.row), &row, &found);
    while (status == STATUS_OK && found && !*ret_over) {
        eraser->family = 0;
        status = pass_by_damage(eraser, erase_in_row(eraser, row, ret_over));
        if (status == STATUS_OK && !*ret_over) {
            status = cursor->operations->seek_row(cursor, ROW_AFTER, row, &row, &found);
        }
    }
    return status;
}

static enum status erase_expired(struct store_tablet *tablet, const struct table *table)
{
    struct eraser eraser = {.tablet = tablet, .table = table, .column = BUFFER_INIT};
    bool over = false;
    (void)pthread_mutex_lock(&tablet->mutex);
    eraser.pieces = store_pieces_ref(tablet->pieces);
    (void)pthread_mutex_unlock(&tablet->mutex);
    enum status status = base_snapshot_begin(tablet->store->base, &eraser.snapshot);
    if (status == STATUS_OK) {
        status = base_cursor_open(eraser.snapshot, eraser.pieces->pieces, eraser.pieces->count,
                                  &eraser.cursor);
        if (status == STATUS_OK) {
            status = erase_rows(&eraser, &over);
            eraser.cursor->operations->close(eraser.cursor);
        }
        base_snapshot_end(eraser.snapshot);
    }
    if (status == STATUS_OK && eraser.writer != NULL) {
        status = base_writer_commit(eraser.writer);
    } else if (eraser.writer != NULL) {
        base_writer_abort(eraser.writer);
    }
    store_pieces_unref(eraser.pieces);
    buffer_deinit(&eraser.column);
    if (status != STATUS_OK) {
        begin_stage(tablet, STORE_COLLECT_ERASE);
    } else {
        atomic_fetch_add(&tablet->store->collected_cells, eraser.erased);
        if (!over) {
            begin_stage(tablet, STORE_COLLECT_VERSIONS);
        }
    }
    return status;
}

/* --- the pass ------------------------------------------------------------------------------------- */

static void end_pass(struct store_tablet *tablet, int64_t now_us)
{
    begin_stage(tablet, STORE_COLLECT_IDLE);
    tablet->collect.due_us = now_us + tablet->store->settings.gc_interval_us;
    tablet->collect.schema_version = tablet->collect.pass_version;
}

static bool horizons_are_committed(struct store_tablet *tablet)
{
    (void)pthread_mutex_lock(&tablet->mutex);
    bool committed = horizon_all_committed(&tablet->horizons, store_tablet_committed(tablet));
    (void)pthread_mutex_unlock(&tablet->mutex);
    return committed;
}

static enum status step(struct store_tablet *tablet, const struct table *table, bool *ret_worked)
{
    struct store *store = tablet->store;
    int64_t now_us = store->callbacks.now_us(store->callbacks.context);
    bool more = false;
    enum status status = STATUS_OK;
    *ret_worked = true;
    switch (tablet->collect.stage) {
    case STORE_COLLECT_IDLE:
        tablet->collect.pass_version = table->version;
        if (!any_rule(table) && tablet->collect.schema_version == table->version) {
            end_pass(tablet, now_us);
            return STATUS_OK;
        }
        begin_stage(tablet, STORE_COLLECT_ERASE);
        if (say_horizons(tablet, table, now_us)) {
            store_collection_send(store->collection);
        } else {
            store_collection_end(store->collection);
        }
        return STATUS_OK;
    case STORE_COLLECT_ERASE:
        return erase_expired(tablet, table);
    case STORE_COLLECT_VERSIONS:
        if (any_explicit_rule(table) && atomic_load(&tablet->leads)) {
            status = store_collect_versions(tablet, table, now_us, STEP_CELLS, &more);
        }
        if (status == STATUS_OK && !more) {
            end_pass(tablet, now_us);
        }
        return status;
    }
    UNREACHABLE();
}

/* Is there nothing that its pass waits for?  Others do not wait with it. */
static bool may_step(struct store_tablet *tablet)
{
    switch (tablet->collect.stage) {
    case STORE_COLLECT_IDLE:
        return true;
    case STORE_COLLECT_ERASE:
        return !store_rests_damaged(tablet, STORE_CHORE_COLLECT) &&
               horizons_are_committed(tablet) && store_may_keep_house(tablet);
    case STORE_COLLECT_VERSIONS:
        return !store_rests_damaged(tablet, STORE_CHORE_COLLECT) &&
               store_collection_may_doom(tablet->store);
    }
    UNREACHABLE();
}

static void set_first_pass(struct store_tablet *tablet, int64_t now_us)
{
    int64_t interval_us = tablet->store->settings.gc_interval_us;
    /* Not all at once after a start. */
    int64_t share = (int64_t)(tablet->descriptor.tablet % FIRST_PASS_SHARES);
    tablet->collect.due_us = now_us + interval_us / FIRST_PASS_SHARES * share;
}

static bool is_better(const struct store_tablet *tablet, const struct store_tablet *chosen)
{
    return chosen == NULL || tablet->collect.due_us < chosen->collect.due_us;
}

/* A tablet in the middle of its pass, else the one whose pass has been due longest: none waits for
 * ever when all passes together take longer than the interval.  *ret_next_us: when to look again, if there is none. */
static struct store_tablet *choose(struct store *store, int64_t now_us, int64_t *ret_next_us)
{
    struct store_tablet *chosen = NULL;
    *ret_next_us = INT64_MAX;
    atomic_fetch_add(&store->looked_at, store->tablet_count);
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        struct store_tablet *tablet = store->tablets[i];
        if (tablet->collect.due_us == 0) {
            set_first_pass(tablet, now_us);
        }
        bool running = tablet->collect.stage != STORE_COLLECT_IDLE;
        int64_t next_us = running ? now_us : tablet->collect.due_us;
        *ret_next_us = next_us < *ret_next_us ? next_us : *ret_next_us;
        if (atomic_load(&tablet->state) != STORE_TABLET_LIVE || !may_step(tablet)) {
            continue;
        }
        if (running) {
            return tablet;
        }
        if (tablet->collect.due_us <= now_us && is_better(tablet, chosen)) {
            chosen = tablet;
        }
    }
    return chosen;
}

/* With a reference.  Where nothing is due the tablets are not looked at before the first of them is. */
static struct store_tablet *take_due(struct store *store, int64_t now_us)
{
    struct store_tablet *chosen = NULL;
    int64_t next_us = 0;
    (void)pthread_mutex_lock(&store->mutex);
    if (now_us >= store->collect_look_us) {
        chosen = choose(store, now_us, &next_us);
        store->collect_look_us = chosen == NULL ? next_us : 0;
    }
    if (chosen != NULL) {
        store_tablet_ref(chosen);
    }
    (void)pthread_mutex_unlock(&store->mutex);
    return chosen;
}

void store_collect_begin(struct store *store)
{
    int64_t now_us = store->callbacks.now_us(store->callbacks.context);
    int64_t last_us = hlc_to_us(store->hlc.last);
    bool away_long = last_us > 0 && now_us - last_us > AWAY_LONG_US;
    store->collect_from_us = away_long ? now_us + FIRST_WAIT_US : 0;
}

/* What a wrong clock erases does not come back when it is right again. */
static bool is_time_known(const struct store *store, int64_t now_us)
{
    const struct store_callbacks *callbacks = &store->callbacks;
    return now_us >= store->collect_from_us &&
           (callbacks->trusts_clock == NULL || callbacks->trusts_clock(callbacks->context));
}

enum status store_collect_step(struct store *store, bool *ret_worked)
{
    *ret_worked = false;
    if (store->settings.gc_interval_us <= 0 || !store_collection_is_free(store)) {
        return STATUS_OK;
    }
    int64_t now_us = store->callbacks.now_us(store->callbacks.context);
    if (!is_time_known(store, now_us)) {
        return STATUS_OK;
    }
    struct store_tablet *tablet = take_due(store, now_us);
    if (tablet == NULL) {
        return STATUS_OK;
    }
    struct store_schema *schema = store_schema_find(store, tablet->descriptor.table);
    enum status status = STATUS_OK;
    if (schema == NULL) {
        /* Nobody has said what the table looks like: nothing may be judged. */
        tablet->collect.due_us = now_us + store->settings.gc_interval_us;
    } else {
        status = store_note_step(tablet, STORE_CHORE_COLLECT,
                                 step(tablet, &schema->table, ret_worked));
        store_schema_unref(schema);
    }
    store_tablet_unref(tablet);
    return status;
}
