/* libedubba on ranges and tablets, filters and rules, with and without memory. */
#include "client/include/edubba_gather.h"
#include "client/include/edubba_keys.h"
#include "client/loop/client.h"
#include "tests/support/client_session.h"

/* --- open and closed -------------------------------------------------------------------------- */

static struct edubba_table *open_table(const struct session *session, const char *name)
{
    struct edubba_table *table = NULL;
    struct edubba_error error;
    cr_assert_eq(edubba_table_open(session->client, name, &table, &error), EDUBBA_OK, "%s",
                 error.text);
    return table;
}

static void read_a_row(struct edubba_table *table)
{
    struct edubba_row *row = NULL;
    struct edubba_error error;
    cr_assert_eq(edubba_read_row(table, row_key(1), NULL, &row, &error), EDUBBA_OK, "%s",
                 error.text);
    edubba_row_free(row);
}

/* So many, each another one. */
static void close_others(const struct session *session, int count)
{
    static int number = 1000;
    for (int i = 0; i < count; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%d", number++);
        edubba_table_close(open_table(session, name));
    }
}

/* An open is answered behind what was posted before it. */
static size_t count_known(const struct session *session)
{
    edubba_table_close(open_table(session, "T"));
    return session->client->locations.table_count;
}

/* Else a client that lives long and meets many tables, as a gateway does, grows for ever. */
Test(client, where_a_table_is_is_forgotten_when_many_others_were_closed_behind_it)
{
    struct session session = open_filled(10);
    struct edubba_table *other = open_table(&session, "T");
    read_a_row(session.table);
    edubba_table_close(session.table);
    close_others(&session, 2 * CLIENT_CLOSED_TABLES);
    cr_assert_eq(count_known(&session), 1, "it is open");
    edubba_table_close(other);
    for (int i = 0; i < 2 * CLIENT_CLOSED_TABLES; i++) {
        edubba_table_close(open_table(&session, "T"));
    }
    cr_assert_eq(count_known(&session), 1, "it alone is opened and closed");
    close_others(&session, CLIENT_CLOSED_TABLES);
    cr_assert_eq(count_known(&session), 0);
    cr_assert(list_is_empty(&session.client->routes));
    session.table = open_table(&session, "T");
    read_a_row(session.table);
    close_session(&session);
}

/* --- ranges and tablets ----------------------------------------------------------------------- */

Test(client, dropping_a_range_reaches_every_tablet)
{
    struct session session = open_filled(1000);
    struct edubba_error error;
    struct edubba_scan_options options = {0};
    SET(session, drops_after_left, 2);
    cr_assert_eq(edubba_drop_row_range(session.table, row_key(250), EDUBBA_NOTHING, &error),
                 EDUBBA_OK, "%s", error.text);
    cr_assert_eq(check_scan(&session, &options, 0, 1), 250);
    cr_assert_eq(edubba_drop_prefix(session.table, EDUBBA_TEXT("row002"), &error), EDUBBA_OK);
    cr_assert_eq(check_scan(&session, &options, 0, 1), 200);
    cr_assert_eq(edubba_drop_row_range(session.table, EDUBBA_TEXT("b"), EDUBBA_TEXT("a"), &error),
                 EDUBBA_INVALID_ARGUMENT);
    cr_assert_eq(edubba_drop_row_range(session.table, EDUBBA_NOTHING, row_key(100), &error),
                 EDUBBA_OK, "%s", error.text);
    cr_assert_eq(check_scan(&session, &options, 100, 1), 100);
    cr_assert_eq(edubba_drop_all_rows(session.table, &error), EDUBBA_OK, "%s", error.text);
    cr_assert_eq(check_scan(&session, &options, 0, 1), 0);
    close_session(&session);
}

