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

#include "tests/model/store_lives.h"
#include "tests/model/store_truth.h"

#include "common/base/stamp.h"
#include "tabletserver/storage/copies/store_replica.h"

#define ITEMS_MAX OPERATIONS_MAX
#define TABLET    1
#define OTHER     8 /* another store */

/* A record of the tablet, in the order of the log. */
struct item {
    bool configures;
    uint8_t barrier;            /* FROZEN, THAWED; 0 = it is none */
    struct operation operation; /* an entry: DROP, or WRITE; a barrier is one without changes */
    uint64_t version;
    uint64_t clock;
    uint64_t committed; /* when it was appended */
    struct store_configuration configuration;
    uint64_t kept;
};

struct replica_shared {
    struct shared base; /* its operations are the valid entries, at their sequence - 1 */
    struct item items[ITEMS_MAX];
    uint32_t item_count;
    uint32_t durable_count;  /* so many of them were said to be durable */
    uint64_t committed;      /* said, and known since the last start */
    uint64_t ever_committed; /* said at any time: nothing up to it is ever dropped (I2) */
    uint64_t version;
};

static struct replica_shared *all;
static struct store_tablet *tablet;
static uint64_t synced_seen;
static uint64_t configured_seen;
static uint64_t log_read_count; /* entries */

/* --- the list ------------------------------------------------------------------------------------- */

/* What the first `count` records come to: the valid entries. */
static void replay_items(uint32_t count)
{
    shared->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct item *item = &all->items[i];
        if (item->configures) {
            shared->count = (uint32_t)item->kept;
        } else {
            cr_assert_eq(item->operation.sequence, shared->count + 1);
            shared->operations[shared->count++] = item->operation;
        }
    }
}

static const struct item *last_configuration(uint32_t count)
{
    while (count > 0 && !all->items[count - 1].configures) {
        count--;
    }
    return count > 0 ? &all->items[count - 1] : NULL;
}

/* The item of a valid entry, the newest of its sequence among the first `count`. */
static uint32_t item_of(uint64_t sequence, uint32_t count)
{
    for (uint32_t i = count; i > 0; i--) {
        const struct item *item = &all->items[i - 1];
        if (!item->configures && item->operation.sequence == sequence) {
            return i - 1;
        }
    }
    cr_assert_fail("no entry %d", (int)sequence);
    return 0;
}

static uint64_t last_clock(void)
{
    return shared->count == 0 ? hlc_of_us(INT64_C(1700000000000000))
                              : all->items[item_of(shared->count, all->item_count)].clock;
}

static bool is_alone(const struct store_configuration *configuration)
{
    const struct replica_configuration *members = &configuration->members;
    return members->version == 0 ||
           (members->member_count == 1 && members->members[0].store == FIXTURE_STORE &&
            !configuration->flags.doubt_noted);
}

static void note_committed(uint64_t sequence)
{
    all->committed = sequence;
    all->ever_committed = sequence > all->ever_committed ? sequence : all->ever_committed;
}

static bool alone(void)
{
    return is_alone(store_tablet_configuration(tablet));
}

/* --- what is there -------------------------------------------------------------------------------- */

static enum dedupe_verdict verdict_of(uint64_t request)
{
    struct request_id id = {77, request, 1, INT64_C(1700000000000000)};
    struct bytes result;
    uint64_t sequence;
    return dedupe_check(store_tablet_dedupe(tablet), &id, store_next_clock(fixture.store), &result,
                        &sequence);
}

/*
 * Requests are known if they are in the memtables, dropped ones are not.  One that waits to be committed
 * may be known as done by the image of a flush that a stop broke off: it was committed then, though
 * the log cannot prove it.
 */
static void expect_requests(void)
{
    for (uint32_t i = 0; i < all->item_count; i++) {
        const struct item *item = &all->items[i];
        uint64_t sequence = item->operation.sequence;
        if (item->configures || item->operation.request == 0) {
            continue;
        }
        bool valid = sequence <= shared->count &&
                     shared->operations[sequence - 1].request == item->operation.request;
        bool waits = valid && sequence > store_tablet_prepared(tablet);
        enum dedupe_verdict verdict = verdict_of(item->operation.request);
        enum dedupe_verdict expected = !valid || waits                             ? DEDUPE_NEW
                                       : sequence > store_tablet_committed(tablet) ? DEDUPE_PENDING
                                                                                   : DEDUPE_DONE;
        bool from_image = valid && sequence <= all->ever_committed && verdict == DEDUPE_DONE;
        cr_assert(verdict == expected || from_image, "request %d of entry %d: %d, not %d",
                  (int)item->operation.request, (int)sequence, (int)verdict, (int)expected);
    }
}

