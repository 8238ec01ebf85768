/*
 * A tablet taught to another store by slices (store_slice.h), against a list of what was written.
 *
 * Two stores in one child process: one is written to at random, the other is taught at random moments, gets
 * the entries behind that at random lags, is flushed, opened again, given slices twice and damaged ones.
 * The parent kills both at a random moment.  Whatever the learner says to have, at any moment and after each
 * start, must be what the list comes to at its committed sequence: counters are neither missed nor doubled.
 * Half taught it says to have nothing.
 */
#include <sys/mman.h>

#include "tests/support/forked.h"
#include "tests/support/numbered_requests.h"

#include "tests/model/store_lives.h"
#include "tests/model/store_truth.h"

#include "common/base/assert.h"
#include "tabletserver/storage/copies/slice.h"
#include "tabletserver/storage/record/record_replica.h"
#include "tabletserver/storage/store/store_internal.h"

#define TABLET 1

static const struct store_configuration outside = {
    .members = {.version = 3, .member_count = 1, .members = {{2, 8}}}, .role = 1};

struct slice_shared {
    struct shared base;
    uint64_t clocks[OPERATIONS_MAX];
    uint64_t committed; /* at the teacher: never lost */
    uint64_t learnt;    /* at the learner, whole */
    uint64_t lessons;   /* that came to their end */
    uint64_t slices;
    uint64_t held_back;
};

static struct slice_shared *all;
static struct fixture learner_fixture;
static struct store_tablet *teacher;
static struct store_tablet *learner;
static struct store_slices *slices;
static struct buffer given; /* the slice that is due at the learner */
static struct buffer given_before;
static bool given_last;
static bool writing; /* the learner's store writes it */
static bool ending;
static uint64_t taught_seen;
static bool following; /* the log goes on at the learner */

/* --- the teacher ---------------------------------------------------------------------------------- */

static void look_at_teacher(void)
{
    store_poll(fixture.store);
    all->committed = store_tablet_committed(teacher);
}

static struct buffer payload_of(const struct operation *operation)
{
    struct change changes[CHANGES_MAX];
    uint8_t operands[CHANGES_MAX][8];
    struct buffer payload = BUFFER_INIT;
    if (operation->kind == DROP) {
        struct buffer after = BUFFER_INIT;
        buffer_append_bytes(&after, row_key(operation->row_end - 1U));
        buffer_append_u8(&after, 0);
        record_encode_drop_range(
            &(struct record_drop_range){.range = {row_key(operation->row), buffer_bytes(&after)}},
            &payload);
        buffer_deinit(&after);
        return payload;
    }
    for (unsigned i = 0; i < operation->change_count; i++) {
        changes[i] = to_change(&operation->changes[i], operands[i]);
    }
    struct record_entry entry = {.row = row_key(operation->row),
                                 .changes = changes,
                                 .change_count = operation->change_count};
    if (operation->request != 0) {
        entry.request = numbered_request(operation->request);
    }
    record_encode_write(&(struct record_write){&entry, 1}, &payload);
    return payload;
}

/* By the store's own door, from the payload. */
static enum status append(const struct operation *operation, uint64_t clock)
{
    struct buffer payload = payload_of(operation);
    struct arena arena;
    uint64_t sequence = 0;
    enum status status = STATUS_OK;
    arena_init(&arena, 4096, SIZE_MAX);
    if (operation->kind == DROP) {
        struct record_drop_range drop;
        cr_assert_eq(record_decode_drop_range(buffer_bytes(&payload), &drop, NULL), STATUS_OK);
        status = store_append_drop_range(teacher, &drop, clock, &sequence);
    } else {
        struct record_write write;
        cr_assert_eq(record_decode_write(buffer_bytes(&payload), &arena, &write, NULL), STATUS_OK);
        status = store_append_write(teacher, &write, clock, &sequence);
    }
    arena_deinit(&arena);
    buffer_deinit(&payload);
    return status;
}

static void write_entry(enum kind kind)
{
    struct operation *operation = &shared->operations[shared->count];
    memset(operation, 0, sizeof *operation);
    operation->kind = kind;
    operation->tablet = TABLET;
    operation->sequence = shared->count + 1;
    operation->committed = true;
    operation->row = (uint8_t)prng_below(&prng, ROW_COUNT);
    operation->row_end = (uint8_t)(operation->row + 1 +
                                   prng_below(&prng, ROW_COUNT - operation->row));
    operation->change_count = (uint8_t)prng_below(&prng, CHANGES_MAX + 1);
    for (unsigned i = 0; i < operation->change_count; i++) {
        operation->changes[i] = random_change();
    }
    if (kind == WRITE && prng_chance(&prng, 3)) {
        operation->request = ++shared->request_next;
    }
    uint64_t clock = store_next_clock(fixture.store);
    all->clocks[shared->count++] = clock; /* first: it may be in the log when this process ends */
    if (append(operation, clock) != STATUS_OK) {
        shared->count--;
        return;
    }
    cr_assert_eq(atomic_load(&teacher->clock), clock);
}

