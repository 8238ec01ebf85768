/*
 * A row driven past a program: passes, columns, seeks.
 */
#include "common/model/filter_run.h"

#include "common/base/assert.h"

/* After so many unwanted columns in a row a seek is cheaper than reading on. */
#define SKIP_COLUMNS_BEFORE_SEEK 4

struct cursor {
    size_t interval;  /* the one that the row has reached, or is before */
    uint32_t skipped; /* unwanted columns seen since the last wanted one */
};

/* Negative: the cell's column is before the given place; 0: at it; positive: behind. */
static int compare_place(const struct cell *cell, uint64_t family, struct bytes qualifier)
{
    if (cell->family != family) {
        return cell->family < family ? -1 : 1;
    }
    return bytes_compare(cell->qualifier, qualifier);
}

static enum status seek(const struct filter_program *program,
                        const struct cell_source *source,
                        size_t interval)
{
    const struct column_interval *to = &program->plan[interval];
    bool at_start = to->family_first == 0; /* of the row: no family is named */
    return source->rewind(source->context, (uint32_t)to->family_first,
                          at_start ? BYTES_EMPTY : to->qualifier_first);
}

/* Number the columns.  Errors: STATUS_NO_MEMORY. */
static enum status note_column(struct run *run, const struct cell *cell)
{
    struct filter_program *program = run->program;
    if (run->column == program->column && program->column_family == cell->family &&
        bytes_equal(buffer_bytes(&program->column_qualifier), cell->qualifier)) {
        return STATUS_OK;
    }
    program->column++;
    run->column = program->column;
    program->column_family = cell->family;
    buffer_reset(&program->column_qualifier);
    buffer_append_bytes(&program->column_qualifier, cell->qualifier);
    return program->column_qualifier.failed ? STATUS_NO_MEMORY : STATUS_OK;
}

enum place {
    PLACE_WANTED,
    PLACE_BEFORE, /* of the next interval */
    PLACE_BEHIND, /* the last one */
};

static enum place find_place(const struct filter_program *program,
                             struct cursor *cursor,
                             const struct cell *cell)
{
    while (cursor->interval < program->plan_count) {
        const struct column_interval *interval = &program->plan[cursor->interval];
        if (compare_place(cell, interval->family_end, interval->qualifier_end) < 0) {
            bool wanted = compare_place(cell, interval->family_first, interval->qualifier_first) >=
                          0;
            return wanted ? PLACE_WANTED : PLACE_BEFORE;
        }
        cursor->interval++;
    }
    return PLACE_BEHIND;
}

/* A cell before the next interval: go on to the next column, or seek. */
static enum status skip_column(const struct run *run,
                               const struct cell_source *source,
                               struct cursor *cursor,
                               enum cell_demand *ret_demand)
{
    cursor->skipped++;
    if (cursor->skipped < SKIP_COLUMNS_BEFORE_SEEK) {
        *ret_demand = CELL_NEXT_COLUMN;
        return STATUS_OK;
    }
    cursor->skipped = 0;
    *ret_demand = CELL_NEXT; /* nothing came before the cell that a seek leads to */
    return seek(run->program, source, cursor->interval);
}

/* One reading of the row, up to its end or to where nothing more is wanted. */
static enum status run_pass(struct run *run, const struct cell_source *source, uint64_t *cells_seen)
{
    struct filter_program *program = run->program;
    struct cursor cursor = {0, 0};
    enum cell_demand demand = CELL_NEXT;
    enum status status = seek(program, source, 0);

    while (status == STATUS_OK) {
        struct cell cell;
        bool found = false;
        status = source->next(source->context, demand, &cell, &found);
        if (status != STATUS_OK || !found) {
            break;
        }
        (*cells_seen)++;
        enum place place = find_place(program, &cursor, &cell);
        if (place == PLACE_BEHIND) {
            break;
        }
        if (place == PLACE_BEFORE) {
            status = skip_column(run, source, &cursor, &demand);
            continue;
        }
        cursor.skipped = 0;
        if (program->has_columns) {
            status = note_column(run, &cell);
            if (status != STATUS_OK) {
                break;
            }
        }
        demand = filter_push(run, program->entry, &cell);
        if (demand == CELL_ROW_DONE) {
            status = run->status;
            break;
        }
    }
    return status;
}

/* Everything passes: no graph to go through. */
static enum status run_through(struct run *run,
                               const struct cell_source *source,
                               uint64_t *cells_seen)
{
    enum status status = source->rewind(source->context, 0, BYTES_EMPTY);
    while (status == STATUS_OK) {
        struct cell cell;
        bool found = false;
        status = source->next(source->context, CELL_NEXT, &cell, &found);
        if (status != STATUS_OK || !found) {
            break;
        }
        (*cells_seen)++;
        run->any = true;
        if (run->output == NULL) {
            break;
        }
        status = run->output(run->context, &cell);
    }
    return status;
}

static void start_pass(struct run *run, uint32_t level)
{
    struct filter_program *program = run->program;
    ASSERT(program->epoch < UINT64_MAX);
    program->epoch++;
    run->epoch = program->epoch;
    run->level = level;
    run->pass = level > program->level_count ? PASS_OUTPUT : PASS_LEVEL(level);
    run->column = 0; /* the first cell begins a column, whatever was read last */
}

static enum status run_passes(struct run *run,
                              const struct cell_source *source,
                              uint64_t *cells_seen)
{
    struct filter_program *program = run->program;
    const struct node *entry = &program->nodes[program->entry];
    program->row = program->epoch + 1;
    for (uint32_t level = 1; level <= program->level_count + 1; level++) {
        start_pass(run, level);
        if ((entry->passes & run->pass) == 0) {
            continue; /* all its conditions were compiled away */
        }
        enum status status = run_pass(run, source, cells_seen);
        if (status != STATUS_OK) {
            return status;
        }
    }
    return STATUS_OK;
}

enum status filter_run(struct filter_program *program,
                       struct bytes row,
                       const struct cell_source *source,
                       filter_output output,
                       void *context,
                       bool *ret_any,
                       uint64_t *ret_cells_seen)
{
    struct run run = {
        .program = program,
        .nodes = program != NULL ? program->nodes : NULL,
        .output = output,
        .context = context,
    };
    uint64_t cells_seen = 0;
    enum status status = STATUS_OK;

    if (program == NULL || program->entry == INDEX_OUTPUT) {
        status = run_through(&run, source, &cells_seen);
    } else if (!filter_skips_row(program, row)) {
        status = run_passes(&run, source, &cells_seen);
    }
    if (status == STATUS_OK) {
        *ret_any = run.any;
    }
    if (ret_cells_seen != NULL) {
        *ret_cells_seen = cells_seen;
    }
    return status;
}
