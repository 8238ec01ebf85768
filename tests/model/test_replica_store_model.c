/*
 * A store as the disk of one replica, against a list of what its log was given.
 *
 * A child process appends at random, as primary or as secondary, commits by word, adopts
 * configurations that drop what is uncommitted, flushes, leads, follows; the parent kills it at a
 * random moment.  Each record is noted in shared memory before it is appended.  The next child must
 * find the state after some beginning of that list, not shorter than what was said to be durable, with
 * a committed point between what the log proves and what was said.  The truth is the list: a
 * configuration cuts it where it says, and what is left of it is applied to an array of cells.
 */
#include <sys/mman.h>

#include "tests/support/forked.h"

#include "tests/model/replica_store_truth.h"
#include "tests/model/store_lives.h"

/* --- records -------------------------------------------------------------------------------------- */

static struct item *note_item(void)
{
    cr_assert_lt(all->item_count, ITEMS_MAX);
    struct item *item = &all->items[all->item_count];
    memset(item, 0, sizeof *item);
    item->version = store_tablet_describe(tablet)->configuration;
    item->committed = store_tablet_committed(tablet);
    return item;
}

static struct item *note_entry(enum kind kind)
{
    struct item *item = note_item();
    item->operation.kind = kind;
    item->operation.tablet = TABLET;
    item->operation.sequence = shared->count + 1;
    item->clock = store_tablet_leads(tablet) ? store_next_clock(fixture.store)
                                             : last_clock() + 1 + prng_below(&prng, 1000);
    return item;
}

/* The entry is on its way: it may be in the log from now on. */
static void begin_entry(const struct item *item)
{
    shared->operations[shared->count++] = item->operation;
    all->item_count++;
}

static void end_entry(enum status status)
{
    if (status != STATUS_OK) {
        cr_assert_eq(status, STATUS_RESOURCE_EXHAUSTED, "%s", status_text(status));
        shared->count--;
        all->item_count--;
        return;
    }
    cr_assert_eq(store_tablet_appended(tablet), shared->count);
}

static enum status append_as_secondary(const struct item *item,
                                       uint8_t type,
                                       struct buffer *payload)
{
    struct error error;
    struct store_entry entry = {
        item->operation.sequence, item->version, {item->clock, 0, 0}, type, buffer_bytes(payload)};
    enum status status = store_append_entry(tablet, &entry, &error);
    buffer_deinit(payload);
    return status;
}

static void write_row(void)
{
    struct item *item = note_entry(WRITE);
    struct operation *operation = &item->operation;
    struct change changes[CHANGES_MAX];
    uint8_t operands[CHANGES_MAX][8];
    operation->row = (uint8_t)prng_below(&prng, ROW_COUNT);
    operation->change_count = (uint8_t)prng_below(&prng, CHANGES_MAX + 1);
    for (unsigned i = 0; i < operation->change_count; i++) {
        operation->changes[i] = random_change();
        changes[i] = to_change(&operation->changes[i], operands[i]);
    }
    struct record_entry entry = {.row = row_key(operation->row),
                                 .changes = changes,
                                 .change_count = operation->change_count};
    if (prng_chance(&prng, 3)) {
        operation->request = ++shared->request_next;
        entry.request = numbered_request(operation->request);
    }
    struct record_write write = {&entry, 1};
    begin_entry(item);
    if (store_tablet_leads(tablet)) {
        uint64_t sequence = 0;
        end_entry(store_append_write(tablet, &write, item->clock, &sequence));
    } else {
        struct buffer payload = BUFFER_INIT;
        record_encode_write(&write, &payload);
        end_entry(append_as_secondary(item, RECORD_WRITE, &payload));
    }
}

static void drop_range(void)
{
    struct item *item = note_entry(DROP);
    struct operation *operation = &item->operation;
    operation->row = (uint8_t)prng_below(&prng, ROW_COUNT);
    operation->row_end = (uint8_t)(operation->row + 1 +
                                   prng_below(&prng, ROW_COUNT - operation->row));
    struct buffer after = BUFFER_INIT;
    buffer_append_bytes(&after, row_key(operation->row_end - 1U));
    buffer_append_u8(&after, 0);
    struct record_drop_range drop = {.range = {row_key(operation->row), buffer_bytes(&after)}};
    begin_entry(item);
    if (store_tablet_leads(tablet)) {
        uint64_t sequence = 0;
        end_entry(store_append_drop_range(tablet, &drop, item->clock, &sequence));
    } else {
        struct buffer payload = BUFFER_INIT;
        record_encode_drop_range(&drop, &payload);
        end_entry(append_as_secondary(item, RECORD_DROP_RANGE, &payload));
    }
    buffer_deinit(&after);
}

