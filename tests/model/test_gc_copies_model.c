/*
 * Garbage collection of a tablet with copies, against a list of what was asked of who leads.
 *
 * Three stores in one process: one leads and is written to, the others get its entries, horizons and deletes of its
 * collector among them, at lags of their own.  Each flushes, collects, is opened again and hears of new rules when it likes; now and
 * then a copy is taught anew, by slices of the leader's, and goes on with the entries behind them.
 *
 * The truth is store_gc_truth.h's, by the rules of who leads.  Whenever a copy has all that the leader has, it shows
 * what the leader may show: every cell that no rule has dropped since it was written, whatever this copy has heard of rules and
 * collected; nothing that was deleted; and by the leader's rules, nothing that has expired.
 */
#include <sys/mman.h>

#include "tests/model/store_gc_compare.h"
#include "tests/model/store_gc_truth.h"

#include "tabletserver/storage/copies/store_slice.h"
#include "tabletserver/storage/record/record_replica.h"
#include "tabletserver/storage/store/store_internal.h"

#define TABLET      1
#define COPIES      2
#define ENTRIES_MAX 20000

struct given {
    struct store_entry entry;
    struct buffer payload;
};

struct copy {
    struct fixture fixture;
    struct store_tablet *tablet;
    struct table table; /* what it has heard of */
    struct family families[FAMILY_COUNT];
    struct gc_rule rules[FAMILY_COUNT][4];
    bool follows;
};

static const struct store_configuration leading = {
    .members = {.version = 1, .member_count = 1, .members = {{1, FIXTURE_STORE}}}, .role = 3};
static const struct store_configuration outside = {
    .members = {.version = 1, .member_count = 1, .members = {{2, 8}}}, .role = 1};

static struct store_tablet *leader;
static struct copy copies[COPIES];
static struct given entries[ENTRIES_MAX]; /* of sequence index + 1 */
static uint64_t given_count;
static uint64_t rules_seed; /* of the leader's rules of now */
static uint64_t lessons;
static uint64_t looks;

/* --- who leads ------------------------------------------------------------------------------------ */

static enum status on_append(void *context,
                             struct store_tablet *tablet,
                             const struct store_entry *entry)
{
    (void)context;
    (void)tablet;
    return entry->sequence <= ENTRIES_MAX ? STATUS_OK : STATUS_UNAVAILABLE;
}

static void on_appended(void *context, struct store_tablet *tablet, const struct store_entry *entry)
{
    (void)context;
    (void)tablet;
    struct given *given = &entries[entry->sequence - 1];
    buffer_reset(&given->payload);
    buffer_append_bytes(&given->payload, entry->payload);
    given->entry = *entry;
    given->entry.payload = buffer_bytes(&given->payload);
    given_count = entry->sequence;
}

static void configure(struct fixture *of,
                      struct store_tablet *tablet,
                      const struct store_configuration *configuration)
{
    uint64_t before = of->configured_count;
    cr_assert_eq(store_tablet_configure(tablet, configuration, store_tablet_committed(tablet)),
                 STATUS_OK);
    store_commit(of->store);
    FIXTURE_PUMP_UNTIL(of, of->configured_count > before);
}

static void open_leader(void)
{
    struct error error;
    struct store_callbacks callbacks = fixture_callbacks(&fixture);
    callbacks.on_append = on_append;
    callbacks.on_appended = on_appended;
    fixture.loop = pthread_self();
    cr_assert_eq(store_open(fixture.folder, FIXTURE_STORE, &fixture.settings, &callbacks,
                            &fixture.store, &error),
                 STATUS_OK, "%s", error.text);
    cr_assert_eq(store_set_table(fixture.store, &fixture_table), STATUS_OK);
    leader = store_tablet_find(fixture.store, TABLET);
    if (leader == NULL) {
        leader = fixture_create(&fixture, TABLET, "", "");
        configure(&fixture, leader, &leading);
    }
    store_tablet_set_replica(leader, &fixture);
    store_tablet_share(leader);
    cr_assert_eq(store_tablet_lead(leader), STATUS_OK);
}

