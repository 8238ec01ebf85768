#include "tabletserver/storage/rows/row_merge.h"

#include "common/aggregate/aggregate.h"
#include "common/base/assert.h"

#define KEPT_BYTES_MAX ((size_t)16 * 1024) /* of a buffer, from one read to the next */

void row_merge_init(struct row_merge *merge)
{
    *merge = (struct row_merge){
        .is_done = true,
        .column_qualifier = BUFFER_INIT,
        .merged = {BUFFER_INIT, BUFFER_INIT},
    };
    delete_cover_init(&merge->cover);
}

void row_merge_deinit(struct row_merge *merge)
{
    delete_cover_deinit(&merge->cover);
    buffer_deinit(&merge->column_qualifier);
    buffer_deinit(&merge->merged[0]);
    buffer_deinit(&merge->merged[1]);
}

void row_merge_open(struct row_merge *merge, const struct table *table, int64_t now_us)
{
    merge->table = table;
    merge->now_us = now_us;
    merge->layer_count = 0;
    merge->is_done = true;
    merge->family = NULL;
    merge->column_family = 0;
}

static void let_go_if_large(struct buffer *buffer)
{
    if (buffer->capacity_bytes > KEPT_BYTES_MAX) {
        buffer_deinit(buffer);
    }
}

void row_merge_close(struct row_merge *merge)
{
    delete_cover_deinit(&merge->cover);
    let_go_if_large(&merge->column_qualifier);
    let_go_if_large(&merge->merged[0]);
    let_go_if_large(&merge->merged[1]);
}

void row_merge_begin(struct row_merge *merge, struct stamp row_covered)
{
    merge->layer_count = 0;
    merge->row_covered = row_covered;
    merge->is_fresh = true;
    merge->is_done = false;
}

void row_merge_add_layer(struct row_merge *merge,
                         struct layer_cursor *cursor,
                         const struct tablet_position *flushed)
{
    ASSERT(merge->layer_count < ROW_READER_LAYERS_MAX);
    merge->layers[merge->layer_count++] = (struct row_merge_layer){
        .cursor = cursor,
        .flushed = flushed,
    };
}

/* --- heads --------------------------------------------------------------------------------------- */

/* Is the head a cell that has to be taken from the base?  Deletes may come twice: it is no harm. */
static bool is_flushed(const struct row_merge_layer *layer)
{
    const struct tablet_position *flushed = layer->flushed;
    const struct entry *head = &layer->head;
    return flushed != NULL && head->kind >= ENTRY_PUT &&
           (head->family < flushed->family ||
            (head->family == flushed->family && head->timestamp_us > flushed->timestamp_us &&
             bytes_equal(head->qualifier, flushed->qualifier)));
}

/* The next head, past what is left of its column or not. */
static enum status move(struct row_merge_layer *layer, bool skip_column)
{
    const struct layer_cursor_operations *operations = layer->cursor->operations;
    layer->is_taken = false;
    do {
        enum status status = skip_column ? operations->skip_column(layer->cursor, &layer->head,
                                                                   &layer->has_head)
                                         : operations->next_entry(layer->cursor, &layer->head,
                                                                  &layer->has_head);
        if (status != STATUS_OK) {
            layer->has_head = false;
            return status;
        }
        skip_column = false;
    } while (layer->has_head && is_flushed(layer));
    return STATUS_OK;
}

/* Go to (family, qualifier), but not into what is in the base already. */
static enum status seek(struct row_merge_layer *layer, uint32_t family, struct bytes qualifier)
{
    const struct tablet_position *flushed = layer->flushed;
    if (flushed != NULL &&
        (family < flushed->family ||
         (family == flushed->family && bytes_compare(qualifier, flushed->qualifier) < 0))) {
        family = flushed->family;
        qualifier = flushed->qualifier;
    }
    layer->has_head = false;
    enum status status = layer->cursor->operations->seek_entry(layer->cursor, family, qualifier);
    return status == STATUS_OK ? move(layer, false) : status;
}

/* --- families and columns ------------------------------------------------------------------------ */

