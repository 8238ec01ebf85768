/*
 * A catalog of 100 000 tablets: what comes with every sync, every second or every look of a person must not be
 * linear in them for each of many copies or tablets, or the loop has time for nothing else.
 *
 * Times are of the processor, of this thread, so that others on the machine do not count.  The limits are far
 * above what is needed (which is printed), and far below what it took when it was not so.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <time.h>

#include "common/base/memory.h"
#include "master/core/catalog.h"

#define TABLES     100
#define OF_TABLE   1000
#define TABLETS    (TABLES * OF_TABLE)
#define PARENTS    500 /* of tablets that were split before this master began */
#define SERVERS    3
#define SECOND_NS  INT64_C(1000000000)
#define GENERATION 77
#define GONE_MAX   10000 /* CATALOG_GONE_MAX */

static struct catalog_settings settings;
static struct catalog *catalog;
static int64_t now_ns;
static uint64_t request;
static struct held_tablet *held;
static struct catalog_effects effects;

/* --- what is loaded ----------------------------------------------------------------------------- */

/* Tables grow side by side: so their tablets' numbers, and their places in lists, take turns. */
static uint64_t number_of(uint64_t table, uint64_t index)
{
    return 1 + index * TABLES + table;
}

static uint64_t parent_of(uint64_t table, uint64_t index)
{
    return table == 0 && index < 2 * PARENTS ? TABLETS + 1 + index / 2 : 0;
}

static void load(char kind, uint64_t number, struct buffer *value)
{
    struct record_key key = record_key_of(kind, number);
    struct error error = {0};
    cr_assert_not(value->failed);
    cr_assert_eq(catalog_load(catalog, record_key_bytes(&key), buffer_bytes(value), &error),
                 STATUS_OK, "%s", error.text);
    buffer_deinit(value);
}

static void load_server(uint64_t number)
{
    struct buffer value = BUFFER_INIT;
    const struct store_record store = {number * 10, bytes_of_text("data")};
    const struct server_record record = {
        .number = number,
        .changed_version = 1,
        .incarnation = 1,
        .address = bytes_of_text("tcp://127.0.0.1:1"),
        .stores = &store,
        .store_count = 1,
        .replicates = true,
    };
    server_record_encode(&record, &value);
    load(RECORD_KIND_SERVER, number, &value);
}

static void load_table(uint64_t table)
{
    struct buffer value = BUFFER_INIT;
    char name[16];
    struct family family = {.number = 1, .name = bytes_of_text("f")};
    (void)snprintf(name, sizeof name, "t%03u", (unsigned)table);
    const struct table_record record = {
        1,
        {.number = table + 1,
         .version = 1,
         .id = bytes_of_text(name),
         .families = &family,
         .family_count = 1,
         .family_number_next = 2,
         .replicas = SERVERS,
         .min_in_sync = 2},
    };
    table_record_encode(&record, &value);
    load(RECORD_KIND_TABLE, table + 1, &value);
}

static void load_tablet(uint64_t table, uint64_t index)
{
    struct buffer value = BUFFER_INIT;
    char start[8];
    char end[8];
    struct tablet_record record = {
        .number = number_of(table, index),
        .changed_version = 1,
        .table = table + 1,
        .state = TABLET_SERVING,
        .parent = parent_of(table, index),
        .soft_limit_bytes = 1 << 24,
    };
    (void)snprintf(start, sizeof start, "%04u", (unsigned)index);
    (void)snprintf(end, sizeof end, "%04u", (unsigned)index + 1);
    record.range.start = index == 0 ? BYTES_EMPTY : bytes_of_text(start);
    record.range.end = index + 1 == OF_TABLE ? BYTES_EMPTY : bytes_of_text(end);
    record.configuration.version = 1;
    for (uint32_t i = 0; i < SERVERS; i++) {
        record.configuration.members[i] = (struct replica_member){i + 1, (i + 1) * 10};
        record.goal.stores[i] = (i + 1) * 10;
    }
    record.configuration.member_count = SERVERS;
    record.configuration.leader = (uint32_t)(index % SERVERS);
    record.goal.store_count = SERVERS;
    tablet_record_encode(&record, &value);
    load(RECORD_KIND_TABLET, record.number, &value);
}