static void settle_leader(void)
{
    store_commit(fixture.store);
    FIXTURE_PUMP_UNTIL(&fixture, store_tablet_committed(leader) == store_tablet_appended(leader));
}

/* A lesson may be of any number of slices, with writes between them. */
static bool has_room(void)
{
    return shared->count < OPERATIONS_MAX - 8;
}

static void write_row(void)
{
    struct operation o = random_change();
    uint8_t operand[8];
    uint64_t sequence = 0;
    struct change change = to_change(&o, operand);
    struct record_entry entry = {.row = row_key(o.row), .changes = &change, .change_count = 1};
    enum status status = store_append_write(leader, &(struct record_write){&entry, 1},
                                            store_next_clock(fixture.store), &sequence);
    if (status == STATUS_OK) {
        note(&o);
    } else {
        cr_assert(status == STATUS_RESOURCE_EXHAUSTED || status == STATUS_UNAVAILABLE, "%s",
                  status_text(status));
    }
}

static void move_clock(int64_t seconds)
{
    struct operation operation = {.kind = CLOCK, .now_us = clock_after(model_now_us, seconds)};
    note(&operation);
    atomic_store(&fixture.now_us, operation.now_us);
    for (int i = 0; i < COPIES; i++) {
        atomic_store(&copies[i].fixture.now_us, operation.now_us);
    }
}

static void change_rules(void)
{
    rules_seed = prng_next(&prng);
    note(&(struct operation){.kind = RULES, .rules_seed = rules_seed});
    cr_assert_eq(store_set_table(fixture.store, &fixture_table), STATUS_OK);
}

/* --- copies --------------------------------------------------------------------------------------- */

static void hear_of_rules(struct copy *copy)
{
    struct prng random = prng_of_seed(rules_seed);
    copy->table = fixture_table;
    memcpy(copy->families, bare_families, sizeof copy->families);
    for (unsigned i = 0; i < FAMILY_COUNT && rules_seed != 0; i++) {
        copy->families[i].gc = random_rule(&random, copy->rules[i]);
    }
    copy->table.families = copy->families;
    cr_assert_eq(store_set_table(copy->fixture.store, &copy->table), STATUS_OK);
}

static void open_copy(struct copy *copy)
{
    struct error error;
    cr_assert_eq(fixture_try_open(&copy->fixture, FIXTURE_STORE, &error), STATUS_OK, "%s",
                 error.text);
    if (copy->table.version != 0) {
        cr_assert_eq(store_set_table(copy->fixture.store, &copy->table), STATUS_OK);
    } else {
        hear_of_rules(copy);
    }
    copy->tablet = store_tablet_find(copy->fixture.store, TABLET);
    if (copy->tablet == NULL) {
        copy->tablet = fixture_create(&copy->fixture, TABLET, "", "");
    }
    store_tablet_follow(copy->tablet);
    struct store_configuration next = outside;
    next.members.version = store_tablet_configuration(copy->tablet)->members.version + 1;
    configure(&copy->fixture, copy->tablet, &next);
    copy->follows = !store_tablet_is_half_taught(copy->tablet);
}

static void reopen_copy(struct copy *copy)
{
    fixture_close(&copy->fixture);
    open_copy(copy);
}

/* False: there is none, or not now. */
static bool forward(struct copy *copy)
{
    uint64_t sequence = store_tablet_appended(copy->tablet) + 1;
    struct error error;
    if (!copy->follows || sequence > store_tablet_committed(leader)) {
        return false;
    }
    enum status status = store_append_entry(copy->tablet, &entries[sequence - 1].entry, &error);
    cr_assert(status == STATUS_OK || status == STATUS_RESOURCE_EXHAUSTED, "%s", error.text);
    return status == STATUS_OK;
}