static void put_barrier(void)
{
    struct item *item = note_entry(WRITE);
    struct buffer payload = BUFFER_INIT;
    if (store_tablet_configuration(tablet)->members.version == 0) {
        return;
    }
    item->barrier = prng_chance(&prng, 2) ? RECORD_FROZEN : RECORD_THAWED;
    if (item->barrier == RECORD_FROZEN) {
        record_encode_frozen(&(struct record_frozen){2, 3}, &payload);
    }
    begin_entry(item);
    if (!store_tablet_leads(tablet)) {
        end_entry(append_as_secondary(item, item->barrier, &payload));
        return;
    }
    uint64_t sequence = 0;
    enum status status = store_append_barrier(tablet, (enum record_type)item->barrier,
                                              buffer_bytes(&payload), item->clock, &sequence);
    buffer_deinit(&payload);
    if (status == STATUS_UNAVAILABLE) { /* one is not committed */
        shared->count--;
        all->item_count--;
        return;
    }
    end_entry(status);
}

static struct store_configuration random_configuration(void)
{
    struct store_configuration next = {.role = (uint8_t)prng_below(&prng, 4),
                                       .flags = {.opened = prng_chance(&prng, 2),
                                                 .doubt_noted = prng_chance(&prng, 5),
                                                 .bound = prng_chance(&prng, 2)}};
    next.members.version = 1 + ++all->version; /* it was created under 1 */
    switch (prng_below(&prng, 4)) {
    case 0:
        next.members.member_count = 1;
        next.members.members[0] = (struct replica_member){1, FIXTURE_STORE};
        break;
    case 1:
        next.members.member_count = 1;
        next.members.members[0] = (struct replica_member){2, OTHER};
        break;
    default:
        next.members.member_count = 2;
        next.members.members[0] = (struct replica_member){1, FIXTURE_STORE};
        next.members.members[1] = (struct replica_member){2, OTHER};
        next.members.leader = (uint32_t)prng_below(&prng, 2);
    }
    return next;
}

static void configure(void)
{
    struct item *item = note_item();
    uint32_t before = shared->count;
    item->configures = true;
    item->configuration = random_configuration();
    item->kept = all->ever_committed + prng_below(&prng, before - all->ever_committed + 1);
    if (prng_chance(&prng, 3)) {
        item->kept = before;
    }
    all->item_count++;
    shared->count = (uint32_t)item->kept;
    enum status status = store_tablet_configure(tablet, &item->configuration, item->kept);
    if (status != STATUS_OK) {
        cr_assert(status == STATUS_RESOURCE_EXHAUSTED || status == STATUS_UNAVAILABLE, "%s",
                  status_text(status));
        cr_assert(status == STATUS_RESOURCE_EXHAUSTED ||
                  store_tablet_configuration(tablet)->members.version == 0);
        all->item_count--;
        shared->count = before;
        return;
    }
    /* What was said of sequences that went may come late: it is of no use any more. */
    synced_seen = fixture.synced_count;
    expect_everything();
}

static void change_role(void)
{
    if (store_tablet_leads(tablet)) {
        if (store_tablet_configuration(tablet)->members.version != 0) {
            store_tablet_follow(tablet);
        }
        return;
    }
    enum status status = store_tablet_lead(tablet);
    cr_assert(status == STATUS_OK || status == STATUS_RESOURCE_EXHAUSTED);
    cr_assert_eq(store_tablet_leads(tablet), status == STATUS_OK);
    expect_everything();
}

/* --- reads held open ------------------------------------------------------------------------------ */

static void hold_read(void)
{
    struct held *slot = &held[prng_below(&prng, HELD_MAX)];
    if (slot->read == NULL) {
        slot->sequence = store_tablet_committed(tablet);
        cr_assert_eq(store_read_begin(tablet, &fixture_table, STORE_READ_COMMITTED, 0, &slot->read),
                     STATUS_OK);
    }
}

/* What was committed then is so still. */
static void release_read(struct held *slot)
{
    if (slot->read != NULL) {
        reading = "held";
        build_model(shared->count, TABLET, slot->sequence);
        expect_read(slot->read, &store_tablet_describe(tablet)->range);
        store_read_end(slot->read);
        slot->read = NULL;
    }
}

