/* A tablet's primary is gone, in each of the ways in which one goes: the client finds the new one. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/client_session.h"

enum {
    MANY = 40,
    ATTEMPTS = 8,
    CONNECTING_MS = 2900 /* a little less than a connection is waited for */
};

/* Server 1 leads all tablets, server 2 has a copy. */
static struct session open_pair(void)
{
    struct session session = open_session();
    struct edubba_error error;
    SET(session, tablets[0].other, 2);
    cr_assert_eq(add(&session, 0, &error), EDUBBA_OK, "%s", error.text);
    return session;
}

static void go_away(struct fake_cluster *fake, int server)
{
    transport_listener_close(fake->servers[server].listener, 0);
    fake->servers[server].listener = NULL;
}

static void submit_many(struct session *session)
{
    for (int i = 0; i < MANY; i++) {
        submit_add(session, i, 1, &outcomes[i]);
    }
}

/* Every one was done, and once. */
static void assert_done_once(struct session *session)
{
    edubba_drain(session->client);
    for (int i = 0; i < MANY; i++) {
        cr_assert_eq(outcomes[i].completions, 1);
        cr_assert_eq(outcomes[i].code, EDUBBA_OK, "%d: %s", i, outcomes[i].text);
        cr_assert_eq(sum_of(session, i), i == 0 ? 2 : 1);
    }
}

static int64_t since_ms(int64_t began_ns)
{
    return (clock_monotonic_ns() - began_ns) / 1000000;
}

/* --- the connection breaks ---------------------------------------------------------------------- */

/* Applied, not answered: the new primary has it, and knows the identity. */
Test(failover, what_was_done_before_the_primary_died_is_not_done_again)
{
    struct session session = open_pair();
    SET(session, drops_after_left, 1 << 30);
    submit_many(&session);
    wait_until(session.fake, &session.fake->applied, MANY + 1);
    go_away(session.fake, 1);
    SET(session, drops_after_left, 0);
    fake_fail_over(session.fake);
    assert_done_once(&session);
    cr_assert_gt(session.fake->duplicates, 0, "the test must have met some");
    cr_assert_eq(session.fake->applied, MANY + 1);
    close_session(&session);
}

Test(failover, what_was_on_its_way_is_done_by_the_new_primary)
{
    struct session session = open_pair();
    SET(session, drops_before_left, 1 << 30);
    submit_many(&session);
    wait_until(session.fake, &session.fake->messages, 2);
    go_away(session.fake, 1);
    clock_sleep_us(100000); /* the master still names the one that is gone */
    SET(session, drops_before_left, 0);
    fake_fail_over(session.fake);
    assert_done_once(&session);
    close_session(&session);
}

/* --- nothing is heard --------------------------------------------------------------------------- */

Test(failover, a_primary_that_is_silent_is_left_for_the_one_that_took_over)
{
    struct session session = open_pair();
    int64_t began_ns = clock_monotonic_ns();
    SET(session, is_frozen[1], true);
    submit_many(&session);
    wait_until(session.fake, &session.fake->frozen_count, 1);
    fake_fail_over(session.fake);
    assert_done_once(&session);
    cr_assert_geq(since_ms(began_ns), 2400, "it was given its time");
    cr_assert_lt(since_ms(began_ns), 60000);
    close_session(&session);
}

Test(failover, a_scan_leaves_a_silent_primary_too)
{
    struct session session = open_pair();
    struct edubba_scan_options options = {0};
    fake_fill(session.fake, 200);
    SET(session, is_frozen[1], true);
    fake_fail_over(session.fake);
    cr_assert_eq(check_scan(&session, &options, 0, 1), 200);
    close_session(&session);
}

/* How often a write is sent to one that takes five seconds. */
static int sent_to_a_slow_one(void)
{
    struct session session = open_pair();
    int messages = GET(session, messages);
    struct outcome *outcome = &outcomes[0];
    *outcome = (struct outcome){.completions = 0};
    SET(session, holds, true);
    submit_add(&session, 1, 1, outcome);
    wait_until(session.fake, &session.fake->held_count, 1);
    clock_sleep_us(5000000);
    int sent = GET(session, messages) - messages;
    cr_assert_eq(outcome->completions, 0);
    fake_release(session.fake);
    edubba_drain(session.client);
    cr_assert_eq(outcome->code, EDUBBA_OK);
    close_session(&session);
    return sent;
}