static void commit_copy(struct copy *copy)
{
    store_commit(copy->fixture.store);
    store_poll(copy->fixture.store);
    if (copy->tablet->synced > store_tablet_committed(copy->tablet)) {
        enum status status = store_tablet_commit(copy->tablet, copy->tablet->synced);
        cr_assert(status == STATUS_OK || status == STATUS_RESOURCE_EXHAUSTED);
    }
}

static void await_taught(struct copy *copy, uint64_t before)
{
    FIXTURE_PUMP_UNTIL(&copy->fixture, copy->fixture.taught_count > before);
    cr_assert_eq(copy->fixture.taught_status, STATUS_OK);
}

static enum status give_slice(struct copy *copy, struct bytes bytes)
{
    struct error error;
    enum status status = STATUS_UNAVAILABLE;
    time_t until = time(NULL) + FIXTURE_TIMEOUT_S;
    while (status == STATUS_UNAVAILABLE) {
        cr_assert_lt(time(NULL), until, "a slice is never taken");
        uint64_t before = copy->fixture.taught_count;
        status = store_learn(copy->tablet, bytes, &error);
        if (status == STATUS_OK) {
            await_taught(copy, before);
            copy->follows = true;
        } else if (status == STATUS_UNAVAILABLE) {
            (void)forward(copy);
            commit_copy(copy);
        }
    }
    return status;
}

static void end_lesson(struct copy *copy)
{
    enum status status = STATUS_UNAVAILABLE;
    time_t until = time(NULL) + FIXTURE_TIMEOUT_S;
    while (status == STATUS_UNAVAILABLE) {
        cr_assert_lt(time(NULL), until, "the lesson does not end");
        uint64_t before = copy->fixture.taught_count;
        status = store_learn_end(copy->tablet);
        if (status == STATUS_OK) {
            await_taught(copy, before);
        } else {
            (void)forward(copy);
            commit_copy(copy);
        }
    }
    cr_assert_eq(status, STATUS_OK);
    lessons++;
}

/* Everything anew; the leader is written to and collects meanwhile. */
static void teach(struct copy *copy)
{
    struct store_slices *slices = NULL;
    struct buffer slice = BUFFER_INIT;
    uint64_t sequence = 0;
    bool last = false;
    settle_leader();
    cr_assert_eq(store_slices_begin(leader, 0, &slices, &sequence), STATUS_OK);
    while (!last) {
        buffer_reset(&slice);
        cr_assert_eq(store_slices_read(slices, &slice, &sequence, &last), STATUS_OK);
        cr_assert_eq(give_slice(copy, buffer_bytes(&slice)), STATUS_OK);
        for (uint64_t writes = prng_below(&prng, 4); writes > 0 && has_room(); writes--) {
            write_row();
        }
        settle_leader();
    }
    store_slices_end(slices);
    buffer_deinit(&slice);
    end_lesson(copy);
}

/* --- looking -------------------------------------------------------------------------------------- */

static void level(struct copy *copy)
{
    time_t until = time(NULL) + FIXTURE_TIMEOUT_S;
    while (store_tablet_committed(copy->tablet) < store_tablet_committed(leader)) {
        cr_assert_lt(time(NULL), until, "the copy does not come level");
        (void)forward(copy);
        commit_copy(copy);
    }
}

static void expect(struct store_tablet *tablet, const char *which)
{
    mark_dropped();
    memset(seen, 0, sizeof seen);
    cr_assert_eq(expect_tablet(tablet, &fixture_table), 0, "an expired cell is shown (%s)", which);
    expect_seen(which);
    memset(seen, 0, sizeof seen);
    (void)expect_tablet(tablet, &bare_table);
    expect_seen(which);
    store_check(store_tablet_store(tablet));
    looks++;
}

