/* Where servers come and go, each with another address, a client keeps few of them; and what is under way is not hurt. */
#include "client/loop/client.h"
#include "tests/support/client_session.h"

enum {
    HEARD = 3000,
    LEFT = 8, /* more than the servers that there are */
    ROWS = 30,
    WORKERS = 2,
    EACH = 1500,
    BATCHES = 40,
    ENTRIES = 60,
    PAUSE_US = 500,
    WAITING_US = 300000,
    ATTEMPTS = 12
};

/* What a client has. */
struct known {
    uint32_t addresses;
    uint32_t lanes;
};

/* Something that is done on the client's loop. */
struct work {
    struct task task;
    int heard; /* so many more addresses */
    bool thins;
    struct known known; /* before that */
    atomic_bool is_done;
};

static void hear_of(struct edubba_client *client, int number)
{
    char address[64];
    uint32_t heard = 0;
    int size = snprintf(address, sizeof address, "tcp://10.%d.%d.%d:7401", number / 65536,
                        number / 256 % 256, number % 256);
    cr_assert_eq(location_cache_intern(&client->locations, bytes_of(address, (size_t)size), &heard),
                 STATUS_OK);
}

static void run_work(void *context, struct task *task)
{
    static int number;
    struct edubba_client *client = context;
    struct work *work = (struct work *)(void *)task;
    for (int i = 0; i < work->heard; i++) {
        hear_of(client, number++);
    }
    if (work->thins) { /* as if it lived for long */
        client->addresses_max = 0;
        client->addresses_thinned_ns -= INT64_C(7200) * 1000000000;
    }
    work->known = (struct known){client->locations.address_count, client->lane_capacity};
    atomic_store(&work->is_done, true);
}

static struct known on_loop(struct session *session, int heard, bool thins)
{
    struct work work = {.task = {.run = run_work}, .heard = heard, .thins = thins};
    loop_post(&session->client->loop, &work.task);
    while (!atomic_load(&work.is_done)) {
        clock_sleep_us(PAUSE_US);
    }
    return work.known;
}

/* --- how many ----------------------------------------------------------------------------------- */

Test(client_addresses, those_that_are_heard_of_within_an_hour_are_kept)
{
    struct session session = open_session();
    (void)on_loop(&session, HEARD, false);
    cr_assert_geq(on_loop(&session, 0, false).addresses, HEARD);
    close_session(&session);
}

Test(client_addresses, those_of_a_long_life_are_not_kept_for_ever)
{
    struct session session = open_session();
    struct edubba_error error;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    for (int i = 1; i <= 3; i++) {
        (void)on_loop(&session, HEARD, true);
        cr_assert_leq(on_loop(&session, 0, false).addresses, LEFT);
        cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
        cr_assert_eq(sum_of(&session, 1), i + 1);
    }
    close_session(&session);
}

Test(client_addresses, nor_are_the_lanes_to_them)
{
    struct session session = open_session();
    struct edubba_error error;
    char *json = NULL;
    edubba_thread_deadline(100);
    for (int i = 1; i <= 2 * LEFT; i++) { /* nobody listens there */
        char address[64];
        (void)snprintf(address, sizeof address, "tcp://127.0.0.%d:1", i);
        cr_assert_neq(edubba_status(session.client, address, &json, &error), EDUBBA_OK);
    }
    cr_assert_geq(on_loop(&session, 0, true).addresses, 2 * LEFT);
    struct known known = on_loop(&session, 0, false);
    cr_assert_leq(known.addresses, LEFT);
    cr_assert_leq(known.lanes, LEFT * 4);
    edubba_thread_deadline(0);
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    close_session(&session);
}

/* --- what is under way ---------------------------------------------------------------------------- */

struct question {
    struct session *session;
    enum edubba_code code;
    char *json;
    struct edubba_error error;
};

static void *ask(void *context)
{
    struct question *question = context;
    question->code = edubba_status(question->session->client,
                                   question->session->fake->servers[3].address, &question->json,
                                   &question->error);
    return NULL;
}

Test(client_addresses, a_request_goes_on_to_the_server_that_it_was_meant_for)
{
    struct session session = open_session();
    struct question question = {.session = &session};
    pthread_t thread;
    session.fake->status_body = bytes_of_text("\xa7{\"a\":1}");
    SET(session, is_frozen[3], true);
    cr_assert_eq(pthread_create(&thread, NULL, ask, &question), 0);
    wait_until(session.fake, &session.fake->frozen_count, 1);
    (void)on_loop(&session, HEARD, true);
    cr_assert_leq(on_loop(&session, 0, false).addresses, LEFT);
    SET(session, is_frozen[3], false);
    pthread_join(thread, NULL);
    cr_assert_eq(question.code, EDUBBA_OK, "%s", question.error.text);
    edubba_free(question.json);
    close_session(&session);
}

