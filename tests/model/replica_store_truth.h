/*
 * What one replica's disk was given, in the order of its log, and what must be there of it: after a start, and at any
 * time.  The truth is the list: a configuration cuts it where it says.
 */
#ifndef TESTS_MODEL_REPLICA_STORE_TRUTH_H
#define TESTS_MODEL_REPLICA_STORE_TRUTH_H

#include "tests/model/store_truth.h"
#include "tests/support/numbered_requests.h"

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
        enum dedupe_verdict verdict = verdict_of(tablet, item->operation.request);
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

#endif /* TESTS_MODEL_REPLICA_STORE_TRUTH_H */