static void look(struct copy *copy)
{
    settle_leader();
    if (copy->follows) {
        level(copy);
        expect(copy->tablet, copy == copies ? "the first copy" : "the second copy");
    }
    expect(leader, "who leads");
}

/* --- a run ---------------------------------------------------------------------------------------- */

static void step(void)
{
    struct copy *copy = &copies[prng_below(&prng, COPIES)];
    uint64_t dice = prng_below(&prng, 200);
    if (dice < 80) {
        write_row();
    } else if (dice < 130) {
        (void)forward(copy);
        commit_copy(copy);
    } else if (dice < 140) {
        move_clock(1 + (int64_t)prng_below(&prng, 3));
    } else if (dice < 144) {
        change_rules();
    } else if (dice < 148) {
        hear_of_rules(copy);
    } else if (dice < 158) {
        store_flush_all(fixture.store);
    } else if (dice < 172) {
        store_flush_all(copy->fixture.store);
    } else if (dice < 182) {
        look(copy);
    } else if (dice < 183) {
        reopen_copy(copy);
    } else if (dice < 184) {
        teach(copy);
    } else {
        usleep(300);
        store_commit(fixture.store);
        store_poll(fixture.store);
        store_poll(copy->fixture.store);
    }
}

static void set_limits(struct fixture *of, struct prng *limits)
{
    of->settings.memtable_limit_bytes = 2000 << prng_below(limits, 8);
    of->settings.log_segment_bytes = 256 * 1024;
    of->settings.flush_transaction_bytes = 4096 << prng_below(limits, 6);
    of->settings.slice_bytes = 50 << prng_below(limits, 10);
    of->settings.gc_interval_us = 1 + (int64_t)prng_below(limits, 4);
}

static void begin(uint64_t seed)
{
    struct prng limits = prng_of_seed(seed ^ 0x6363);
    static struct shared here;
    prng = prng_of_seed(seed);
    memset(&here, 0, sizeof here);
    shared = &here;
    cell_count = 0;
    given_count = 0;
    rules_seed = 0;
    for (int i = 0; i < FAMILY_COUNT; i++) {
        fixture_families[i].gc = (struct gc_rule){.kind = GC_NONE};
    }
    fixture_table.version = 1;
    bare_table = fixture_table;
    bare_table.families = bare_families;
    memcpy(bare_families, fixture_families, sizeof bare_families);
    fixture_init(&fixture);
    set_limits(&fixture, &limits);
    model_now_us = clock_after(INT64_C(1700000000) * SECOND_US, 0);
    atomic_store(&fixture.now_us, model_now_us);
    open_leader();
    for (int i = 0; i < COPIES; i++) {
        copies[i] = (struct copy){.follows = false};
        fixture_init(&copies[i].fixture);
        set_limits(&copies[i].fixture, &limits);
        atomic_store(&copies[i].fixture.now_us, model_now_us);
        open_copy(&copies[i]);
    }
}

static void end(void)
{
    for (int i = 0; i < COPIES; i++) {
        look(&copies[i]);
        fixture_deinit(&copies[i].fixture);
    }
    fixture_deinit(&fixture);
    for (uint64_t i = 0; i < given_count; i++) {
        buffer_deinit(&entries[i].payload);
        entries[i].payload = (struct buffer)BUFFER_INIT;
    }
}

static void run_seed(uint64_t seed, uint32_t steps)
{
    begin(seed);
    for (uint32_t i = 0; i < steps && has_room(); i++) {
        step();
    }
    end();
}

Test(gc_copies_model, each_collects_as_it_likes)
{
    if (getenv("EDUBBA_SEED") != NULL) {
        run_seed(strtoull(getenv("EDUBBA_SEED"), NULL, 10), 3000);
        return;
    }
    for (uint64_t seed = 1; seed <= 12; seed++) {
        run_seed(seed, 700);
    }
    cr_assert_gt(lessons, 0);
    cr_assert_gt(looks, 100);
}