static void start(void)
{
    struct buffer identity = BUFFER_INIT;
    struct buffer counters = BUFFER_INIT;
    struct error error = {0};
    catalog_settings_default(&settings);
    settings.sync_hold_ns = 0;
    now_ns = SECOND_NS;
    cr_assert_eq(catalog_create(&settings, &catalog), STATUS_OK);
    identity_record_encode(&(struct identity_record){CATALOG_FORMAT, 1, GENERATION, 0}, &identity);
    load(RECORD_KIND_IDENTITY, 0, &identity);
    counters_record_encode(
        &(struct counters_record){
            .table_next = TABLES + 1, .tablet_next = 2 * TABLETS, .version = 1, .tablet_first = 1},
        &counters);
    load(RECORD_KIND_COUNTERS, 0, &counters);
    for (uint64_t server = 1; server <= SERVERS; server++) {
        load_server(server);
    }
    for (uint64_t table = 0; table < TABLES; table++) {
        load_table(table);
    }
    for (uint64_t index = 0; index < OF_TABLE; index++) {
        for (uint64_t table = 0; table < TABLES; table++) {
            load_tablet(table, index);
        }
    }
    cr_assert_eq(catalog_load_end(catalog, now_ns, &error), STATUS_OK, "%s", error.text);
    held = memory_allocate_zeroed(TABLETS + PARENTS, sizeof *held);
    cr_assert_not_null(held);
}

static void stop(void)
{
    memory_free(held);
    catalog_destroy(catalog);
}

TestSuite(catalog_large, .init = start, .fini = stop, .timeout = 300);

/* --- steps -------------------------------------------------------------------------------------- */

static double thread_ms(void)
{
    struct timespec spent;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return (double)spent.tv_sec * 1e3 + (double)spent.tv_nsec / 1e6;
}

static void step(struct catalog_event event);

/* Everything is committed at once. */
static void perform(void)
{
    uint64_t transaction = 0;
    for (size_t i = 0; i < effects.count; i++) {
        struct catalog_effect *effect = &effects.items[i];
        transaction = effect->type == CATALOG_EFFECT_PERSIST ? effect->number : transaction;
        if (effect->type == CATALOG_EFFECT_REPLY) {
            cr_assert(effect->status == STATUS_OK || effect->status == STATUS_UNAVAILABLE ||
                          effect->status == STATUS_DEADLINE_EXCEEDED,
                      "%s", effect->text);
            buffer_deinit(&effect->message);
        }
    }
    if (transaction != 0) {
        step((struct catalog_event){.type = CATALOG_EVENT_PERSISTED, .number = transaction});
    }
}

static void step(struct catalog_event event)
{
    event.now_ns = now_ns;
    event.now_us = now_ns / 1000;
    cr_assert_eq(catalog_step(catalog, &event, &effects), STATUS_OK);
    perform();
}

/* What it took. */
static double ask(enum method method, struct buffer *body)
{
    double begun_ms = thread_ms();
    step((struct catalog_event){.type = CATALOG_EVENT_REQUEST,
                                .number = ++request,
                                .method = method,
                                .body = buffer_bytes(body)});
    buffer_deinit(body);
    return thread_ms() - begun_ms;
}

/* A server has all of its tablets, and copies of so many that are gone. */
static double sync(uint64_t server, size_t gone)
{
    struct buffer body = BUFFER_INIT;
    size_t count = 0;
    const struct store_information store = {.number = server * 10,
                                            .folder = bytes_of_text("data"),
                                            .free_bytes = UINT64_C(1) << 40,
                                            .catalog = GENERATION,
                                            .catalog_version = 1};
    for (uint64_t i = 0; i < TABLETS + gone; i++) {
        uint64_t leader = i < TABLETS ? i / TABLES % SERVERS + 1 : 0;
        held[count++] = (struct held_tablet){
            .tablet = i + 1,
            .store = server * 10,
            .state = HELD_SERVING,
            .version = 1,
            .role = leader == server ? HELD_AS_PRIMARY : HELD_AS_SECONDARY,
        };
    }
    const struct sync_request sync = {
        .server = {.number = server,
                   .address = bytes_of_text("tcp://127.0.0.1:1"),
                   .incarnation = 1,
                   .stores = &store,
                   .store_count = 1},
        .known_version = 1,
        .known_generation = GENERATION,
        .full = true,
        .replicates = true,
        .held = held,
        .held_count = count,
    };
    sync_request_encode(&sync, &body);
    return ask(METHOD_SYNC, &body);
}

