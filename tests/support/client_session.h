/*
 * A client with a table open on a fake cluster, and what its tests do most: add, sum, wait, scan.
 */
#ifndef TESTS_SUPPORT_CLIENT_SESSION_H
#define TESTS_SUPPORT_CLIENT_SESSION_H

#include <criterion/criterion.h>
#include <stdatomic.h>

#include "client/include/edubba.h"
#include "common/base/prng.h"
#include "tests/support/fake_cluster.h"

#define OPERATIONS_MAX 8192

struct session {
    struct fake_cluster *fake;
    struct edubba_client *client;
    struct edubba_table *table;
};

/* What became of one submitted operation. */
struct outcome {
    atomic_int completions;
    atomic_int code;
    char text[256];
};

__attribute__((unused)) static struct outcome outcomes[OPERATIONS_MAX];

__attribute__((unused)) static struct edubba_options default_options(
    const struct fake_cluster *fake)
{
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    options.masters = fake->servers[0].address;
    options.deadline_ms = 60000; /* no test waits for it: it is for a machine that is slow */
    return options;
}

__attribute__((unused)) static struct session open_with(struct fake_cluster *fake,
                                                        const struct edubba_options *options)
{
    struct session session = {.fake = fake};
    struct edubba_error error;
    cr_assert_eq(edubba_client_open(options, &session.client, &error), EDUBBA_OK, "%s", error.text);
    cr_assert_eq(edubba_table_open(session.client, "T", &session.table, &error), EDUBBA_OK, "%s",
                 error.text);
    return session;
}

__attribute__((unused)) static struct session open_session(void)
{
    struct fake_cluster *fake = fake_cluster_start();
    struct edubba_options options = default_options(fake);
    return open_with(fake, &options);
}

__attribute__((unused)) static void close_session(struct session *session)
{
    cr_assert_eq(session->fake->violations, 0, "%s", session->fake->violation);
    edubba_table_close(session->table);
    edubba_client_close(session->client);
    fake_cluster_stop(session->fake);
}

__attribute__((unused)) static void on_done(void *context, const struct edubba_result *result)
{
    struct outcome *outcome = context;
    (void)snprintf(outcome->text, sizeof outcome->text, "%s", result->text);
    atomic_store(&outcome->code, (int)result->code);
    atomic_fetch_add(&outcome->completions, 1);
}

__attribute__((unused)) static struct edubba_bytes row_key(int number)
{
    static _Thread_local char key[FAKE_KEY_MAX];
    int size = snprintf(key, sizeof key, "row%05d", number);
    return edubba_bytes_of(key, (size_t)size);
}

/* Add `amount` to row `number`, asynchronously. */
__attribute__((unused)) static void submit_add_for(struct session *session,
                                                   int number,
                                                   int64_t amount,
                                                   uint32_t deadline_ms,
                                                   struct outcome *outcome)
{
    struct edubba_error error;
    struct edubba_mutation add = edubba_add_int64("sum", EDUBBA_TEXT("n"), 0, amount);
    struct edubba_operation operation = {
        .kind = EDUBBA_OPERATION_MUTATE,
        .row = row_key(number),
        .mutations = &add,
        .mutation_count = 1,
        .deadline_ms = deadline_ms,
    };
    cr_assert_eq(edubba_submit(session->table, &operation, on_done, outcome, &error), EDUBBA_OK);
}

__attribute__((unused)) static void submit_add(struct session *session,
                                               int number,
                                               int64_t amount,
                                               struct outcome *outcome)
{
    submit_add_for(session, number, amount, 0, outcome);
}

__attribute__((unused)) static enum edubba_code add(struct session *session,
                                                    int number,
                                                    struct edubba_error *error)
{
    struct edubba_mutation one = edubba_add_int64("sum", EDUBBA_TEXT("n"), 0, 1);
    return edubba_mutate_row(session->table, row_key(number), &one, 1, error);
}