/* Is the family in the schema?  Finds it once for all cells that follow each other. */
static bool enter_family(struct row_merge *merge, uint32_t number)
{
    if (merge->table == NULL) {
        return true;
    }
    if (merge->family == NULL || merge->family->number != number) {
        const struct family *family = table_family_by_number(merge->table, number);
        if (family == NULL) {
            return false;
        }
        merge->family = family;
    }
    return true;
}

/* The entry is of a family that the schema does not know: everything to the next one it knows is
 * passed over. */
static enum status leave_family(struct row_merge *merge, uint32_t number)
{
    const struct table *table = merge->table;
    uint32_t next = 0;
    for (uint32_t i = 0; i < table->family_count && next == 0; i++) {
        next = table->families[i].number > number ? table->families[i].number : 0;
    }
    if (next == 0) {
        merge->is_done = true;
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < merge->layer_count; i++) {
        struct row_merge_layer *layer = &merge->layers[i];
        if (layer->has_head && layer->head.family < next) {
            enum status status = seek(layer, next, BYTES_EMPTY);
            if (status != STATUS_OK) {
                return status;
            }
        }
    }
    return STATUS_OK;
}

static bool is_of_column(const struct row_merge *merge, const struct entry *entry)
{
    return entry->kind >= ENTRY_COLUMN_DELETE && entry->family == merge->column_family &&
           bytes_equal(entry->qualifier, buffer_bytes(&merge->column_qualifier));
}

static enum status enter_column(struct row_merge *merge, const struct entry *entry)
{
    if (is_of_column(merge, entry)) {
        return STATUS_OK;
    }
    merge->column_cell_count = 0;
    merge->column_family = 0;
    buffer_reset(&merge->column_qualifier);
    buffer_append_bytes(&merge->column_qualifier, entry->qualifier);
    if (merge->column_qualifier.failed) {
        return STATUS_NO_MEMORY;
    }
    merge->column_family = entry->family;
    return STATUS_OK;
}

/* Has the rule expired this cell, and so all older ones of its column?  If not, it counts. */
static enum status collect(struct row_merge *merge, const struct entry *entry, bool *ret_expired)
{
    if (merge->table == NULL) {
        *ret_expired = false;
        return STATUS_OK;
    }
    const struct gc_rule *rule = &merge->family->gc;
    if (rule->kind == GC_NONE && merge->layer_count == 1) {
        *ret_expired = false;
        return STATUS_OK;
    }
    enum status status = enter_column(merge, entry);
    if (status != STATUS_OK) {
        return status;
    }
    *ret_expired = rule->kind != GC_NONE && gc_rule_drops(rule, merge->column_cell_count,
                                                          entry->timestamp_us, merge->now_us);
    merge->column_cell_count += *ret_expired ? 0 : 1;
    return STATUS_OK;
}

static void fill_cell(struct row_merge *merge,
                      const struct entry *entry,
                      struct bytes value,
                      struct cell *ret_cell)
{
    if (merge->table == NULL) {
        merge->shown = *entry;
        merge->shown.value = value;
    }
    *ret_cell = (struct cell){
        .family = entry->family,
        .qualifier = entry->qualifier,
        .timestamp_us = entry->timestamp_us,
        .value = value,
        .label = BYTES_EMPTY,
    };
}

/* --- one layer ----------------------------------------------------------------------------------- */

/* What to do about a head. */
enum outcome {
    OUTCOME_PASS,        /* nothing to see: to the next one */
    OUTCOME_PASS_COLUMN, /* nor in the rest of its column */
    OUTCOME_PASS_FAMILY,
    OUTCOME_SHOW,
};

