/* What a catalog does about load, with servers that propose: reports in, splits, merges and moves out. */
#include "master/core/event_log.h"
#include "tests/support/replica_fixture.h"

TestSuite(catalog_balance, .init = start, .fini = stop, .timeout = 300);

#define SECOND_CPU_NS UINT64_C(1000000000)
#define LOADS_MAX     32

/* Load on rows of table "t": each row is a point, and takes so much of a server's time. */
struct row_load {
    const char *row;
    double percent;
};

static struct row_load loads[LOADS_MAX];
static size_t load_count;
static uint64_t reports;
static uint64_t observations = 100;
static uint32_t appended_permille;

/* Rows "a0", "a1", ... of equal load, together `percent` of a server's time. */
static void spread_load(size_t count, double percent)
{
    static char rows[LOADS_MAX][24];
    load_count = count;
    for (size_t i = 0; i < count; i++) {
        snprintf(rows[i], sizeof rows[i], "a%02zu", i);
        loads[i] = (struct row_load){rows[i], percent / (double)count};
    }
}

/* What a server's primaries have had to do in the last second. */
struct told {
    struct tablet_load tablets[64];
    struct load_point points[64][LOAD_POINTS_MAX];
    struct load_key keys[64][1];
    size_t count;
};

static void tell(struct told *told, const struct location *location)
{
    struct tablet_load *load = &told->tablets[told->count];
    struct load_point *points = told->points[told->count];
    struct load_key *key = told->keys[told->count];
    size_t count = 1;
    double most = 0;

    cr_assert_lt(told->count, 64);
    *load = (struct tablet_load){.tablet = location->tablet};
    points[0] = (struct load_point){.row = location->range.start};
    for (size_t i = 0; i < load_count; i++) {
        const struct bytes row = bytes_of_text(loads[i].row);
        if (!row_range_contains(&location->range, row)) {
            continue;
        }
        if (bytes_compare(row, location->range.start) > 0) {
            points[count++] = (struct load_point){.row = row};
        }
        points[count - 1].writes = (uint64_t)(loads[i].percent * 100);
        load->figures.writes += (uint64_t)(loads[i].percent * 100);
        load->figures.write_cpu_ns += (uint64_t)(loads[i].percent * 1e7);
        if (loads[i].percent > most) {
            most = loads[i].percent;
            key[0] = (struct load_key){row, 0, (uint64_t)(loads[i].percent * 100)};
        }
    }
    if (load->figures.writes > 0) {
        load->detail = (struct load_detail){points, count, key, 1, observations, appended_permille};
        told->count++;
    }
}

/* A second goes by: everybody reports, proposes, follows. */
static void second(void)
{
    static struct told told[SERVERS];
    struct locate_response where = driver_locate(&driver, "t", "");

    memset(told, 0, sizeof told);
    reports++;
    for (size_t i = 0; i < where.location_count; i++) {
        tell(&told[where.locations[i].server - 1], &where.locations[i]);
    }
    for (size_t i = 0; i < SERVERS; i++) {
        servers[i].fake.load = (struct load_report){reports, 1000000000, SECOND_CPU_NS,
                                                    told[i].tablets, told[i].count};
        if (!servers[i].down) {
            (void)replica_sync(&driver, &servers[i]);
        }
        servers[i].fake.load = (struct load_report){0};
    }
    replicas_work(&driver, servers, SERVERS, 4);
}

static void seconds(int count)
{
    for (int i = 0; i < count; i++) {
        second();
    }
}

static struct list_events_response list_events(const char *table, uint64_t after)
{
    struct buffer body = BUFFER_INIT;
    const struct list_events_request list = {bytes_of_text(table), after, 0};
    struct list_events_response response;
    list_events_request_encode(&list, &body);
    uint64_t request = driver_send(&driver, METHOD_LIST_EVENTS, &body);
    cr_assert_eq(
        list_events_response_decode(driver_body(&driver, request), &driver.arena, &response, NULL),
        STATUS_OK);
    return response;
}