__attribute__((unused)) static int64_t sum_of(struct session *session, int number)
{
    struct edubba_error error;
    struct edubba_row *row = NULL;
    int64_t value = 0;
    cr_assert_eq(edubba_read_row(session->table, row_key(number), NULL, &row, &error), EDUBBA_OK,
                 "%s", error.text);
    if (row != NULL) {
        cr_assert_eq(row->cell_count, 1);
        cr_assert_eq(edubba_aggregate_value(row->cells[0].value, &value), EDUBBA_OK);
    }
    edubba_row_free(row);
    return value;
}

__attribute__((unused)) static int read_locked(struct fake_cluster *fake, const int *value)
{
    pthread_mutex_lock(&fake->lock);
    int copy = *value;
    pthread_mutex_unlock(&fake->lock);
    return copy;
}

#define SET(session, field, value)                   \
    do {                                             \
        pthread_mutex_lock(&(session).fake->lock);   \
        (session).fake->field = (value);             \
        pthread_mutex_unlock(&(session).fake->lock); \
    } while (0)
#define GET(session, field) read_locked((session).fake, &(session).fake->field)

__attribute__((unused)) static void wait_until(struct fake_cluster *fake,
                                               const int *value,
                                               int least)
{
    for (int i = 0; i < 60000 && read_locked(fake, value) < least; i++) {
        clock_sleep_us(1000);
    }
    cr_assert_geq(read_locked(fake, value), least);
}

/* So many times the tablet of one of the first `rows` rows is split or moved, and servers begin or cease to tell where. */
__attribute__((unused)) static void split_and_move(struct session *session, int rows, int times)
{
    struct prng prng = prng_of_seed(5);
    for (int i = 0; i < times; i++) {
        char row[FAKE_KEY_MAX];
        (void)snprintf(row, sizeof row, "row%05d", (int)prng_below(&prng, (uint64_t)rows));
        if (i % 6 == 0) {
            fake_split(session->fake, row, 1 + (int)prng_below(&prng, 3));
        } else {
            fake_move(session->fake, row, 1 + (int)prng_below(&prng, 3));
        }
        SET(*session, tells_location, prng_chance(&prng, 2));
        clock_sleep_us(3000);
    }
}

/* Rows first, first + step ... as the fake was filled; returns how many came. */
__attribute__((unused)) static int check_scan(struct session *session,
                                              const struct edubba_scan_options *options,
                                              int first,
                                              int step)
{
    struct edubba_scan *scan = NULL;
    struct edubba_error error;
    int count = 0;
    cr_assert_eq(edubba_scan_open(session->table, options, &scan, &error), EDUBBA_OK, "%s",
                 error.text);
    for (;;) {
        const struct edubba_row *row = NULL;
        cr_assert_eq(edubba_scan_next(scan, &row, &error), EDUBBA_OK, "%s", error.text);
        if (row == NULL) {
            break;
        }
        struct edubba_bytes expected = row_key(first + count * step);
        cr_assert_eq(row->key.size, expected.size);
        cr_assert_eq(memcmp(row->key.data, expected.data, expected.size), 0, "%.*s, not %.*s",
                     (int)row->key.size, (const char *)row->key.data, (int)expected.size,
                     (const char *)expected.data);
        count++;
    }
    edubba_scan_close(scan);
    return count;
}

__attribute__((unused)) static struct session open_filled(int rows)
{
    struct session session = open_session();
    fake_fill(session.fake, rows);
    fake_split(session.fake, "row00300", 2);
    fake_split(session.fake, "row00600", 3);
    return session;
}

/* Something that only a master answers. */
static inline enum edubba_code list_servers(struct session *session, struct edubba_error *error)
{
    struct edubba_server *servers = NULL;
    size_t count = 0;
    enum edubba_code code = edubba_list_servers(session->client, &servers, &count, error);
    edubba_free(servers);
    return code;
}

#endif /* TESTS_SUPPORT_CLIENT_SESSION_H */
