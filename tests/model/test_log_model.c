/*
 * The log against a list of records, through crashes.
 *
 * A crash is a sync (or write) that fails: the log stops, and the batch that was on its way has
 * been written but not synced.  Then the disk forgets: each sector of that batch keeps its bytes,
 * becomes zero, or becomes noise.  At the next opening
 *   - every record known synced comes back exactly once, in order, as it was, from the release on;
 *   - of the batch on its way come all records or none;
 *   - nothing else comes.
 * And now and then a synced byte is damaged first: that opening must be refused.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/endian.h"
#include "common/base/prng.h"
#include "common/io/file.h"
#include "tabletserver/storage/log/log.h"
#include "tabletserver/storage/log/log_segment.h"
#include "tests/support/test_folder.h"

#define SEEDS        12
#define LIVES        8
#define RECORDS_MAX  8192
#define SECTOR_BYTES 512
#define STORE        UINT64_C(77)

struct known_record {
    uint64_t position;
    uint64_t content_seed;
    size_t size_bytes;
};

struct model {
    struct prng prng;
    struct log *log;
    struct log_options options;
    struct known_record records[RECORDS_MAX];
    uint64_t count;    /* appended */
    uint64_t released; /* position */
    uint64_t known_synced;
    uint64_t end_position; /* of what was appended */

    uint64_t replayed_first; /* UINT64_MAX before the first */
    uint64_t replayed_next;

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t synced; /* guarded */
    bool failed;     /* guarded */
};

static struct model model;
static char folder[FILE_PATH_SIZE_MAX];

static void on_synced(void *context, uint64_t position)
{
    struct model *m = context;
    pthread_mutex_lock(&m->mutex);
    cr_assert_not(m->failed);
    cr_assert_gt(position, m->synced);
    m->synced = position;
    pthread_cond_signal(&m->changed);
    pthread_mutex_unlock(&m->mutex);
}

static void on_failed(void *context, const struct error *error)
{
    struct model *m = context;
    pthread_mutex_lock(&m->mutex);
    cr_assert_not(m->failed);
    cr_assert_eq(error->status, STATUS_IO);
    m->failed = true;
    pthread_cond_signal(&m->changed);
    pthread_mutex_unlock(&m->mutex);
}

static void fill(uint8_t *data, const struct known_record *record)
{
    struct prng prng = prng_of_seed(record->content_seed);
    for (size_t i = 0; i < record->size_bytes; i++) {
        data[i] = (uint8_t)prng_next(&prng);
    }
}

static enum status on_replay(void *context,
                             const struct log_record *record,
                             uint64_t position,
                             struct error *ret_error)
{
    static uint8_t expected[1 << 20];
    struct model *m = context;
    (void)ret_error;
    if (m->replayed_first == UINT64_MAX) {
        m->replayed_first = record->sequence;
        m->replayed_next = record->sequence;
    }
    cr_assert_eq(record->sequence, m->replayed_next);
    cr_assert_lt(record->sequence, m->count);
    const struct known_record *known = &m->records[record->sequence];
    cr_assert_eq(position, known->position);
    cr_assert_eq(record->payload.size_bytes, known->size_bytes);
    fill(expected, known);
    cr_assert(bytes_equal(record->payload, bytes_of(expected, known->size_bytes)));
    m->replayed_next++;
    return STATUS_OK;
}

/* ---- the disk, from outside ---- */

/* Change one byte of the stream, where a segment has it: to zero, noise, or another one. */
enum damage {
    DAMAGE_ZERO,
    DAMAGE_NOISE,
    DAMAGE_FLIP,
};

static struct log_segment *segments[256];
static size_t segment_count;

static void open_segments(void)
{
    struct arena arena;
    char **names = NULL;
    size_t count = 0;
    uint64_t number = 0;
    segment_count = 0;
    arena_init(&arena, 4096, SIZE_MAX);
    cr_assert_eq(file_list_folder(folder, &arena, &names, &count, NULL), STATUS_OK);
    for (size_t i = 0; i < count; i++) {
        struct log_segment *segment = NULL;
        if (log_segment_number(names[i], LOG_SEGMENT_PREFIX, &number)) {
            cr_assert_eq(log_segment_open(folder, number, STORE, &segment, NULL), STATUS_OK);
            segments[segment_count++] = segment;
        }
    }
    arena_deinit(&arena);
}

static void close_segments(void)
{
    for (size_t i = 0; i < segment_count; i++) {
        log_segment_destroy(segments[i]);
    }
    segment_count = 0;
}