static void pass(int64_t ns, uint64_t servers)
{
    for (int64_t end_ns = now_ns + ns; now_ns < end_ns;) {
        now_ns += SECOND_NS;
        for (uint64_t server = 1; server <= servers; server++) {
            (void)sync(server, 0);
        }
    }
}

static double tick(int64_t ns)
{
    double begun_ms = thread_ms();
    now_ns += ns;
    step((struct catalog_event){.type = CATALOG_EVENT_TICK});
    return thread_ms() - begun_ms;
}

static void assert_within(const char *what, double took_ms, double most_ms)
{
    printf("%s: %.1f ms\n", what, took_ms);
    cr_assert_lt(took_ms, most_ms, "%s: %.1f ms", what, took_ms);
}

/* --- tests -------------------------------------------------------------------------------------- */

/* It was away while tablets of its own were split: with every sync it tells of copies that the catalog does not
 * know any more. */
Test(catalog_large, copies_of_what_is_gone_cost_a_sync_next_to_nothing)
{
    (void)sync(1, 0);
    double without_ms = sync(1, 0);
    double with_ms = sync(1, PARENTS);
    assert_within("a sync", without_ms, 1000);
    assert_within("with copies of what is gone", with_ms - without_ms, 100);
}

/* Three copies on three servers, of which one is lost: another place is looked for once a second, for every
 * tablet, and there is none. */
Test(catalog_large, goals_that_nobody_can_follow_are_reviewed_in_passing)
{
    pass(4 * SECOND_NS, SERVERS);
    pass(65 * SECOND_NS, SERVERS - 1);
    double most_ms = 0;
    for (int i = 0; i < 3; i++) {
        double took_ms = tick(SECOND_NS);
        most_ms = took_ms > most_ms ? took_ms : most_ms;
    }
    assert_within("a review of goals, and a round of balance", most_ms, 500);
}

Test(catalog_large, tablets_that_cannot_be_placed_are_left_in_passing)
{
    struct buffer body = BUFFER_INIT;
    struct bytes splits[LIMIT_SPLITS_PER_CREATE];
    char rows[LIMIT_SPLITS_PER_CREATE][8];
    struct family family = {.name = bytes_of_text("f")};
    for (size_t i = 0; i < LIMIT_SPLITS_PER_CREATE; i++) {
        (void)snprintf(rows[i], sizeof rows[i], "%04u", (unsigned)i);
        splits[i] = bytes_of_text(rows[i]);
    }
    const struct create_table_request create = {
        .table = {.id = bytes_of_text("new"),
                  .families = &family,
                  .family_count = 1,
                  .replicas = SERVERS,
                  .min_in_sync = 2},
        .splits = splits,
        .split_count = LIMIT_SPLITS_PER_CREATE,
    };
    pass(SECOND_NS, SERVERS);
    create_table_request_encode(&create, &body);
    (void)ask(METHOD_CREATE_TABLE, &body);
    pass(10 * SECOND_NS, SERVERS - 1);
    (void)tick(SECOND_NS); /* what is due once a second */
    double took_ms = 0;
    for (int i = 0; i < 20; i++) {
        took_ms += tick(SECOND_NS / 100);
    }
    assert_within("twenty steps beside a thousand that wait", took_ms, 100);
}