/* --- the learner ---------------------------------------------------------------------------------- */

static void end_lesson(void)
{
    store_slices_end(slices);
    slices = NULL;
    buffer_reset(&given);
    buffer_reset(&given_before);
    ending = false;
}

static void begin_lesson(void)
{
    uint64_t sequence = 0;
    end_lesson();
    look_at_teacher();
    uint64_t next = all->committed < shared->count ? all->clocks[all->committed] : 0;
    enum status status = store_slices_begin(teacher, next, &slices, &sequence);
    cr_assert_eq(status, STATUS_OK, "%s", status_text(status));
    cr_assert_eq(sequence, all->committed);
    given_last = false;
}

static void read_slice(void)
{
    if (slices == NULL || given.size_bytes > 0 || given_last) {
        return;
    }
    uint64_t sequence = 0;
    enum status status = store_slices_read(slices, &given, &sequence, &given_last);
    cr_assert_eq(status, STATUS_OK, "%s", status_text(status));
    cr_assert_leq(sequence, store_tablet_committed(teacher));
    all->slices++;
}

/* Refused, whatever comes of it: nothing has changed. */
static void give_nonsense(void)
{
    struct error error;
    if (given_before.size_bytes > 0 && !writing) {
        struct arena arena;
        struct slice slice;
        arena_init(&arena, 4096, SIZE_MAX);
        cr_assert_eq(slice_decode(buffer_bytes(&given_before), TABLET, &arena, &slice, &error),
                     STATUS_OK);
        bool rows = slice.kind == SLICE_ROWS &&
                    tablet_position_compare(&slice.from, &slice.to) != 0;
        arena_deinit(&arena);
        if (rows && store_learn(learner, buffer_bytes(&given_before), &error) !=
                        STATUS_FAILED_PRECONDITION) {
            cr_assert_fail("a slice was taken twice");
        }
    }
    if (given.size_bytes > 0) {
        size_t at = prng_below(&prng, given.size_bytes);
        given.data[at] ^= (uint8_t)(1U << prng_below(&prng, 8));
        enum status status = store_learn(learner, buffer_bytes(&given), &error);
        cr_assert(status == STATUS_CORRUPT || status == STATUS_UNAVAILABLE, "%s",
                  status_text(status));
        begin_lesson();
    }
}

static void look_at_learner(void)
{
    store_poll(learner_fixture.store);
    if (learner_fixture.taught_count == taught_seen) {
        return;
    }
    taught_seen = learner_fixture.taught_count;
    cr_assert_eq(learner_fixture.taught_status, STATUS_OK);
    writing = false;
    following = following || store_tablet_committed(learner) > 0;
    if (ending) {
        cr_assert_not(store_tablet_is_half_taught(learner));
        all->lessons++;
        end_lesson();
    }
}

/* Else the walk would come no further than the disk in the time of thousands of steps. */
static void await_written(void)
{
    time_t until = time(NULL) + FIXTURE_TIMEOUT_S;
    while (writing) {
        cr_assert_lt(time(NULL), until, "a slice is not written");
        usleep(FIXTURE_PUMP_US);
        look_at_learner();
    }
}

static void give_slice(void)
{
    struct error error;
    look_at_learner();
    if (prng_chance(&prng, 2)) {
        await_written();
    }
    if (slices == NULL || writing) {
        return;
    }
    if (given.size_bytes == 0) {
        if (given_last) {
            enum status status = store_learn_end(learner);
            cr_assert(status == STATUS_OK || status == STATUS_UNAVAILABLE);
            writing = ending = status == STATUS_OK;
        }
        return;
    }
    enum status status = store_learn(learner, buffer_bytes(&given), &error);
    if (status == STATUS_UNAVAILABLE) {
        all->held_back++;
        return;
    }
    if (status == STATUS_FAILED_PRECONDITION) {
        begin_lesson(); /* its log went on meanwhile: records that are newer */
        return;
    }
    cr_assert_eq(status, STATUS_OK, "%s", error.text);
    writing = true;
    struct buffer before = given_before;
    given_before = given;
    given = before;
    buffer_reset(&given);
}