static void damage_byte(uint64_t position, enum damage damage)
{
    for (size_t i = 0; i < segment_count; i++) {
        const struct log_segment_header *header = &segments[i]->header;
        if (position < header->first_position || position >= log_segment_end(header)) {
            continue;
        }
        uint64_t offset = LOG_BLOCK_BYTES + position - header->first_position;
        uint8_t byte = 0;
        cr_assert_eq(file_read_at(&segments[i]->file, offset, &byte, 1, NULL), STATUS_OK);
        byte = damage == DAMAGE_ZERO    ? 0
               : damage == DAMAGE_NOISE ? (uint8_t)prng_next(&model.prng)
                                        : (uint8_t)(byte ^ 0x20);
        cr_assert_eq(file_write_at(&segments[i]->file, offset, &byte, 1, NULL), STATUS_OK);
    }
}

/* What a power cut may make of bytes that were written and not synced. */
static void forget_unsynced(uint64_t from, uint64_t to)
{
    int mood = (int)prng_below(&model.prng, 4); /* 0: all is kept; else sector by sector */
    int choice = 0;
    open_segments();
    for (uint64_t position = from; mood != 0 && position < to; position++) {
        if (position == from || position % SECTOR_BYTES == 0) {
            choice = (int)prng_below(&model.prng, 3);
        }
        if (choice != 0) {
            damage_byte(position, choice == 1 ? DAMAGE_ZERO : DAMAGE_NOISE);
        }
    }
    close_segments();
}

/* ---- one life of the log ---- */

static uint64_t first_kept(void)
{
    uint64_t first = 0;
    while (first < model.count && model.records[first].position < model.released) {
        first++;
    }
    return first;
}

/* Records in batches that are known synced. */
static uint64_t synced_count(void)
{
    uint64_t count = model.count;
    while (count > 0 && model.records[count - 1].position >= model.known_synced) {
        count--;
    }
    return count;
}

static void check_replayed(void)
{
    uint64_t first = model.replayed_first;
    uint64_t next = model.replayed_next;
    uint64_t synced = synced_count();
    if (first == UINT64_MAX) {
        first = first_kept();
        next = first;
    }
    cr_assert_leq(first, first_kept());
    cr_assert_geq(next, synced, "synced %d, came %d", (int)synced, (int)next);
    cr_assert_leq(next, model.count);
    /* Whole batches only. */
    cr_assert(next == model.count || next == 0 ||
              model.records[next].position != model.records[next - 1].position);
    model.count = next;
}

static void open_log(void)
{
    struct error error = {0};
    struct log_statistics statistics;
    model.replayed_first = UINT64_MAX;
    model.options.segment_bytes = 16384u << prng_below(&model.prng, 3);
    model.options.spare_segments_max = (uint32_t)prng_below(&model.prng, 4);
    model.options.synced_position_hint = prng_chance(&model.prng, 2) ? model.known_synced : 0;
    enum status status = log_open(&model.options, &model.log, &error);
    cr_assert_eq(status, STATUS_OK, "%s", error.text);
    check_replayed();
    log_statistics(model.log, &statistics);
    cr_assert_geq(statistics.synced_position, model.known_synced);
    model.known_synced = statistics.synced_position;
    model.end_position = statistics.next_position;
    model.synced = statistics.synced_position;
    model.failed = false;
}

/* A synced byte that a later synced batch proves: damage it, and the log must not open. */
static void expect_damage_refused(void)
{
    struct error error = {0};
    uint64_t first = first_kept();
    uint64_t synced = synced_count();
    if (synced < first + 2) {
        return;
    }
    const struct known_record
        *victim = &model.records[first + prng_below(&model.prng, synced - first)];
    if (victim->position >= model.records[synced - 1].position) {
        return;
    }
    uint64_t at = victim->position + prng_below(&model.prng, LOG_BATCH_HEADER_BYTES + 10);
    open_segments();
    damage_byte(at, DAMAGE_FLIP);
    model.replayed_first = UINT64_MAX;
    enum status status = log_open(&model.options, &model.log, &error);
    cr_assert_eq(status, STATUS_CORRUPT, "%s", error.text);
    cr_assert_not_null(strstr(error.text, folder));
    damage_byte(at, DAMAGE_FLIP);
    close_segments();
}