static void expect_window(void)
{
    uint64_t prepared = store_tablet_prepared(tablet);
    cr_assert_eq(store_tablet_appended(tablet), shared->count);
    cr_assert_eq(store_tablet_window_count(tablet), shared->count - prepared);
    for (uint32_t i = 0; i < store_tablet_window_count(tablet); i++) {
        struct store_entry entry = store_tablet_window_at(tablet, i);
        const struct item *item = &all->items[item_of(prepared + i + 1, all->item_count)];
        cr_assert_eq(entry.sequence, prepared + i + 1);
        cr_assert_eq(entry.version, item->version);
        cr_assert_eq(entry.stamp.clock, item->clock);
    }
}

/* What the log gives back is what was committed; it may have let it go. */
static void expect_log(void)
{
    uint64_t committed = store_tablet_committed(tablet);
    uint64_t from = 1 + prng_below(&prng, committed + 1);
    struct store_log_slice slice = {.count = 0};
    struct arena arena;
    arena_init(&arena, 4096, SIZE_MAX);
    enum status status = store_log_read(tablet, from, prng_below(&prng, 20000), &arena, &slice);
    cr_assert(status == STATUS_OK || status == STATUS_NOT_FOUND, "%s", status_text(status));
    cr_assert(status != STATUS_OK || from > committed || slice.count > 0);
    cr_assert_leq(from + slice.count, committed + 1 > from ? committed + 1 : from);
    for (uint32_t i = 0; i < slice.count; i++) {
        const struct store_entry *entry = &slice.entries[i];
        const struct item *item = &all->items[item_of(from + i, all->item_count)];
        cr_assert_eq(entry->sequence, from + i);
        cr_assert_eq(entry->version, item->version);
        cr_assert_eq(entry->stamp.clock, item->clock);
    }
    log_read_count += slice.count;
    arena_deinit(&arena);
}

/* The last one that is committed, unless it lifts. */
static void expect_barrier(void)
{
    const struct item *last = NULL;
    for (uint64_t at = store_tablet_committed(tablet); at > 0 && last == NULL; at--) {
        const struct item *item = &all->items[item_of(at, all->item_count)];
        last = item->barrier != 0 ? item : NULL;
    }
    struct store_entry found = {0};
    bool stands = store_tablet_barrier(tablet, &found);
    cr_assert_eq(stands, last != NULL && last->barrier == RECORD_FROZEN);
    cr_assert(!stands || (found.sequence == last->operation.sequence &&
                          found.version == last->version && found.type == last->barrier));
}

static void expect_everything(void)
{
    expect_window();
    expect_barrier();
    expect_log();
    expect_tablet(tablet, STORE_READ_COMMITTED);
    expect_tablet(tablet, STORE_READ_PREPARED);
    expect_requests();
    store_check(fixture.store);
}

static bool same_flags(struct record_replica_flags a, struct record_replica_flags b)
{
    return a.opened == b.opened && a.doubt_noted == b.doubt_noted && a.bound == b.bound;
}

static bool same_configuration(const struct store_configuration *a, const struct item *b)
{
    return b != NULL && replica_configuration_equal(&a->members, &b->configuration.members) &&
           a->role == b->configuration.role && same_flags(a->flags, b->configuration.flags);
}

/* Entries' versions tell which of several records gave a sequence: those of the window are seen. */
static bool window_agrees(uint32_t count)
{
    for (uint32_t i = 0; i < store_tablet_window_count(tablet); i++) {
        struct store_entry entry = store_tablet_window_at(tablet, i);
        if (all->items[item_of(entry.sequence, count)].version != entry.version) {
            return false;
        }
    }
    return true;
}