/* It has much to do, and says so when it is asked: nothing is sent twice.  (One that the machine gave no processor for two
 * seconds says nothing: of several the least tells.) */
Test(failover, a_primary_that_is_slow_is_waited_for)
{
    int sent = sent_to_a_slow_one();
    for (int attempt = 1; attempt < ATTEMPTS && sent > 1; attempt++) {
        sent = sent_to_a_slow_one();
    }
    cr_assert_eq(sent, 1);
}

/* A machine that takes the connection and shakes no hand. */
static int listen_mutely(char *address, size_t size)
{
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof where;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&where, sizeof where), 0);
    cr_assert_eq(listen(listener, 16), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&where, &length), 0);
    (void)snprintf(address, size, "tcp://127.0.0.1:%u", (unsigned)ntohs(where.sin_port));
    return listener;
}

/* How long it takes until a row is served that has moved on from such a machine. */
static int64_t past_a_mute_one_ms(void)
{
    struct session session = open_pair();
    struct edubba_error error;
    char served[64];
    int64_t began_ns = clock_monotonic_ns();
    pthread_mutex_lock(&session.fake->lock);
    memcpy(served, session.fake->servers[3].address, sizeof served);
    int listener = listen_mutely(session.fake->servers[3].address, sizeof served);
    fake_move_locked(session.fake, "row00001", 3);
    pthread_mutex_unlock(&session.fake->lock);
    submit_add(&session, 1, 1, &outcomes[0]);
    clock_sleep_us(300000);
    fake_move(session.fake, "row00001", 2);
    edubba_drain(session.client);
    int64_t took_ms = since_ms(began_ns);
    cr_assert_eq(outcomes[0].code, EDUBBA_OK, "%s", outcomes[0].text);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK);
    close(listener);
    close_session(&session);
    return took_ms;
}

/* The machine may be busy for as long: of several the shortest tells what is waited for. */
Test(failover, what_waits_for_a_connection_looks_again_before_that_is_given_up)
{
    int64_t took_ms = INT64_MAX;
    for (int attempt = 0; attempt < ATTEMPTS && took_ms >= CONNECTING_MS; attempt++) {
        took_ms = past_a_mute_one_ms();
    }
    cr_assert_lt(took_ms, CONNECTING_MS, "%ld ms: connecting takes three seconds", (long)took_ms);
}

/* --- it was deposed, and does not know ---------------------------------------------------------- */

Test(failover, a_primary_that_refuses_for_long_is_asked_about)
{
    struct session session = open_pair();
    SET(session, is_deposed[1], true);
    submit_many(&session);
    clock_sleep_us(50000);
    fake_fail_over(session.fake);
    assert_done_once(&session);
    close_session(&session);
}

Test(failover, rows_that_travel_together_find_it_too)
{
    struct session session = open_pair();
    struct edubba_error errors[MANY];
    struct edubba_mutation one = edubba_add_int64("sum", EDUBBA_TEXT("n"), 0, 1);
    struct edubba_entry entries[MANY];
    static char keys[MANY][16];
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "row%05d", i);
        entries[i] = (struct edubba_entry){
            .row = EDUBBA_TEXT(keys[i]), .mutations = &one, .count = 1};
    }
    SET(session, is_deposed[1], true);
    fake_fail_over(session.fake);
    cr_assert_eq(edubba_mutate_rows(session.table, entries, MANY, errors), EDUBBA_OK, "%s",
                 errors[0].text);
    for (int i = 0; i < MANY; i++) {
        cr_assert_eq(sum_of(&session, i), i == 0 ? 2 : 1);
    }
    close_session(&session);
}