static enum status judge_single(struct row_merge *merge,
                                const struct entry *head,
                                enum outcome *ret_outcome)
{
    if (head->kind == ENTRY_ROW_DELETE) {
        *ret_outcome = OUTCOME_PASS;
        return STATUS_OK;
    }
    if (!enter_family(merge, head->family)) {
        *ret_outcome = OUTCOME_PASS_FAMILY;
        return STATUS_OK;
    }
    if (head->kind < ENTRY_PUT || stamp_compare(merge->row_covered, head->stamp) > 0) {
        *ret_outcome = OUTCOME_PASS;
        return STATUS_OK;
    }
    bool is_expired = false;
    enum status status = collect(merge, head, &is_expired);
    *ret_outcome = is_expired ? OUTCOME_PASS_COLUMN : OUTCOME_SHOW;
    return status;
}

static enum status next_of_one(struct row_merge *merge,
                               enum cell_demand demand,
                               struct cell *ret_cell,
                               bool *ret_found)
{
    struct row_merge_layer *layer = &merge->layers[0];
    enum status status = STATUS_OK;
    if (layer->is_taken) {
        status = move(layer, demand == CELL_NEXT_COLUMN);
    }
    while (status == STATUS_OK && layer->has_head && !merge->is_done) {
        enum outcome outcome = OUTCOME_PASS;
        status = judge_single(merge, &layer->head, &outcome);
        if (status != STATUS_OK) {
            break;
        }
        if (outcome == OUTCOME_SHOW) {
            layer->is_taken = true;
            fill_cell(merge, &layer->head, layer->head.value, ret_cell);
            *ret_found = true;
            return STATUS_OK;
        }
        status = outcome == OUTCOME_PASS_FAMILY ? leave_family(merge, layer->head.family)
                                                : move(layer, outcome == OUTCOME_PASS_COLUMN);
    }
    return status;
}

/* --- several layers ------------------------------------------------------------------------------ */

/* Move on from the taken heads; with skip_column, from all that are in the current column. */
static enum status move_taken(struct row_merge *merge, bool skip_column)
{
    for (uint32_t i = 0; i < merge->layer_count; i++) {
        struct row_merge_layer *layer = &merge->layers[i];
        bool moves = layer->is_taken ||
                     (skip_column && layer->has_head && is_of_column(merge, &layer->head));
        if (moves) {
            enum status status = move(layer, skip_column);
            if (status != STATUS_OK) {
                return status;
            }
        }
    }
    return STATUS_OK;
}

/* The lowest head, newest layer first; NULL when all layers are at their end. */
static struct row_merge_layer *lowest(struct row_merge *merge)
{
    struct row_merge_layer *low = NULL;
    for (uint32_t i = 0; i < merge->layer_count; i++) {
        struct row_merge_layer *layer = &merge->layers[i];
        if (layer->has_head && (low == NULL || entry_compare(&layer->head, &low->head) < 0)) {
            low = layer;
        }
    }
    return low;
}

/* Take all heads at the position of `low`; of puts return that with the largest stamp. */
static const struct entry *take_position(struct row_merge *merge, struct row_merge_layer *low)
{
    const struct entry *newest = &low->head;
    low->is_taken = true;
    for (uint32_t i = 0; i < merge->layer_count; i++) {
        struct row_merge_layer *layer = &merge->layers[i];
        if (layer != low && layer->has_head && entry_compare(&layer->head, &low->head) == 0) {
            layer->is_taken = true;
            newest = stamp_compare(layer->head.stamp, newest->stamp) > 0 ? &layer->head : newest;
        }
    }
    return newest;
}

/* Merge the taken folds that no delete covers; the newest one is alive, so there is at least one. */
static enum status merge_folds(struct row_merge *merge,
                               struct stamp covered,
                               struct bytes *ret_value)
{
    bool found = false;
    unsigned turn = 0;
    struct bytes value = BYTES_EMPTY;
    for (uint32_t i = 0; i < merge->layer_count; i++) {
        const struct row_merge_layer *layer = &merge->layers[i];
        if (!layer->is_taken || layer->head.kind != ENTRY_FOLD ||
            stamp_compare(covered, layer->head.stamp) > 0) {
            continue;
        }
        if (!found) {
            value = layer->head.value;
            found = true;
            continue;
        }
        struct buffer *out = &merge->merged[turn];
        enum status status = aggregate_merge(layer->head.aggregate, value, layer->head.value, out);
        if (status != STATUS_OK) {
            return status == STATUS_NO_MEMORY ? STATUS_NO_MEMORY : STATUS_CORRUPT;
        }
        value = buffer_bytes(out);
        turn = 1 - turn;
    }
    *ret_value = value;
    return STATUS_OK;
}