static atomic_int ended;

static void on_rows(void *context, const struct edubba_rows_result *result)
{
    (void)context;
    cr_assert_eq(result->code, EDUBBA_OK);
    atomic_fetch_add(&ended, 1);
}

/* The server has too much to do for the rows; while they wait another write meets that its connection is lost. */
static void lose_the_lane_of_waiting_rows(struct session *session)
{
    struct edubba_mutation one = edubba_add_int64("sum", EDUBBA_TEXT("n"), 0, 1);
    struct edubba_entry entry = {row_key(1), &one, 1, NULL};
    SET(*session, is_deposed[1], true);
    cr_assert_eq(edubba_submit_rows(session->table, &entry, 1, 0, on_rows, NULL, NULL), EDUBBA_OK);
    clock_sleep_us(WAITING_US);
    SET(*session, drops_before_left, 1);
    submit_add(session, 2, 1, &outcomes[0]);
    while (GET(*session, drops_before_left) > 0) {
        clock_sleep_us(PAUSE_US);
    }
    (void)on_loop(session, 0, true);
    SET(*session, is_deposed[1], false);
    edubba_drain(session->client);
}

/* Which of the two meets it is chance, so it is done a few times. */
Test(client_addresses, rows_that_wait_go_over_a_lane_that_is_there)
{
    struct session session = open_session();
    struct edubba_error error;
    cr_assert_eq(add(&session, 1, &error), EDUBBA_OK, "%s", error.text);
    for (int i = 1; i <= ATTEMPTS; i++) {
        lose_the_lane_of_waiting_rows(&session);
        cr_assert_eq(ended, i);
        cr_assert_eq(sum_of(&session, 1), i + 1);
        cr_assert_eq(sum_of(&session, 2), i);
    }
    close_session(&session);
}

struct worker {
    struct session *session;
    int number;
};

static void *submit_adds(void *context)
{
    struct worker *worker = context;
    for (int i = 0; i < EACH; i++) {
        submit_add(worker->session, i * 13 % ROWS, 1, &outcomes[worker->number * EACH + i]);
        if (i % 50 == 0) {
            clock_sleep_us(2000);
        }
    }
    return NULL;
}

static struct edubba_error batch_errors[ENTRIES];

/* Rows that travel together. */
static void *submit_batches(void *context)
{
    struct session *session = context;
    static char keys[ENTRIES][16];
    struct edubba_mutation one = edubba_add_int64("sum", EDUBBA_TEXT("n"), 0, 1);
    struct edubba_entry entries[ENTRIES];
    for (int i = 0; i < ENTRIES; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "row%05d", i % ROWS);
        entries[i] = (struct edubba_entry){
            .row = EDUBBA_TEXT(keys[i]), .mutations = &one, .count = 1};
    }
    for (int i = 0; i < BATCHES; i++) {
        cr_assert_eq(edubba_mutate_rows(session->table, entries, ENTRIES, batch_errors), EDUBBA_OK);
    }
    return NULL;
}

static atomic_bool is_over;

static void *keep_thinning(void *context)
{
    while (!atomic_load(&is_over)) {
        (void)on_loop(context, LEFT, true);
        clock_sleep_us(PAUSE_US);
    }
    return NULL;
}

static void submit_all(struct session *session)
{
    struct worker workers[WORKERS];
    pthread_t threads[WORKERS + 1];
    pthread_create(&threads[WORKERS], NULL, submit_batches, session);
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){session, i};
        pthread_create(&threads[i], NULL, submit_adds, &workers[i]);
    }
    split_and_move(session, ROWS, 60);
    for (int i = 0; i <= WORKERS; i++) {
        pthread_join(threads[i], NULL);
    }
}

Test(client_addresses, nothing_that_is_under_way_is_lost_or_doubled)
{
    struct session session = open_session();
    struct edubba_scan_options everything = {0};
    pthread_t thread;
    int64_t total = 0;
    fake_fill(session.fake, ROWS);
    fake_split(session.fake, "row00010", 2);
    fake_split(session.fake, "row00020", 3);
    SET(session, chaos_one_in, 20);
    pthread_create(&thread, NULL, keep_thinning, &session);
    submit_all(&session);
    SET(session, chaos_one_in, 0);
    cr_assert_eq(check_scan(&session, &everything, 0, 1), ROWS);
    edubba_drain(session.client);
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    for (int i = 0; i < WORKERS * EACH; i++) {
        cr_assert_eq(outcomes[i].completions, 1);
        cr_assert_eq(outcomes[i].code, EDUBBA_OK, "%s", outcomes[i].text);
    }
    for (int i = 0; i < ROWS; i++) {
        total += sum_of(&session, i) - i;
    }
    cr_assert_eq(total, WORKERS * EACH + BATCHES * ENTRIES);
    close_session(&session);
}