Test(failover, a_master_is_not_asked_for_every_refusal)
{
    struct session session = open_pair();
    int locates = GET(session, locates[0]);
    SET(session, is_deposed[1], true);
    for (int i = 0; i < MANY; i++) {
        submit_add_for(&session, i, 1, 4000, &outcomes[i]);
    }
    edubba_drain(session.client);
    cr_assert_gt(GET(session, locates[0]), locates);
    cr_assert_leq(GET(session, locates[0]), locates + 10, "at most twice a second");
    SET(session, is_deposed[1], false);
    close_session(&session);
}

/* --- and no master answers ---------------------------------------------------------------------- */

/* Was the one that leads now the first to be asked?  Where the machine takes so long over it that silence would be no
 * wonder, that is not judged. */
static bool asks_the_member_first(void)
{
    struct session session = open_pair();
    struct edubba_error error;
    int64_t began_ns = clock_monotonic_ns();
    go_away(session.fake, 0);
    go_away(session.fake, 1);
    SET(session, is_behind[3], true);
    fake_fail_over(session.fake);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    bool first = GET(session, locates[2]) == 1 && GET(session, locates[3]) == 0;
    bool is_judged = since_ms(began_ns) < 1500;
    close_session(&session);
    cr_assert(first || !is_judged, "it was the first to be asked");
    return is_judged;
}

/* The one that leads now knows it; the rest of the cluster hears of it from a master.  Whoever asks by
 * chance would find it at once in one world, but not in eight. */
Test(failover, the_other_members_are_asked_first_where_no_master_is)
{
    int judged = 0;
    for (int world = 0; world < 8 * ATTEMPTS && judged < 8; world++) {
        judged += asks_the_member_first() ? 1 : 0;
    }
    cr_assert_eq(judged, 8);
}

/* In how many of four rounds that master is asked. */
static int rounds_that_ask_a_silent_one(void)
{
    struct session session = open_pair();
    struct edubba_error error;
    int rounds = 0;
    SET(session, is_frozen[0], true);
    for (int round = 0; round < 4; round++) {
        int asked = GET(session, frozen_count);
        fake_fail_over(session.fake);
        SET(session, tells_location, false);
        cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
        cr_assert(round > 0 || GET(session, frozen_count) > asked);
        rounds += GET(session, frozen_count) > asked ? 1 : 0;
    }
    close_session(&session);
    return rounds;
}

/* Once, and no more for ten seconds: a machine may take that long, so of several the least tells. */
Test(failover, masters_that_are_silent_do_not_hold_up_what_servers_know)
{
    int rounds = rounds_that_ask_a_silent_one();
    for (int attempt = 1; attempt < ATTEMPTS && rounds > 1; attempt++) {
        rounds = rounds_that_ask_a_silent_one();
    }
    cr_assert_eq(rounds, 1);
}

/* Two seconds of waiting for the master were all the time that it had.  (The machine may take them, too.) */
Test(failover, a_silent_master_does_not_take_the_deadline_of_who_asks_where_a_tablet_is)
{
    int code = EDUBBA_DEADLINE_EXCEEDED;
    for (int attempt = 0; attempt < ATTEMPTS && code == EDUBBA_DEADLINE_EXCEEDED; attempt++) {
        struct session session = open_pair();
        SET(session, is_frozen[0], true);
        fake_fail_over(session.fake);
        SET(session, tells_location, false);
        submit_add_for(&session, 1, 1, 2000, &outcomes[attempt]);
        edubba_drain(session.client);
        code = outcomes[attempt].code;
        cr_assert(code != EDUBBA_OK || GET(session, frozen_count) >= 1, "it was asked");
        close_session(&session);
    }
    cr_assert_eq(code, EDUBBA_OK);
}

Test(failover, a_new_client_gets_past_silent_masters_to_the_servers_it_was_given)
{
    struct fake_cluster *fake = fake_cluster_start();
    struct edubba_options options = default_options(fake);
    struct edubba_error error;
    char masters[160];
    (void)snprintf(masters, sizeof masters, "%s,%s", fake->servers[0].address,
                   fake->servers[2].address);
    options.masters = masters;
    fake->is_frozen[0] = true;
    struct session session = open_with(fake, &options);
    int asked = GET(session, frozen_count);
    cr_assert_geq(asked, 1);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    cr_assert_eq(GET(session, frozen_count), asked, "the silent one was asked again");
    close_session(&session);
}