/* A prefix that somebody else's data was to fill, a key of fields that has become too long: neither is every row. */
Test(client, what_is_nothing_by_accident_drops_nothing)
{
    struct session session = open_filled(10);
    struct edubba_error error;
    struct edubba_scan_options options = {0};
    static struct edubba_key key;
    edubba_key_init(&key);
    edubba_key_add_number(&key, 1, EDUBBA_KEY_SIZE_MAX + 1);
    const struct edubba_bytes too_long = edubba_key_bytes(&key);
    const struct edubba_bytes bounds[][2] = {
        {EDUBBA_NOTHING, EDUBBA_NOTHING}, {EDUBBA_TEXT(""), EDUBBA_TEXT("")},
        {too_long, EDUBBA_NOTHING},       {EDUBBA_NOTHING, too_long},
        {EDUBBA_TEXT("row"), too_long},   {too_long, EDUBBA_TEXT("s")},
    };
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        cr_assert_eq(edubba_drop_row_range(session.table, bounds[i][0], bounds[i][1], &error),
                     EDUBBA_INVALID_ARGUMENT, "%zu", i);
    }
    cr_assert_eq(edubba_drop_row_range(session.table, EDUBBA_NOTHING, EDUBBA_NOTHING, &error),
                 EDUBBA_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "edubba_drop_all_rows"), "%s", error.text);
    cr_assert_eq(edubba_drop_prefix(session.table, EDUBBA_NOTHING, &error),
                 EDUBBA_INVALID_ARGUMENT);
    cr_assert_eq(edubba_drop_prefix(session.table, too_long, &error), EDUBBA_INVALID_ARGUMENT);
    cr_assert_eq(check_scan(&session, &options, 0, 1), 10);
    options.ranges = &(struct edubba_bounds){.start = too_long};
    options.range_count = 1;
    struct edubba_scan *scan = NULL;
    cr_assert_eq(edubba_scan_open(session.table, &options, &scan, &error), EDUBBA_INVALID_ARGUMENT);
    struct edubba_mutation mutation = edubba_delete_from_row();
    cr_assert_eq(edubba_mutate_row(session.table, too_long, &mutation, 1, &error),
                 EDUBBA_INVALID_ARGUMENT);
    close_session(&session);
}

/* What no row key can be is no bound of rows either; the key behind the longest is. */
Test(client, a_range_to_be_dropped_has_bounds_that_keys_may_have)
{
    static uint8_t longest[4097];
    static uint8_t too_long[4098];
    struct session session = open_filled(10);
    struct edubba_error error;
    const struct edubba_bytes last = {longest, sizeof longest};
    const struct edubba_bytes beyond = {too_long, sizeof too_long};
    memset(too_long, 'z', sizeof too_long);
    memset(longest, 'z', sizeof longest);
    cr_assert_eq(edubba_drop_row_range(session.table, beyond, EDUBBA_NOTHING, &error),
                 EDUBBA_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "4098 bytes"), "%s", error.text);
    cr_assert_eq(edubba_drop_row_range(session.table, EDUBBA_NOTHING, beyond, &error),
                 EDUBBA_INVALID_ARGUMENT);
    cr_assert_eq(edubba_drop_row_range(session.table, last, EDUBBA_NOTHING, &error), EDUBBA_OK,
                 "%s", error.text);
    close_session(&session);
}

/* All rows are dropped, the first of it is held, and meanwhile `change` happens, which lets it go. */
static void expect_all_dropped_beside(void *(*change)(void *session))
{
    struct session session = open_session();
    struct edubba_error error;
    struct edubba_scan_options options = {0};
    pthread_t thread;
    fake_fill(session.fake, 1000);
    SET(session, holds, true);
    pthread_create(&thread, NULL, change, &session);
    cr_assert_eq(edubba_drop_all_rows(session.table, &error), EDUBBA_OK, "%s", error.text);
    pthread_join(thread, NULL);
    cr_assert_eq(check_scan(&session, &options, 0, 1), 0);
    close_session(&session);
}

static void *split_while_held(void *argument)
{
    struct session *session = argument;
    wait_until(session->fake, &session->fake->held_count, 1);
    fake_split(session->fake, "row00500", 2);
    fake_release(session->fake);
    return NULL;
}

Test(client, dropping_a_range_reaches_both_halves_of_a_split_under_way)
{
    expect_all_dropped_beside(split_while_held);
}

/* The half that was not reached is back in a tablet that begins as the one that was. */
static void *split_and_join_while_held(void *argument)
{
    struct session *session = argument;
    wait_until(session->fake, &session->fake->held_count, 1);
    pthread_mutex_lock(&session->fake->lock);
    fake_split_locked(session->fake, "row00500", 1);
    fake_release_locked(session->fake);
    fake_join_locked(session->fake, "row00500");
    pthread_mutex_unlock(&session->fake->lock);
    return NULL;
}

Test(client, dropping_a_range_reaches_both_halves_of_a_split_that_is_undone)
{
    expect_all_dropped_beside(split_and_join_while_held);
}