/* The cell at the lowest position, if it is alive and not expired. */
static enum status resolve_cell(struct row_merge *merge,
                                struct row_merge_layer *low,
                                struct cell *ret_cell,
                                enum outcome *ret_outcome)
{
    const struct entry *entry = take_position(merge, low);
    struct stamp covered = delete_cover_at(&merge->cover, entry->family, entry->qualifier,
                                           entry->timestamp_us);
    if (stamp_compare(covered, entry->stamp) > 0) {
        *ret_outcome = OUTCOME_PASS;
        return STATUS_OK;
    }
    bool is_expired = false;
    enum status status = collect(merge, entry, &is_expired);
    if (status != STATUS_OK || is_expired) {
        *ret_outcome = OUTCOME_PASS_COLUMN;
        return status;
    }
    struct bytes value = entry->value;
    if (entry->kind == ENTRY_FOLD) {
        status = merge_folds(merge, covered, &value);
    }
    fill_cell(merge, entry, value, ret_cell);
    *ret_outcome = OUTCOME_SHOW;
    return status;
}

static enum status next_of_many(struct row_merge *merge,
                                enum cell_demand demand,
                                struct cell *ret_cell,
                                bool *ret_found)
{
    enum status status = move_taken(merge, demand == CELL_NEXT_COLUMN);
    while (status == STATUS_OK && !merge->is_done) {
        struct row_merge_layer *low = lowest(merge);
        if (low == NULL) {
            break;
        }
        const struct entry *head = &low->head;
        if (head->kind != ENTRY_ROW_DELETE && !enter_family(merge, head->family)) {
            status = leave_family(merge, head->family);
            continue;
        }
        if (head->kind < ENTRY_PUT) {
            status = delete_cover_add(&merge->cover, head);
            status = status == STATUS_OK ? move(low, false) : status;
            continue;
        }
        enum outcome outcome = OUTCOME_PASS;
        status = resolve_cell(merge, low, ret_cell, &outcome);
        if (status == STATUS_OK && outcome == OUTCOME_SHOW) {
            *ret_found = true;
            return STATUS_OK;
        }
        status = status == STATUS_OK ? move_taken(merge, outcome == OUTCOME_PASS_COLUMN) : status;
    }
    return status;
}

/* --- in common ----------------------------------------------------------------------------------- */

enum status row_merge_rewind(struct row_merge *merge, uint32_t family, struct bytes qualifier)
{
    delete_cover_reset(&merge->cover, merge->row_covered);
    merge->column_family = 0;
    merge->column_cell_count = 0;
    merge->is_fresh = false;
    merge->is_done = true;
    for (uint32_t i = 0; i < merge->layer_count; i++) {
        enum status status = seek(&merge->layers[i], family, qualifier);
        if (status != STATUS_OK) {
            return status;
        }
    }
    merge->is_done = false;
    return STATUS_OK;
}

enum status row_merge_next(struct row_merge *merge,
                           enum cell_demand demand,
                           struct cell *ret_cell,
                           bool *ret_found)
{
    bool found = false;
    enum status status = merge->is_fresh ? row_merge_rewind(merge, 0, BYTES_EMPTY) : STATUS_OK;
    if (demand == CELL_ROW_DONE) {
        merge->is_done = true;
    }
    if (status == STATUS_OK && !merge->is_done) {
        struct cell cell = {0};
        status = merge->layer_count == 1 ? next_of_one(merge, demand, &cell, &found)
                                         : next_of_many(merge, demand, &cell, &found);
        if (found) {
            *ret_cell = cell;
        }
    }
    if (status != STATUS_OK) {
        merge->is_done = true;
        return status;
    }
    merge->is_done = merge->is_done || !found;
    *ret_found = found;
    return STATUS_OK;
}