static size_t count_events(const char *kind, const char *reason, const char *outcome)
{
    struct list_events_response list = list_events("", 0);
    size_t count = 0;
    for (size_t i = 0; i < list.event_count; i++) {
        const struct event *event = &list.events[i];
        count += (kind == NULL || bytes_equal(event->kind, bytes_of_text(kind))) &&
                 (reason == NULL || bytes_equal(event->reason, bytes_of_text(reason))) &&
                 (outcome == NULL || bytes_equal(event->outcome, bytes_of_text(outcome)));
    }
    return count;
}

static void make_table(uint32_t replicas)
{
    uint64_t request = create_table("t", replicas, 1, NULL, 0);
    replicas_settle(&driver, servers, SERVERS);
    (void)driver_body(&driver, request);
    driver_forget_replies(&driver);
    reports = 0;
    load_count = 0;
    observations = 100;
    appended_permille = 0;
}

static size_t count_tablets(void)
{
    return driver_locate(&driver, "t", "").location_count;
}

/* Percent of its time that the busiest server uses. */
static double busiest(void)
{
    struct locate_response where = driver_locate(&driver, "t", "");
    double use[SERVERS] = {0};
    double most = 0;
    for (size_t i = 0; i < where.location_count; i++) {
        for (size_t j = 0; j < load_count; j++) {
            if (row_range_contains(&where.locations[i].range, bytes_of_text(loads[j].row))) {
                use[where.locations[i].server - 1] += loads[j].percent;
            }
        }
    }
    for (size_t i = 0; i < SERVERS; i++) {
        most = use[i] > most ? use[i] : most;
    }
    return most;
}

static size_t count_hurried(void)
{
    size_t count = 0;
    for (size_t i = 0; i < SERVERS; i++) {
        count += servers[i].hurried_count;
    }
    return count;
}

static bool is_any_in_a_hurry(void)
{
    bool any = false;
    for (size_t i = 0; i < SERVERS; i++) {
        for (size_t j = 0; j < servers[i].view_count; j++) {
            any = any || servers[i].views[j].hurried;
        }
    }
    return any;
}

Test(catalog_balance, what_relieves_a_server_is_hurried_until_it_is_done)
{
    make_table(1);
    spread_load(24, 96);
    seconds(40);
    cr_assert_geq(count_events("move", "imbalance", "done"), 4);
    cr_assert_geq(count_hurried(), 4);
    seconds(120);
    cr_assert_not(is_any_in_a_hurry());
    load_count = 0;
    seconds(60);
    size_t before = count_hurried();
    (void)drain(driver_locate(&driver, "t", "").locations[0].server, true);
    seconds(20);
    cr_assert_eq(count_hurried(), before, "it is over with the goal that was hurried");
}

Test(catalog_balance, what_nobody_waits_for_is_not_hurried)
{
    make_table(1);
    uint64_t before = driver_locate(&driver, "t", "").locations[0].server;
    (void)drain(before, true);
    seconds(10);
    cr_assert_neq(driver_locate(&driver, "t", "").locations[0].server, before);
    cr_assert_eq(count_hurried(), 0);
}

Test(catalog_balance, who_has_fewer_copies_than_it_should_is_hurried)
{
    make_table(3);
    struct replica_view view = newest_view(driver_locate(&driver, "t", "").locations[0].tablet);
    uint32_t other = view.configuration.leader == 0 ? 1 : 0;
    cr_assert_eq(count_hurried(), 0);
    servers[view.configuration.members[other].server - 1].down = true;
    for (int i = 0; i < 1000 && count_hurried() == 0; i++) {
        second();
    }
    cr_assert_gt(count_hurried(), 0);
    for (int i = 0; i < 1000 && is_any_in_a_hurry(); i++) {
        second();
    }
    cr_assert_not(is_any_in_a_hurry());
}

/* It cannot be split or moved before it is where it was to go: nobody else is there to take it meanwhile. */
Test(catalog_balance, what_has_become_hot_on_its_way_is_hurried)
{
    make_table(1);
    uint64_t there = driver_locate(&driver, "t", "").locations[0].server;
    (void)drain(there, true);
    for (size_t i = 0; i < SERVERS; i++) {
        servers[i].down = i != there - 1;
    }
    second();
    cr_assert_eq(count_hurried(), 0);
    spread_load(24, 96);
    seconds(5);
    cr_assert_gt(servers[there - 1].hurried_count, 0);
    for (size_t i = 0; i < SERVERS; i++) {
        servers[i].down = false;
    }
    seconds(60);
    cr_assert_neq(driver_locate(&driver, "t", "").locations[0].server, there);
}