/* After a start: which beginning of the list is this? */
static void find_survivors(void)
{
    const struct store_configuration *found = store_tablet_configuration(tablet);
    uint32_t count = all->item_count + 1;
    bool agrees = false;
    while (!agrees && count > all->durable_count) {
        count--;
        replay_items(count);
        agrees = store_tablet_appended(tablet) == shared->count && window_agrees(count) &&
                 (same_configuration(found, last_configuration(count)) ||
                  (found->members.version == 0 && last_configuration(count) == NULL));
    }
    cr_assert(agrees, "version %d, %d entries: what was durable is lost, or never was",
              (int)found->members.version, (int)store_tablet_appended(tablet));
    all->item_count = count;
    all->durable_count = count;
    uint64_t committed = store_tablet_committed(tablet);
    const struct item *last = count > 0 ? &all->items[count - 1] : NULL;
    if (alone()) {
        cr_assert_eq(committed, shared->count);
        cr_assert(store_tablet_leads(tablet));
    } else {
        cr_assert_leq(committed, all->committed, "committed without a word");
        cr_assert(last == NULL || last->configures || committed >= last->committed);
        cr_assert(!store_tablet_leads(tablet));
    }
    note_committed(committed);
    synced_seen = fixture.synced_count;
    configured_seen = fixture.configured_count;
    expect_everything();
}

/* --- durable and committed ------------------------------------------------------------------------ */

static void raise_durable(uint32_t count)
{
    all->durable_count = count > all->durable_count ? count : all->durable_count;
}

static void look(void)
{
    store_poll(fixture.store);
    if (fixture.configured_count > configured_seen) {
        configured_seen = fixture.configured_count;
        raise_durable((uint32_t)(last_configuration(all->item_count) - all->items) + 1);
    }
    if (fixture.synced_count > synced_seen) {
        synced_seen = fixture.synced_count;
        if (fixture.synced <= shared->count) {
            raise_durable(item_of(fixture.synced, all->item_count) + 1);
        }
    }
    uint64_t committed = store_tablet_committed(tablet);
    cr_assert_geq(committed, all->committed);
    if (alone() && committed > all->committed) {
        note_committed(committed);
        raise_durable(item_of(committed, all->item_count) + 1);
    }
    cr_assert_eq(committed, all->committed);
}

/* The highest sequence that is certainly durable. */
static uint64_t durable_sequence(void)
{
    uint64_t sequence = 0;
    for (uint32_t i = 0; i < all->durable_count; i++) {
        const struct item *item = &all->items[i];
        sequence = item->configures ? (item->kept < sequence ? item->kept : sequence)
                                    : item->operation.sequence;
    }
    /* What was cut since may be in it. */
    for (uint32_t i = all->durable_count; i < all->item_count; i++) {
        const struct item *item = &all->items[i];
        sequence = item->configures && item->kept < sequence ? item->kept : sequence;
    }
    return sequence;
}

static void say_committed(void)
{
    look();
    uint64_t durable = durable_sequence();
    if (alone() || durable <= all->committed) {
        return;
    }
    uint64_t sequence = all->committed + 1 + prng_below(&prng, durable - all->committed);
    note_committed(sequence);
    enum status status = store_tablet_commit(tablet, sequence);
    cr_assert(status == STATUS_OK || status == STATUS_RESOURCE_EXHAUSTED);
    cr_assert(status != STATUS_OK || store_tablet_committed(tablet) == sequence);
    all->committed = store_tablet_committed(tablet);
}

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
        entry.request = (struct request_id){77, operation->request, 1, INT64_C(1700000000000000)};
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
    const char *text = getenv("EDUBBA_SEED");
    if (text != NULL) {
        run_seed(strtoull(text, NULL, 10), 8, 600);
        return;
    }
    for (uint64_t seed = 1; seed <= 16; seed++) {
        run_seed(seed, 6, 400);
    }
}

Test(replica_store_model, long_lives)
{
    if (getenv("EDUBBA_SEED") != NULL) {
        run_seed(strtoull(getenv("EDUBBA_SEED"), NULL, 10), 1, 4000);
        return;
    }
    for (uint64_t seed = 100; seed <= 103; seed++) {
        run_seed(seed, 1, 4000);
    }
}
