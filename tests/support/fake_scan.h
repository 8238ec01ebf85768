/*
 * libedubba's side of a read, made up: a scan whose rows become ready when the test says so, and
 * the read of one row.
 *
 * Rows are where the real ones are: in memory that goes with the next call on the scan.  As with
 * the real one on_ready comes from one thread, which may close the scan in it; another one that
 * closes waits for it.
 *
 * It defines the functions of edubba.h that it stands for: those of the library are not linked
 * then.
 */
#ifndef TESTS_SUPPORT_FAKE_SCAN_H
#define TESTS_SUPPORT_FAKE_SCAN_H

#include <criterion/criterion.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "client/include/edubba.h"
#include "common/base/memory.h"

/* What the next scans and reads are like. */
struct fake_data {
    uint32_t row_count;
    size_t value_bytes;     /* of each row's cells */
    size_t cell_count;      /* 0 = 1 */
    size_t qualifier_bytes; /* of each cell, which has one of its own; 0 = all have "q" */
    uint32_t large_count;   /* so many rows have such values, the others one of a byte; 0 = all */
    enum edubba_code end_code;
    const char *end_text;
    struct edubba_bytes failed_row; /* empty = none */
    atomic_uint scans_opened;
    atomic_uint scans_open;
};

static struct fake_data fake_data;

struct edubba_scan {
    struct edubba_scan *next; /* of those that were closed */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t teller;
    uint32_t row_count;
    uint32_t ready_count;
    uint32_t given_count;
    uint32_t told_count; /* of them, by edubba_scan_progress() */
    bool is_reversed;
    bool tells_progress;
    void (*on_ready)(void *context);
    void *on_ready_context;
    bool is_telling;
    bool is_closed;
    struct edubba_row row;
    char key[16];
    char progress[18];
    uint8_t
        *memory; /* of the row that was given last: its cells, their qualifiers and their value */
};

/* The open one; the test's teller makes rows ready in it. */
static _Atomic(struct edubba_scan *) fake_scan_now;
/* Closed, and not freed yet: only the teller frees, so it never looks at what is gone. */
static _Atomic(struct edubba_scan *) fake_scans_closed;

/* *ret_memory, which is to be freed, holds its cells, which have one value. */
static inline void fake_row_make(
    uint32_t number, bool is_reversed, char key[16], struct edubba_row *row, uint8_t **ret_memory)
{
    uint32_t shown = is_reversed ? fake_data.row_count - number : number;
    size_t count = fake_data.cell_count > 0 ? fake_data.cell_count : 1;
    bool is_small = fake_data.large_count > 0 && number >= fake_data.large_count;
    size_t value_bytes = is_small ? 1 : fake_data.value_bytes;
    size_t qualifier_bytes = fake_data.qualifier_bytes;
    uint8_t *memory = memory_allocate(count * (sizeof(struct edubba_cell) + qualifier_bytes) +
                                      value_bytes);
    struct edubba_cell *cells = (struct edubba_cell *)(void *)memory;
    uint8_t *qualifiers = memory + count * sizeof *cells;
    uint8_t *value = qualifiers + count * qualifier_bytes;
    (void)snprintf(key, 16, "row%08u", shown);
    memset(value, (int)(shown % 251), value_bytes);
    for (size_t i = 0; i < count; i++) {
        cells[i] = (struct edubba_cell){
            .family = EDUBBA_TEXT("f"),
            .qualifier = EDUBBA_TEXT("q"),
            .timestamp_us = 1000 * (int64_t)(count - i),
            .value = {value, value_bytes},
        };
        if (qualifier_bytes > 0) {
            uint8_t *own = qualifiers + i * qualifier_bytes;
            memset(own, (int)(1 + i % 250), qualifier_bytes);
            cells[i].qualifier = edubba_bytes_of(own, qualifier_bytes);
        }
    }
    *row = (struct edubba_row){EDUBBA_TEXT(key), cells, count};
    *ret_memory = memory;
}

static inline void fake_scan_collect(void)
{
    struct edubba_scan *scan = atomic_exchange(&fake_scans_closed, NULL);
    while (scan != NULL) {
        struct edubba_scan *next = scan->next;
        memory_free(scan->memory);
        pthread_cond_destroy(&scan->changed);
        pthread_mutex_destroy(&scan->lock);
        memory_free(scan);
        atomic_fetch_sub(&fake_data.scans_open, 1);
        scan = next;
    }
}

/* The teller's: so many rows more are there.  Then frees what was closed. */
static inline void fake_scan_tell(uint32_t rows)
{
    struct edubba_scan *scan = atomic_load(&fake_scan_now);
    if (scan == NULL) {
        fake_scan_collect();
        return;
    }
    pthread_mutex_lock(&scan->lock);
    scan->teller = pthread_self();
    uint32_t left = scan->row_count + 1 - scan->ready_count; /* the end is one, too */
    scan->ready_count += rows < left ? rows : left;
    void (*on_ready)(void *) = scan->is_closed ? NULL : scan->on_ready;
    void *context = scan->on_ready_context;
    scan->on_ready = NULL;
    scan->is_telling = on_ready != NULL;
    pthread_mutex_unlock(&scan->lock);
    if (on_ready != NULL) {
        on_ready(context);
    }
    pthread_mutex_lock(&scan->lock);
    scan->is_telling = false;
    pthread_cond_broadcast(&scan->changed);
    pthread_mutex_unlock(&scan->lock);
    fake_scan_collect();
}