Test(catalog_balance, a_hot_tablet_is_split_and_spread_and_then_it_is_quiet)
{
    make_table(1);
    spread_load(24, 96);
    seconds(40);
    cr_assert_geq(count_tablets(), 6);
    cr_assert_leq(busiest(), 96 / 6.0 * 2, "%.1f", busiest());
    cr_assert_geq(count_events("split", "far_over", "done"), 1);
    cr_assert_geq(count_events("move", "imbalance", "done"), 4);
    cr_assert_eq(count_events(NULL, NULL, "given_up"), 0);
    seconds(120);
    cr_assert_leq(busiest(), 28.1, "seven parts on six servers: %.1f", busiest());
    struct list_events_response list = list_events("", 0);
    uint64_t last = list.events[list.event_count - 1].change;
    seconds(600);
    cr_assert_eq(list_events("t", last).event_count, 0, "load that stays is left where it is");
    cr_assert_eq(count_events(NULL, NULL, "under_way"), 0);
}

Test(catalog_balance, an_event_says_what_was_decided_with_its_numbers)
{
    make_table(1);
    spread_load(24, 96);
    seconds(10);
    struct list_events_response list = list_events("t", 0);
    cr_assert_geq(list.event_count, 1);
    const struct event *event = &list.events[0];
    cr_assert(bytes_equal(event->kind, bytes_of_text("split")));
    cr_assert(bytes_equal(event->table_name, bytes_of_text("t")));
    cr_assert_gt(event->figures.share_permille, 500);
    cr_assert_eq(event->figures.limit_permille, 250);
    cr_assert_geq(event->row_count, 4);
    cr_assert_gt(event->text.size_bytes, 20);
    cr_assert_gt(event->ended_us, event->time_us);
    cr_assert_eq(list_events("other", 1).event_count, 0);
    cr_assert_eq(list_events("t", event->change - 1).events[0].number, event->number);
}

/* The table's first tablet has grown, and its server asks for a split. */
static void grow(const char *row, uint64_t mib)
{
    struct replica_view view = newest_view(driver_locate(&driver, "t", "").locations[0].tablet);
    struct held_tablet *held = fake_held(&leader_server(&view)->fake, view.tablet);
    held->size_bytes = mib << 20;
    held->wants_split = true;
    held->split_row = bytes_of_text(row);
}

static void assert_size_split_is_told(void)
{
    grow("m", 20);
    seconds(5);
    cr_assert_eq(count_tablets(), 2);
    struct list_events_response list = list_events("t", 0);
    cr_assert_eq(list.event_count, 1);
    const struct event *event = &list.events[0];
    cr_assert(bytes_equal(event->kind, bytes_of_text("split")));
    cr_assert(bytes_equal(event->reason, bytes_of_text("size")));
    cr_assert(bytes_equal(event->outcome, bytes_of_text("done")));
    cr_assert(bytes_equal(event->row, bytes_of_text("m")) && event->row_count == 1);
    cr_assert_eq(event->figures.size_bytes, UINT64_C(20) << 20);
    cr_assert_eq(event->figures.limit_bytes, UINT64_C(16) << 20);
    cr_assert(bytes_equal(
        event->text,
        bytes_of_text("20.0 MiB are stored in it (limit 16.0 MiB), 0 operations/s: split at 'm'")));
}

Test(catalog_balance, a_split_by_size_is_an_event_with_its_numbers)
{
    make_table(3);
    assert_size_split_is_told();
}

Test(catalog_balance, when_a_split_by_size_is_done_is_seen_where_there_is_no_load)
{
    static const char *const rows[] = {"m", "l", "k", "j", "i", "h", "g", "f"};
    make_table(1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        seconds(71); /* rounds are ten seconds apart by now, and each time it is another of them */
        grow(rows[i], 4096);
        seconds(3);
        cr_assert_eq(count_events("split", "size", "done"), i + 1);
    }
}

Test(catalog_balance, a_split_by_size_is_told_of_where_nothing_is_done_about_load)
{
    driver.settings.balance.enabled = false;
    driver_crash(&driver);
    replicas_settle(&driver, servers, SERVERS);
    make_table(1);
    assert_size_split_is_told();
}