Test(client, tablets_and_servers_are_listed)
{
    struct session session = open_filled(10);
    struct edubba_error error;
    struct edubba_tablet *tablets = NULL;
    struct edubba_server *servers = NULL;
    size_t count = 0;
    fake_move(session.fake, "row00400", 0);
    cr_assert_eq(edubba_list_tablets(session.client, "T", &tablets, &count, &error), EDUBBA_OK);
    cr_assert_eq(count, 3);
    cr_assert_eq(tablets[0].start.size, 0);
    cr_assert_eq(memcmp(tablets[1].start.data, "row00300", 8), 0);
    cr_assert_str_eq(tablets[1].address, "");
    cr_assert_str_eq(tablets[1].state, "unavailable");
    cr_assert_str_eq(tablets[2].address, session.fake->servers[3].address);
    edubba_free(tablets);
    cr_assert_eq(edubba_list_servers(session.client, &servers, &count, &error), EDUBBA_OK);
    cr_assert_eq(count, FAKE_SERVERS - 1);
    cr_assert_str_eq(servers[2].address, session.fake->servers[3].address);
    cr_assert_str_eq(servers[2].condition, "healthy");
    edubba_free(servers);
    close_session(&session);
}

Test(client, a_status_is_one_packed_string)
{
    static const char *const bad[] = {"{}", "", "\xa2{}x", "\xa5{}", "\x93{}"};
    struct session session = open_filled(0);
    struct edubba_error error;
    char *json = NULL;
    session.fake->status_body = bytes_of_text("\xa7{\"a\":1}");
    cr_assert_eq(edubba_status(session.client, NULL, &json, &error), EDUBBA_OK, "%s", error.text);
    cr_assert_str_eq(json, "{\"a\":1}");
    edubba_free(json);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        session.fake->status_body = bytes_of_text(bad[i]);
        cr_assert_eq(edubba_status(session.client, NULL, &json, &error), EDUBBA_INTERNAL, "%zu", i);
    }
    close_session(&session);
}

Test(client, a_status_of_a_dead_address_is_given_up_early)
{
    struct fake_cluster *fake = fake_cluster_start();
    struct edubba_options options = default_options(fake);
    struct edubba_error error;
    char *json = NULL;
    options.deadline_ms = 60000;
    options.unreachable_ms = 1500;
    struct session session = open_with(fake, &options);
    enum edubba_code code = EDUBBA_DEADLINE_EXCEEDED;
    /* A machine that stands still for two seconds makes one that does not listen one that says nothing. */
    for (int attempt = 0; attempt < 4 && code == EDUBBA_DEADLINE_EXCEEDED; attempt++) {
        code = edubba_status(session.client, "tcp://127.0.0.1:1", &json, &error);
        cr_assert_not_null(strstr(error.text, "tcp://127.0.0.1:1"), "%s", error.text);
    }
    cr_assert_eq(code, EDUBBA_UNAVAILABLE, "%s", error.text);
    cr_assert_eq(edubba_status(session.client, "bogus", &json, &error), EDUBBA_INVALID_ARGUMENT);
    close_session(&session);
}

/* --- filters and rules ------------------------------------------------------------------------ */

Test(client, filters_are_built_and_freed_however_deep)
{
    struct edubba_filter *filter = edubba_filter_pass_all();
    for (int i = 0; i < 100000; i++) {
        struct edubba_filter *both[2] = {filter, edubba_filter_family_regex(EDUBBA_TEXT("cf"))};
        filter = edubba_filter_chain(both, 2);
        cr_assert_not_null(filter);
    }
    edubba_filter_free(filter);
    struct edubba_filter *parts[2] = {edubba_filter_sink(), NULL};
    cr_assert_null(edubba_filter_interleave(parts, 2));
    cr_assert_null(edubba_filter_condition(NULL, edubba_filter_pass_all(), NULL));
    edubba_filter_free(edubba_filter_condition(edubba_filter_pass_all(), NULL, NULL));
    edubba_filter_free(NULL);
}