enum edubba_code edubba_scan_open(struct edubba_table *table,
                                  const struct edubba_scan_options *options,
                                  struct edubba_scan **ret_scan,
                                  struct edubba_error *error)
{
    struct edubba_scan *scan = memory_allocate_zeroed(1, sizeof *scan);
    (void)table;
    pthread_mutex_init(&scan->lock, NULL);
    pthread_cond_init(&scan->changed, NULL);
    uint64_t limit = options->rows_limit;
    scan->row_count = limit > 0 && limit < fake_data.row_count ? (uint32_t)limit
                                                               : fake_data.row_count;
    scan->is_reversed = options->reversed;
    scan->tells_progress = options->tells_progress;
    atomic_fetch_add(&fake_data.scans_opened, 1);
    atomic_fetch_add(&fake_data.scans_open, 1);
    *error = (struct edubba_error){EDUBBA_OK, ""};
    *ret_scan = scan;
    atomic_store(&fake_scan_now, scan);
    return EDUBBA_OK;
}

enum edubba_code edubba_scan_poll(struct edubba_scan *scan,
                                  const struct edubba_row **row,
                                  bool *ready,
                                  void (*on_ready)(void *context),
                                  void *context,
                                  struct edubba_error *error)
{
    pthread_mutex_lock(&scan->lock);
    memory_free(scan->memory);
    scan->memory = NULL;
    cr_assert_not(scan->is_closed);
    *row = NULL;
    *ready = scan->given_count < scan->ready_count;
    *error = (struct edubba_error){EDUBBA_OK, ""};
    if (!*ready) {
        scan->on_ready = on_ready;
        scan->on_ready_context = context;
    } else if (scan->given_count < scan->row_count) {
        fake_row_make(scan->given_count++, scan->is_reversed, scan->key, &scan->row, &scan->memory);
        *row = &scan->row;
    } else {
        error->code = fake_data.end_code;
        (void)snprintf(error->text, sizeof error->text, "%s", fake_data.end_text);
    }
    pthread_mutex_unlock(&scan->lock);
    return error->code;
}

/* Each time that nothing was there: as far as the last row, which its reader knows; every other
 * time beyond it, where rows were filtered out, or (when reversed, where nothing is behind its key
 * but before the next one's) the last row once more. */
bool edubba_scan_progress(struct edubba_scan *scan, struct edubba_bytes *row)
{
    pthread_mutex_lock(&scan->lock);
    bool is_new = scan->tells_progress && scan->key[0] != '\0' &&
                  scan->given_count > scan->told_count;
    scan->told_count = is_new ? scan->given_count : scan->told_count;
    (void)snprintf(scan->progress, sizeof scan->progress, "%s%s", scan->key,
                   scan->given_count % 2 == 0 && !scan->is_reversed ? "+" : "");
    *row = is_new ? EDUBBA_TEXT(scan->progress) : EDUBBA_NOTHING;
    pthread_mutex_unlock(&scan->lock);
    return is_new;
}

bool edubba_scan_failed_row(const struct edubba_scan *scan, struct edubba_bytes *row)
{
    cr_assert_not(scan->is_closed);
    *row = fake_data.failed_row;
    return row->size > 0;
}

void edubba_scan_statistics(const struct edubba_scan *scan,
                            struct edubba_scan_statistics *statistics)
{
    *statistics = (struct edubba_scan_statistics){
        .rows_seen = scan->row_count + 7,
        .rows_returned = scan->row_count,
        .cells_seen = scan->row_count + 9,
        .cells_returned = scan->row_count,
    };
}

void edubba_scan_close(struct edubba_scan *scan)
{
    if (scan == NULL) {
        return;
    }
    pthread_mutex_lock(&scan->lock);
    scan->on_ready = NULL;
    while (scan->is_telling && !pthread_equal(scan->teller, pthread_self())) {
        pthread_cond_wait(&scan->changed, &scan->lock);
    }
    cr_assert_not(scan->is_closed, "a scan is closed once");
    scan->is_closed = true;
    pthread_mutex_unlock(&scan->lock);
    struct edubba_scan *now = scan;
    (void)atomic_compare_exchange_strong(&fake_scan_now, &now, NULL);
    scan->next = atomic_load(&fake_scans_closed);
    while (!atomic_compare_exchange_weak(&fake_scans_closed, &scan->next, scan)) {
    }
}

/* --- one row ---------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    edubba_completion completion; /* NULL = no read waits */
    void *context;
} fake_read = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum edubba_code edubba_submit(struct edubba_table *table,
                               const struct edubba_operation *operation,
                               edubba_completion completion,
                               void *context,
                               struct edubba_error *error)
{
    (void)table;
    (void)error;
    cr_assert_eq(operation->kind, EDUBBA_OPERATION_READ);
    pthread_mutex_lock(&fake_read.lock);
    fake_read.completion = completion;
    fake_read.context = context;
    pthread_mutex_unlock(&fake_read.lock);
    return EDUBBA_OK;
}

/* The teller's: complete the read that waits, if there is one. */
static inline void fake_read_tell(void)
{
    struct edubba_result result = {.code = fake_data.end_code, .text = fake_data.end_text};
    struct edubba_row row;
    char key[16];
    uint8_t *memory = NULL;
    pthread_mutex_lock(&fake_read.lock);
    edubba_completion completion = fake_read.completion;
    fake_read.completion = NULL;
    pthread_mutex_unlock(&fake_read.lock);
    if (completion == NULL) {
        return;
    }
    if (fake_data.row_count > 0 && result.code == EDUBBA_OK) {
        fake_row_make(0, false, key, &row, &memory);
        result.row = &row;
    }
    completion(fake_read.context, &result);
    memory_free(memory);
}

#endif /* TESTS_SUPPORT_FAKE_SCAN_H */