Test(catalog_balance, replicas_are_handed_over_before_any_is_moved)
{
    make_table(3);
    spread_load(24, 96);
    seconds(60);
    cr_assert_geq(count_events("lead", "imbalance", "done"), 1);
    cr_assert_leq(busiest(), 60, "%.1f", busiest());
}

Test(catalog_balance, a_popular_row_is_refused_once_and_named)
{
    make_table(1);
    spread_load(4, 10);
    loads[2].percent = 70;
    seconds(120);
    cr_assert_eq(count_tablets(), 1);
    struct list_events_response list = list_events("t", 0);
    cr_assert_eq(list.event_count, 1);
    cr_assert(bytes_equal(list.events[0].reason, bytes_of_text("popular_key")));
    cr_assert(bytes_equal(list.events[0].key, bytes_of_text("a02")));
    cr_assert(bytes_equal(list.events[0].outcome, bytes_of_text("refused")));
    cr_assert_gt(list.events[0].figures.key_permille, 850);
}

Test(catalog_balance, who_appends_is_awaited_on_another_server)
{
    make_table(1);
    spread_load(10, 60);
    appended_permille = 990;
    uint64_t before = driver_locate(&driver, "t", "").locations[0].server;
    seconds(15);
    struct locate_response where = driver_locate(&driver, "t", "");
    cr_assert_eq(where.location_count, 2);
    cr_assert_gt(bytes_compare(where.locations[1].range.start, bytes_of_text("a09")), 0);
    cr_assert_eq(where.locations[0].server, before);
    cr_assert_neq(where.locations[1].server, before);
    cr_assert_eq(count_events("split", "ahead", "done"), 1);
    cr_assert_eq(count_events("move", "ahead", "done"), 1);
    cr_assert_eq(count_events("refuse", "monotonic", "refused"), 1);
}

static struct advise_response advice(void)
{
    struct buffer body = BUFFER_INIT;
    struct advise_response response;
    advise_request_encode(&(struct advise_request){bytes_of_text("t")}, &body);
    uint64_t request = driver_send(&driver, METHOD_ADVISE, &body);
    cr_assert_eq(
        advise_response_decode(driver_body(&driver, request), &driver.arena, &response, NULL),
        STATUS_OK);
    return response;
}

/* A table of which only the end is written to, and which has been split ahead of that. */
static void split_ahead(void)
{
    make_table(1);
    spread_load(10, 60);
    appended_permille = 990;
    for (int i = 0; i < 15 && count_tablets() == 1; i++) {
        second();
    }
    cr_assert_eq(count_tablets(), 2);
}

Test(catalog_balance, what_was_known_of_a_tablet_is_advised_about_after_its_split)
{
    split_ahead();
    cr_assert_eq(advice().findings[0].kind, ADVICE_MONOTONIC);
}

Test(catalog_balance, a_writer_that_has_gone_on_into_the_next_tablet_is_still_one)
{
    split_ahead();
    second();
    loads[0] = (struct row_load){"b00", 30}; /* behind the cut */
    loads[1] = (struct row_load){"b01", 30};
    load_count = 2;
    for (int i = 0; i < 8; i++) {
        second();
        struct advise_response response = advice();
        cr_assert_eq(response.findings[0].kind, ADVICE_MONOTONIC, "%d seconds", i + 1);
        cr_assert_eq(response.findings[0].share_permille, 1000, "%u, %d seconds after it went on",
                     response.findings[0].share_permille, i + 1);
        cr_assert_gt(bytes_compare(response.findings[0].range.start, bytes_of_text("a09")), 0,
                     "%d seconds", i + 1);
    }
}

Test(catalog_balance, what_has_cooled_is_merged_but_not_across_a_boundary_made_by_hand)
{
    make_table(1);
    spread_load(24, 96);
    seconds(40);
    size_t tablets = count_tablets();
    uint64_t request = driver_split(&driver, "t", "a00x");
    replicas_work(&driver, servers, SERVERS, 8);
    cr_assert_eq(count_tablets(), tablets + 1);
    (void)request;
    load_count = 0;
    seconds(3500);
    cr_assert_eq(count_tablets(), tablets + 1);
    seconds(1200);
    cr_assert_eq(count_tablets(), 2, "%zu are left", count_tablets());
    cr_assert_eq(count_events("merge", "cold", "done"), tablets - 1);
}