static bool append_one(void)
{
    static uint8_t data[1 << 20];
    struct known_record *known = &model.records[model.count];
    known->content_seed = prng_next(&model.prng);
    known->size_bytes = prng_below(&model.prng, 400);
    if (prng_chance(&model.prng, 60)) {
        known->size_bytes = prng_below(&model.prng, 150000);
    }
    fill(data, known);
    struct log_record record = {
        .type = 1, .sequence = model.count, .payload = bytes_of(data, known->size_bytes)};
    enum status status = log_append(model.log, &record, &known->position);
    if (status == STATUS_OK) {
        model.count++;
        return true;
    }
    cr_assert(status == STATUS_CLOSED || status == STATUS_RESOURCE_EXHAUSTED);
    return status != STATUS_CLOSED;
}

/* Wait until all that was appended is synced, or the log has failed. */
static void settle(void)
{
    uint64_t last = model.count == 0 ? 0 : model.records[model.count - 1].position;
    log_commit(model.log);
    pthread_mutex_lock(&model.mutex);
    while (!model.failed && model.synced <= last) {
        pthread_cond_wait(&model.changed, &model.mutex);
    }
    pthread_mutex_unlock(&model.mutex);
}

static void release_some(void)
{
    pthread_mutex_lock(&model.mutex);
    uint64_t synced = model.synced;
    pthread_mutex_unlock(&model.mutex);
    if (synced > model.released) {
        model.released += prng_below(&model.prng, synced - model.released + 1);
        log_release(model.log, model.released);
    }
}

static void work(void)
{
    uint64_t rounds = prng_below(&model.prng, 40);
    for (uint64_t i = 0; i < rounds && model.count + 16 < RECORDS_MAX; i++) {
        uint64_t records = 1 + prng_below(&model.prng, 8);
        for (uint64_t j = 0; j < records; j++) {
            if (!append_one()) {
                return;
            }
        }
        log_commit(model.log);
        if (prng_chance(&model.prng, 3)) {
            settle();
        }
        if (prng_chance(&model.prng, 6)) {
            release_some();
        }
    }
}

static void live_and_crash(void)
{
    struct log_statistics statistics;
    bool crash = !prng_chance(&model.prng, 4);
    uint64_t faults = file_fault_count();
    if (crash) {
        file_fault_arm(&(struct file_fault){
            .operation = prng_chance(&model.prng, 4) ? FILE_OPERATION_WRITE : FILE_OPERATION_SYNC,
            .after = prng_below(&model.prng, 40),
            .error_number = EIO,
            .for_ever = true,
            .short_write = prng_chance(&model.prng, 2)});
    }
    work();
    if (prng_chance(&model.prng, 2)) {
        settle();
    }
    log_statistics(model.log, &statistics);
    faults = file_fault_count() - faults;
    log_close(model.log);
    file_fault_disarm();
    cr_assert(model.failed || faults == 0, "a failed sync or write is told");
    model.known_synced = model.synced;
    if (model.failed) {
        forget_unsynced(model.synced, statistics.next_position);
    } else {
        cr_assert_eq(synced_count(), model.count, "closing syncs everything");
    }
}

static void live_through(uint64_t seed)
{
    char command[FILE_PATH_SIZE_MAX + 16];
    model.prng = prng_of_seed(seed);
    model.count = 0;
    model.released = 0;
    model.known_synced = 0;
    test_folder_make(folder, sizeof folder, "log-model");
    model.options = (struct log_options){
        .folder = folder,
        .store_number = STORE,
        .pending_bytes_max = 1 << 20,
        .context = &model,
        .on_synced = on_synced,
        .on_failed = on_failed,
        .on_replay = on_replay,
    };
    for (int life = 0; life < LIVES; life++) {
        open_log();
        live_and_crash();
        if (prng_chance(&model.prng, 2)) {
            expect_damage_refused();
        }
    }
    open_log();
    log_close(model.log);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    cr_assert_eq(system(command), 0);
}

Test(log_model, synced_records_come_back_once_in_order_through_every_crash, .timeout = 600)
{
    pthread_mutex_init(&model.mutex, NULL);
    pthread_cond_init(&model.changed, NULL);
    const char *first = getenv("EDUBBA_LOG_MODEL_SEED");
    uint64_t seed = first == NULL ? 1 : strtoull(first, NULL, 10);
    const char *count = getenv("EDUBBA_LOG_MODEL_SEEDS");
    uint64_t end = seed + (count == NULL ? SEEDS : strtoull(count, NULL, 10));
    for (; seed < end; seed++) {
        live_through(seed);
    }
}