static void release_reads(void)
{
    for (int i = 0; i < HELD_MAX; i++) {
        release_read(&held[i]);
    }
}

/* --- lives ---------------------------------------------------------------------------------------- */

static void open_tablet(void)
{
    fixture_open(&fixture);
    tablet = store_tablet_find(fixture.store, TABLET);
    if (tablet == NULL) {
        cr_assert_eq(all->item_count, 0);
        tablet = fixture_create(&fixture, TABLET, "", "");
    }
    find_survivors();
}

static void reopen(void)
{
    release_reads();
    uint32_t count = all->item_count;
    fixture_close(&fixture);
    all->durable_count = count; /* closing syncs */
    open_tablet();
    cr_assert_eq(all->item_count, count);
}

static void step(void)
{
    uint64_t dice = prng_below(&prng, 200);
    if (dice < 110) {
        write_row();
    } else if (dice < 113) {
        drop_range();
    } else if (dice < 117) {
        put_barrier();
    } else if (dice < 145) {
        store_commit(fixture.store);
        look();
    } else if (dice < 170) {
        say_committed();
    } else if (dice < 176) {
        hold_read();
    } else if (dice < 180) {
        release_read(&held[prng_below(&prng, HELD_MAX)]);
    } else if (dice < 184) {
        expect_everything();
    } else if (dice < 188) {
        configure();
    } else if (dice < 194) {
        change_role();
    } else if (dice < 198) {
        store_flush_all(fixture.store);
    } else if (prng_chance(&prng, 3)) {
        reopen();
    }
    all->base.steps++;
}

static void set_limits(uint64_t seed)
{
    struct prng limits = prng_of_seed(seed ^ 0x51);
    fixture.settings.memtable_limit_bytes = 2000 << prng_below(&limits, 8);
    fixture.settings.memory_limit_bytes = 4 * fixture.settings.memtable_limit_bytes + (1 << 20);
    fixture.settings.log_limit_bytes = 20000 << prng_below(&limits, 8);
    fixture.settings.log_segment_bytes = 256 * 1024;
    fixture.settings.log_keep_us = prng_chance(&limits, 4) ? 1000 : INT64_C(600000000);
    fixture.settings.log_keep_bytes = 256 * 1024 * prng_below(&limits, 20);
    fixture.settings.window_bytes_max = 10000 << prng_below(&limits, 8);
    fixture.settings.flush_transaction_bytes = 4096 << prng_below(&limits, 6);
    fixture.settings.flush_pace_percent = prng_chance(&limits, 2) ? 100 : 5;
}

static void live(uint64_t seed, int life, uint32_t steps)
{
    prng = prng_of_seed(seed * 1000 + (uint64_t)life);
    atomic_fetch_add(&fixture.now_us, life * 1000000);
    open_tablet();
    for (uint32_t i = 0; i < steps && all->item_count < ITEMS_MAX - 8; i++) {
        step();
    }
    release_reads();
    expect_everything();
    if (getenv("EDUBBA_SEED") != NULL) {
        struct store_statistics numbers;
        store_statistics(fixture.store, &numbers);
        fprintf(stderr,
                "seed %d life %d: %u records, %u entries, %d committed, %d flushes, "
                "%d read back, %d recovered\n",
                (int)seed, life, all->item_count, shared->count, (int)all->committed,
                (int)numbers.flushes, (int)log_read_count, (int)numbers.recovered_records);
    }
}

static void run_seed(uint64_t seed, int lives, uint32_t steps)
{
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(all, MAP_FAILED);
    shared = &all->base;
    fixture_init(&fixture);
    set_limits(seed);
    const struct store_lives of_this = {
        .fixture = &fixture, .live = live, .kill_after_us = 1000, .kill_within_us = 60000};
    store_lives_run(&of_this, seed, lives, steps);
    fixture_deinit(&fixture);
    munmap(all, sizeof *all);
}

Test(replica_store_model, killed_and_reopened)
{
    const struct store_worlds worlds = {1, 16, .lives = 6, .steps = 400};
    const struct store_worlds alone = {.lives = 8, .steps = 600};
    store_worlds_run(run_seed, worlds, alone);
}

Test(replica_store_model, long_lives)
{
    const struct store_worlds worlds = {100, 103, .lives = 1, .steps = 4000};
    store_worlds_run(run_seed, worlds, worlds);
}