static void never_merge(bool never)
{
    for (size_t i = 0; i < SERVERS; i++) {
        servers[i].never_merges = never;
    }
}

Test(catalog_balance, a_merge_that_does_not_end_is_taken_back)
{
    make_table(1);
    spread_load(24, 96);
    seconds(40);
    size_t tablets = count_tablets();
    load_count = 0;
    never_merge(true);
    for (int i = 0; i < 5000 && count_events("merge", "cold", "given_up") == 0; i++) {
        second();
        driver_forget_replies(&driver);
    }
    cr_assert_gt(count_events("merge", "cold", "given_up"), 0);
    seconds(2); /* all that were begun with it */
    cr_assert_eq(count_events("merge", "cold", "under_way"), 0, "not begun again so soon");
    never_merge(false);
    seconds(60);
    cr_assert_eq(count_tablets(), tablets, "nobody wants it any more");
    seconds(3700);
    cr_assert_eq(count_tablets(), 1, "but later");
}

/* The left one of two that are to be merged because of a decision; its number and its end, by which the other is named. */
static uint64_t merging(struct bytes *ret_boundary, uint64_t *ret_server, int64_t *ret_decided_ns)
{
    struct list_events_response list = list_events("", 0);
    for (size_t i = 0; i < list.event_count; i++) {
        const struct event *event = &list.events[i];
        if (bytes_equal(event->kind, bytes_of_text("merge")) && event->ended_us == 0) {
            struct locate_response where = driver_locate(&driver, "t", "");
            for (size_t j = 0; j < where.location_count; j++) {
                if (where.locations[j].tablet == event->tablet) {
                    *ret_boundary = where.locations[j].range.end;
                    *ret_server = where.locations[j].server;
                    *ret_decided_ns = event->time_us * 1000;
                    return event->tablet;
                }
            }
        }
    }
    return 0;
}

static uint32_t wish_of(uint64_t tablet)
{
    struct buffer body = BUFFER_INIT;
    struct locate_response where;
    const struct locate_request locate = {
        .name = bytes_of_text("t"), .count_max = 1000, .detailed = true};
    locate_request_encode(&locate, &body);
    uint64_t request = driver_send(&driver, METHOD_LOCATE, &body);
    cr_assert_eq(locate_response_decode(driver_body(&driver, request), &driver.arena, &where, NULL),
                 STATUS_OK);
    for (size_t i = 0; i < where.location_count; i++) {
        if (where.locations[i].tablet == tablet) {
            return where.replicas[i].wish;
        }
    }
    return UINT32_MAX;
}

static void send_drain(uint64_t server)
{
    struct buffer body = BUFFER_INIT;
    drain_server_request_encode(&(struct drain_server_request){server, true}, &body);
    (void)driver_send(&driver, METHOD_DRAIN_SERVER, &body);
}

static void send_undo(struct bytes boundary)
{
    struct buffer body = BUFFER_INIT;
    const struct merge_request merge = {
        .table = bytes_of_text("t"), .row = boundary, .withdrawn = true};
    merge_request_encode(&merge, &body);
    (void)driver_send(&driver, METHOD_MERGE_TABLETS, &body);
}

/* A wish to split is never withdrawn, since its numbers may stand in logs.  Here a merge has taken too long, just as
 * its tablets' goals are changed: that it is taken back has to wait, and meanwhile a person does so, and has one of
 * the two split. */