static struct edubba_filter *make_filter(void)
{
    struct edubba_bounds bounds = {.start = EDUBBA_TEXT("a"), .end = EDUBBA_TEXT("b")};
    struct edubba_filter *branches[2] = {edubba_filter_column_range("cf", &bounds),
                                         edubba_filter_value_range(&bounds)};
    struct edubba_filter *steps[3] = {
        edubba_filter_interleave(branches, 2),
        edubba_filter_condition(edubba_filter_row_sample(0.5), edubba_filter_strip_value(),
                                edubba_filter_label(EDUBBA_TEXT("l"))),
        edubba_filter_cells_per_row_limit(3),
    };
    return edubba_filter_chain(steps, 3);
}

/* The address sanitizer sees what is lost or freed twice. */
Test(client, without_memory_a_filter_is_null_and_nothing_is_lost)
{
    bool made = false;
    for (uint64_t after = 0; !made; after++) {
        cr_assert_lt(after, 100);
        memory_fail_arm(after, 0);
        struct edubba_filter *filter = make_filter();
        memory_fail_disarm();
        made = filter != NULL;
        edubba_filter_free(filter);
    }
}

Test(client, without_memory_a_scan_does_not_open_and_nothing_is_lost)
{
    struct session session = open_filled(10);
    struct edubba_filter *filter = make_filter();
    struct edubba_bounds range = {.start = EDUBBA_TEXT("row"), .end = EDUBBA_TEXT("rox")};
    struct edubba_bytes key = EDUBBA_TEXT("row00001");
    struct edubba_scan_options options = {
        .keys = &key, .key_count = 1, .ranges = &range, .range_count = 1, .filter = filter};
    struct edubba_error error;
    clock_sleep_us(20000); /* the other threads are quiet: the failure comes to this one */
    for (uint64_t after = 0; after < 8; after++) {
        struct edubba_scan *scan = NULL;
        memory_fail_arm(after, 1);
        enum edubba_code code = edubba_scan_open_salted(session.table, &options, 1, &scan, &error);
        memory_fail_disarm();
        if (code == EDUBBA_OK) {
            edubba_scan_close(scan);
            break;
        }
        cr_assert_eq(code, EDUBBA_RESOURCE_EXHAUSTED, "%s", error.text);
    }
    cr_assert_eq(check_scan(&session, &(struct edubba_scan_options){.buffer_bytes = 100}, 0, 1),
                 10);
    edubba_filter_free(filter);
    close_session(&session);
}

Test(client, gc_rules_come_back_as_they_went)
{
    static const char *const texts[] = {
        "never",
        "maxversions=3",
        "maxage=10d",
        "maxage=1h or maxversions=2",
        "(maxage=1h and maxversions=2) or maxversions=9",
    };
    struct edubba_error error;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct edubba_gc_rule *rule = NULL;
        struct edubba_gc_rule *again = NULL;
        cr_assert_eq(edubba_gc_rule_parse(texts[i], &rule, &error), EDUBBA_OK, "%s", error.text);
        char *text = edubba_gc_rule_format(rule);
        cr_assert_not_null(text);
        cr_assert_eq(edubba_gc_rule_parse(text, &again, &error), EDUBBA_OK);
        char *same = edubba_gc_rule_format(again);
        cr_assert_str_eq(text, same);
        edubba_free(text);
        edubba_free(same);
        edubba_gc_rule_free(rule);
        edubba_gc_rule_free(again);
    }
    struct edubba_gc_rule *rule = NULL;
    cr_assert_eq(edubba_gc_rule_parse("maxage=x", &rule, &error), EDUBBA_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.text, "x"));
}

Test(client, codes_have_names)
{
    cr_assert_str_eq(edubba_code_name(EDUBBA_OK), "OK");
    cr_assert_str_eq(edubba_code_name(EDUBBA_NOT_FOUND), "NOT_FOUND");
    cr_assert_str_eq(edubba_code_name((enum edubba_code)99), "UNKNOWN");
}

/* It waits for what this very thread has gathered, and would for half a second: until the loop wakes for
 * what it had to do before.  Some are lucky then, and a machine may stand still. */
Test(client, a_thread_that_gathers_drops_rows_at_once)
{
    struct session session = open_filled(10);
    struct edubba_error error;
    int in_time = 0;
    edubba_thread_gathers(true);
    edubba_thread_deadline(250);
    for (int i = 0; i < 20; i++) {
        in_time += edubba_drop_all_rows(session.table, &error) == EDUBBA_OK;
    }
    edubba_thread_deadline(0);
    edubba_thread_gathers(false);
    cr_assert_geq(in_time, 17, "%d, %s", in_time, error.text);
    close_session(&session);
}