Test(catalog_large, a_list_of_what_is_lost_is_made_in_passing)
{
    struct buffer body = BUFFER_INIT;
    pass(2 * SECOND_NS, SERVERS);
    pass(70 * SECOND_NS, 0);
    recover_request_encode(&(struct recover_request){.tablet = 0}, &body);
    assert_within("a list of a thousand that are lost", ask(METHOD_RECOVER, &body), 500);
}

Test(catalog_large, what_is_shown_is_counted_in_passing)
{
    struct buffer json = BUFFER_INIT;
    pass(2 * SECOND_NS, SERVERS);
    double begun_ms = thread_ms();
    catalog_look(catalog, now_ns + SECOND_NS);
    assert_within("a look at who leads", thread_ms() - begun_ms, 100);
    begun_ms = thread_ms();
    catalog_status_json(catalog, "active", &json);
    assert_within("the status", thread_ms() - begun_ms, 100);
    buffer_deinit(&json);
}

/* --- tablets that went -------------------------------------------------------------------------- */

#define SPLITS_EACH 40 /* as many as one transaction takes of a message of splits */

/* One of those that the first server leads: a third of all. */
static void place_of(size_t split, uint64_t *ret_table, uint64_t *ret_index)
{
    *ret_table = split % TABLES;
    *ret_index = split / TABLES * SERVERS;
}

static void wish_split(size_t split)
{
    struct buffer body = BUFFER_INIT;
    uint64_t table = 0;
    uint64_t index = 0;
    char name[16];
    char row[16];
    place_of(split, &table, &index);
    (void)snprintf(name, sizeof name, "t%03u", (unsigned)table);
    (void)snprintf(row, sizeof row, "%04u5", (unsigned)index);
    split_request_encode(&(struct split_request){bytes_of_text(name), bytes_of_text(row)}, &body);
    (void)ask(METHOD_SPLIT_TABLET, &body);
}

/* Its primary has done so: what it took that the tablets went. */
static double propose_splits(size_t first)
{
    struct buffer body = BUFFER_INIT;
    struct proposal proposals[SPLITS_EACH];
    char rows[SPLITS_EACH][16];
    for (size_t i = 0; i < SPLITS_EACH; i++) {
        uint64_t table = 0;
        uint64_t index = 0;
        place_of(first + i, &table, &index);
        (void)snprintf(rows[i], sizeof rows[i], "%04u5", (unsigned)index);
        proposals[i] = (struct proposal){.kind = PROPOSAL_SPLIT,
                                         .tablet = number_of(table, index),
                                         .base = 1,
                                         .proposer = 10,
                                         .next = {.version = 2, .member_count = SERVERS},
                                         .left = 2 * TABLETS + 2 * (first + i),
                                         .right = 2 * TABLETS + 2 * (first + i) + 1,
                                         .row = bytes_of_text(rows[i])};
        for (uint32_t j = 0; j < SERVERS; j++) {
            proposals[i].next.members[j] = (struct replica_member){j + 1, (j + 1) * 10};
        }
    }
    propose_request_encode(
        &(struct propose_request){
            .server = 1, .incarnation = 1, .proposals = proposals, .proposal_count = SPLITS_EACH},
        &body);
    return ask(METHOD_PROPOSE, &body);
}

/* The memory of tablets that went is bounded, so from some time on each that goes pushes the oldest one out. */
Test(catalog_large, tablets_that_go_push_the_oldest_out_of_memory_in_passing)
{
    double few_ms = 0;
    double many_ms = 0;
    struct catalog_counts counts;
    size_t splits = 0;
    pass(SECOND_NS, SERVERS);
    for (; splits < GONE_MAX + 2 * SPLITS_EACH; splits += SPLITS_EACH) {
        for (size_t i = 0; i < SPLITS_EACH; i++) {
            wish_split(splits + i);
        }
        many_ms = propose_splits(splits);
        few_ms = splits == 0 ? many_ms : few_ms;
    }
    catalog_counts(catalog, &counts);
    cr_assert_eq(counts.tablets, TABLETS + splits, "all were taken");
    assert_within("forty splits, of the first", few_ms, 100);
    assert_within("forty splits, after ten thousand", many_ms - few_ms, 10);
}