Test(catalog_balance, a_wish_that_came_after_a_merge_is_not_taken_back_with_it)
{
    struct bytes boundary = BYTES_EMPTY;
    uint64_t server = 0;
    int64_t decided_ns = 0;
    uint64_t left = 0;
    char row[32];

    make_table(1);
    spread_load(24, 96);
    seconds(40);
    load_count = 0;
    never_merge(true);
    for (int i = 0; i < 5000 && left == 0; i++) {
        second();
        driver_forget_replies(&driver);
        left = merging(&boundary, &server, &decided_ns);
    }
    cr_assert_neq(left, 0);
    while (driver.now_ns - decided_ns < 179 * SECOND_NS) {
        second();
        driver_forget_replies(&driver);
    }
    cr_assert_eq(merging(&boundary, &server, &decided_ns), left);
    cr_assert_lt(driver.now_ns - decided_ns, 180 * SECOND_NS);
    cr_assert_eq(wish_of(left), GOAL_MERGE);

    driver.hold_commits = true;
    send_drain(server);
    driver.now_ns += 3 * SECOND_NS / 2;
    cr_assert_eq(driver_commit(&driver), STATUS_OK);
    cr_assert_neq(driver.transaction, 0, "goals are changed");
    cr_assert_eq(wish_of(left), GOAL_MERGE);
    send_undo(boundary);
    snprintf(row, sizeof row, "%.*s", (int)boundary.size_bytes, (const char *)boundary.data);
    row[boundary.size_bytes - 1] -= 1; /* a row of the left one */
    cr_assert_eq(driver_commit(&driver), STATUS_OK);
    cr_assert_neq(driver.transaction, 0, "it is taken back by hand");
    (void)driver_split(&driver, "t", row);
    cr_assert_eq(driver_commit(&driver), STATUS_OK);
    cr_assert_neq(driver.transaction, 0, "and one of the two is to be split");
    cr_assert_eq(driver_commit(&driver), STATUS_OK);
    cr_assert_eq(wish_of(left), GOAL_SPLIT);
    driver.hold_commits = false;
    driver_pass(&driver, 100000000);
    cr_assert_eq(wish_of(left), GOAL_SPLIT);
}

static void pin(bool pinned)
{
    const struct alteration alteration = {.kind = ALTER_PINNED, .flag = pinned};
    uint64_t request = driver_alter(&driver, "t", &alteration, 1);
    replicas_settle(&driver, servers, SERVERS);
    cr_assert_eq(driver_table(&driver, request).table.pinned, pinned);
    driver_forget_replies(&driver);
}

Test(catalog_balance, a_pinned_table_is_left_as_it_is)
{
    make_table(1);
    pin(true);
    spread_load(24, 96);
    seconds(60);
    cr_assert_eq(count_tablets(), 1);
    driver_crash(&driver);
    seconds(60);
    cr_assert_eq(count_tablets(), 1, "it is remembered");
    pin(false);
    seconds(20);
    cr_assert_gt(count_tablets(), 1);
}

Test(catalog_balance, a_server_that_is_drained_gets_nothing_and_loses_all)
{
    make_table(1);
    uint64_t drained = driver_locate(&driver, "t", "").locations[0].server % SERVERS + 1;
    (void)drain(drained, true);
    spread_load(24, 96);
    seconds(60);
    struct locate_response where = driver_locate(&driver, "t", "");
    cr_assert_geq(where.location_count, 5);
    for (size_t i = 0; i < where.location_count; i++) {
        cr_assert_neq(where.locations[i].server, drained);
    }
}

Test(catalog_balance, a_write_that_fails_is_done_again)
{
    make_table(1);
    spread_load(24, 96);
    seconds(3);
    driver_crash(&driver); /* what was decided is forgotten, what was staged goes on */
    seconds(60);
    cr_assert_geq(count_tablets(), 6);
    cr_assert_eq(count_events(NULL, NULL, "under_way"), 0);
}

Test(catalog_balance, events_of_what_is_no_table_and_never_was_one_are_refused)
{
    struct buffer body = BUFFER_INIT;
    make_table(1);
    cr_assert_eq(list_events("t", 0).event_count, 0);
    list_events_request_encode(&(struct list_events_request){bytes_of_text("NOPE"), 0, 0}, &body);
    driver_assert_refused(&driver, driver_send(&driver, METHOD_LIST_EVENTS, &body),
                          STATUS_NOT_FOUND, "no table is named 'NOPE'");
    cr_assert_eq(list_events("NOPE", 1).event_count, 0, "who asks on has been told");
    spread_load(24, 96);
    seconds(10);
    (void)driver_by_name(&driver, METHOD_DELETE_TABLE, "t");
    replicas_settle(&driver, servers, SERVERS);
    cr_assert_geq(list_events("t", 0).event_count, 1, "events outlive their table");
}