/* The next committed entry, if it follows on what is there. */
static void forward(void)
{
    uint64_t sequence = store_tablet_appended(learner) + 1;
    if (!following || sequence > all->committed) {
        return;
    }
    const struct operation *operation = &shared->operations[sequence - 1];
    struct buffer payload = payload_of(operation);
    struct store_entry entry = {sequence,
                                2,
                                {all->clocks[sequence - 1], 0, 0},
                                operation->kind == DROP ? RECORD_DROP_RANGE : RECORD_WRITE,
                                buffer_bytes(&payload)};
    struct error error;
    enum status status = store_append_entry(learner, &entry, &error);
    cr_assert(status == STATUS_OK || status == STATUS_RESOURCE_EXHAUSTED,
              "%s: %llu of clock %llx, behind %llx", error.text, (unsigned long long)sequence,
              (unsigned long long)all->clocks[sequence - 1],
              (unsigned long long)atomic_load(&learner->clock));
    buffer_deinit(&payload);
}

static void commit_learner(void)
{
    look_at_learner();
    uint64_t sequence = learner->synced;
    if (sequence > store_tablet_committed(learner)) {
        enum status status = store_tablet_commit(learner, sequence);
        cr_assert(status == STATUS_OK || status == STATUS_RESOURCE_EXHAUSTED, "%s",
                  status_text(status));
    }
}

static void expect_requests(void)
{
    for (uint32_t i = 0; i < store_tablet_committed(learner); i++) {
        const struct operation *operation = &shared->operations[i];
        if (operation->request != 0) {
            cr_assert_eq(verdict_of(learner, operation->request), DEDUPE_DONE, "request %d",
                         (int)operation->request);
        }
    }
}

static void expect_learner(void)
{
    store_check(learner_fixture.store);
    if (!store_tablet_is_half_taught(learner)) {
        expect_tablet(learner, STORE_READ_COMMITTED);
        expect_requests();
        all->learnt = store_tablet_committed(learner);
    }
}

static void open_learner(void)
{
    fixture_open(&learner_fixture);
    learner = store_tablet_find(learner_fixture.store, TABLET);
    if (learner == NULL) {
        learner = fixture_create(&learner_fixture, TABLET, "", "");
        store_tablet_follow(learner);
    }
    if (store_tablet_configuration(learner)->members.version == 0) {
        uint64_t before = learner_fixture.configured_count;
        store_tablet_follow(learner);
        cr_assert_eq(store_tablet_configure(learner, &outside, 0), STATUS_OK);
        store_commit(learner_fixture.store);
        FIXTURE_PUMP_UNTIL(&learner_fixture, learner_fixture.configured_count > before);
    }
    /* As its primary has it do: what is not known to be committed goes. */
    struct store_configuration next = outside;
    next.members.version = store_tablet_configuration(learner)->members.version + 1;
    cr_assert_eq(store_tablet_configure(learner, &next, store_tablet_committed(learner)),
                 STATUS_OK);
    store_commit(learner_fixture.store);
    cr_assert(IMPLIES(store_tablet_is_half_taught(learner), store_tablet_committed(learner) == 0));
    writing = ending = false;
    taught_seen = learner_fixture.taught_count;
    following = !store_tablet_is_half_taught(learner);
    expect_learner();
}

static void reopen_learner(void)
{
    fixture_close(&learner_fixture);
    end_lesson();
    open_learner();
}

/* --- lives ---------------------------------------------------------------------------------------- */

static void open_both(void)
{
    fixture_open(&fixture);
    teacher = store_tablet_find(fixture.store, TABLET);
    if (teacher == NULL) {
        teacher = fixture_create(&fixture, TABLET, "", "");
    }
    cr_assert_geq(store_tablet_committed(teacher), all->committed);
    shared->count = (uint32_t)store_tablet_committed(teacher);
    look_at_teacher();
    expect_tablet(teacher, STORE_READ_COMMITTED);
    open_learner();
}

static bool walks(void)
{
    return slices != NULL || store_tablet_is_half_taught(learner);
}

static void step(void)
{
    uint64_t dice = prng_below(&prng, 200);
    if (dice < 50) {
        write_entry(WRITE);
    } else if (dice < 51) {
        if (!walks()) { /* and none begins before it is committed: so it is in all slices */
            write_entry(DROP);
            store_commit(fixture.store);
            FIXTURE_PUMP_UNTIL(&fixture, store_tablet_committed(teacher) == shared->count);
        }
    } else if (dice < 70) {
        store_commit(fixture.store);
        look_at_teacher();
    } else if (dice < 100) {
        forward();
    } else if (dice < 115) {
        store_commit(learner_fixture.store);
        commit_learner();
    } else if (dice < 145) {
        read_slice();
    } else if (dice < 185) {
        give_slice();
    } else if (dice < 189) {
        if (slices == NULL) {
            begin_lesson();
        }
    } else if (dice < 192) {
        store_flush_all(fixture.store);
    } else if (dice < 195) {
        store_flush_all(learner_fixture.store);
    } else if (dice < 197) {
        give_nonsense();
    } else if (dice < 199) {
        expect_learner();
    } else if (prng_chance(&prng, 6)) {
        reopen_learner();
    }
    all->base.steps++;
}

/* What is left of the lesson, or one more. */
static void finish_lesson(void)
{
    uint64_t lessons = all->lessons;
    if (slices == NULL && store_tablet_is_half_taught(learner)) {
        begin_lesson();
    }
    time_t until = time(NULL) + FIXTURE_TIMEOUT_S;
    while (slices != NULL && all->lessons == lessons) {
        cr_assert_lt(time(NULL), until,
                     "the lesson does not end: writing %d, given %d bytes, last %d; hold %d, "
                     "committed %d, synced %d, appended %d, there %d, slices %d",
                     writing, (int)given.size_bytes, given_last, (int)learner->hold_until,
                     (int)store_tablet_committed(learner), (int)learner->synced,
                     (int)store_tablet_appended(learner), (int)all->committed, (int)all->slices);
        store_commit(fixture.store);
        look_at_teacher();
        read_slice();
        give_slice();
        forward();
        store_commit(learner_fixture.store);
        commit_learner();
    }
    while (store_tablet_committed(learner) < all->committed && following) {
        cr_assert_lt(time(NULL), until, "the log does not come");
        forward();
        store_commit(learner_fixture.store);
        commit_learner();
    }
}

static void set_limits(uint64_t seed)
{
    struct prng limits = prng_of_seed(seed ^ 0x51);
    struct fixture *fixtures[] = {&fixture, &learner_fixture};
    for (int i = 0; i < 2; i++) {
        struct store_settings *settings = &fixtures[i]->settings;
        settings->memtable_limit_bytes = 2000 << prng_below(&limits, 8);
        settings->memory_limit_bytes = 64 << 20;
        settings->log_limit_bytes = 20000 << prng_below(&limits, 8);
        settings->log_segment_bytes = 256 * 1024;
        settings->window_bytes_max = 10000 << prng_below(&limits, 8);
        settings->flush_transaction_bytes = 4096 << prng_below(&limits, 6);
        settings->slice_bytes = 50 << prng_below(&limits, 13);
        settings->flush_pace_percent = prng_below(&limits, 2) == 0 ? 100 : 90;
    }
}

static void live(uint64_t seed, int life, uint32_t steps)
{
    prng = prng_of_seed(seed * 1000 + (uint64_t)life);
    atomic_fetch_add(&fixture.now_us, life * 1000000);
    atomic_fetch_add(&learner_fixture.now_us, life * 1000000);
    open_both();
    for (uint32_t i = 0; i < steps && shared->count < OPERATIONS_MAX - 8; i++) {
        step();
    }
    finish_lesson();
    expect_learner();
    if (getenv("EDUBBA_SEED") != NULL) {
        fprintf(stderr,
                "seed %d life %d: %u entries, %d committed, %d lessons, %d slices, %d held\n",
                (int)seed, life, shared->count, (int)all->learnt, (int)all->lessons,
                (int)all->slices, (int)all->held_back);
    }
    end_lesson();
    fixture_close(&learner_fixture);
}

static void run_seed(uint64_t seed, int lives, uint32_t steps)
{
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(all, MAP_FAILED);
    shared = &all->base;
    fixture_init(&fixture);
    fixture_init(&learner_fixture);
    set_limits(seed);
    const struct store_lives of_this = {
        .fixture = &fixture, .live = live, .kill_after_us = 1000, .kill_within_us = 120000};
    store_lives_run(&of_this, seed, lives, steps);
    cr_assert(lives > 1 || all->lessons > 0, "seed %d: nothing was taught", (int)seed);
    fixture_deinit(&fixture);
    fixture_deinit(&learner_fixture);
    munmap(all, sizeof *all);
}

Test(slice_store_model, killed_and_reopened)
{
    const struct store_worlds worlds = {1, 16, .lives = 6, .steps = 600};
    const struct store_worlds alone = {.lives = 8, .steps = 800};
    store_worlds_run(run_seed, worlds, alone);
}

Test(slice_store_model, long_lives)
{
    const struct store_worlds worlds = {100, 105, .lives = 1, .steps = 5000};
    store_worlds_run(run_seed, worlds, worlds);
}
