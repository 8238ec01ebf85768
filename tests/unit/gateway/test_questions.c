/*
 * Questions that many calls wait for.  Waiters are threads of the test, so it says when a question
 * is asked; calls are only what questions look at of them.
 */
#include <criterion/criterion.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "common/base/prng.h"
#include "gateway/methods/call/questions.h"

/* --- what they stand on, made up -------------------------------------------------------------- */

struct rpc_call {
    atomic_bool is_cancelled;
    uint32_t patience_ms;
};

bool rpc_call_is_cancelled(const struct rpc_call *call)
{
    return atomic_load(&call->is_cancelled);
}

uint32_t rpc_call_patience_ms(const struct rpc_call *call, uint32_t most_ms)
{
    return call->patience_ms < most_ms ? call->patience_ms : most_ms;
}

static _Thread_local uint32_t thread_deadline_ms; /* as the real one */

void edubba_thread_deadline(uint32_t deadline_ms)
{
    thread_deadline_ms = deadline_ms > 0 ? deadline_ms : thread_deadline_ms;
}

static struct {
    _Atomic(struct waiting *) queued[8];
    bool is_full;
} fake;

bool waiters_add(struct waiters *waiters, struct waiting *waiting)
{
    (void)waiters;
    for (size_t i = 0; i < 8 && !fake.is_full; i++) {
        struct waiting *none = NULL;
        if (atomic_compare_exchange_strong(&fake.queued[i], &none, waiting)) {
            return true;
        }
    }
    return false;
}

/* Runs what is queued; false: nothing was. */
static bool run_queued(void)
{
    bool any = false;
    for (size_t i = 0; i < 8; i++) {
        struct waiting *waiting = atomic_exchange(&fake.queued[i], NULL);
        if (waiting != NULL) {
            waiting->run(waiting);
            any = true;
        }
    }
    return any;
}

/* --- calls that wait -------------------------------------------------------------------------- */

struct client {
    struct question_wait wait; /* first */
    struct rpc_call call;
    enum edubba_code code;
    atomic_uint answers;
};

static struct {
    enum edubba_code code;     /* what the next is answered with */
    void (*while_asked)(void); /* may be NULL */
    atomic_uint asked;
} master;

static struct questions *questions;

static enum edubba_code ask(void *context, const char *name, struct edubba_error *error)
{
    cr_assert_str_eq(context, "context");
    cr_assert(name[0] == 'T');
    enum edubba_code code = master.code;
    atomic_fetch_add(&master.asked, 1);
    if (master.while_asked != NULL) {
        master.while_asked();
    }
    if (code != EDUBBA_OK) {
        *error = (struct edubba_error){code, "no"};
    }
    return code;
}

static const struct question_kind KIND = {ask, 0};
static const struct question_kind SHORT = {ask, 70};

static void on_answer(struct question_wait *wait, enum edubba_code code, const char *text)
{
    struct client *client = (struct client *)wait;
    cr_assert(code == EDUBBA_OK || text[0] != '\0');
    client->code = code;
    atomic_fetch_add(&client->answers, 1);
}

static void join(struct client *client, const struct question_kind *kind, const char *name)
{
    client->wait.call = &client->call;
    client->wait.answered = on_answer;
    client->call.patience_ms = client->call.patience_ms > 0 ? client->call.patience_ms : 500;
    questions_join(questions, kind, name, &client->wait);
}

static void expect(const struct client *client, enum edubba_code code)
{
    cr_assert_eq(atomic_load(&client->answers), 1);
    cr_assert_eq(client->code, code);
}

static void start(void)
{
    static char context[] = "context";
    questions = questions_create(NULL, context, 1000);
}

static void stop(void)
{
    questions_destroy(questions);
}

TestSuite(questions, .init = start, .fini = stop, .timeout = 600);

/* --- tests ------------------------------------------------------------------------------------ */

Test(questions, those_who_wait_for_one_are_told_together)
{
    struct client clients[100] = {0};
    struct client other = {0};
    for (size_t i = 0; i < 100; i++) {
        join(&clients[i], &KIND, "T");
    }
    join(&other, &KIND, "T2");
    cr_assert(run_queued());
    cr_assert_eq(atomic_load(&master.asked), 2, "once a name");
    for (size_t i = 0; i < 100; i++) {
        expect(&clients[i], EDUBBA_OK);
    }
    expect(&other, EDUBBA_OK);
    cr_assert_not(run_queued());
}

static struct client late;

static void join_late(void)
{
    master.while_asked = NULL;
    master.code = EDUBBA_OK; /* it was made in this moment */
    join(&late, &KIND, "T");
}

Test(questions, what_was_not_there_is_asked_again_for_who_came_later)
{
    struct client client = {0};
    master.code = EDUBBA_NOT_FOUND;
    master.while_asked = join_late;
    join(&client, &KIND, "T");
    cr_assert(run_queued());
    expect(&client, EDUBBA_NOT_FOUND);
    expect(&late, EDUBBA_OK);
    cr_assert_eq(atomic_load(&master.asked), 2);
}

Test(questions, what_is_there_is_told_also_to_who_came_later)
{
    struct client client = {0};
    master.while_asked = join_late;
    join(&client, &KIND, "T");
    cr_assert(run_queued());
    expect(&client, EDUBBA_OK);
    expect(&late, EDUBBA_OK);
    cr_assert_eq(atomic_load(&master.asked), 1);
}

Test(questions, nothing_is_asked_for_callers_that_are_gone)
{
    struct client clients[2] = {0};
    atomic_store(&clients[0].call.is_cancelled, true);
    join(&clients[0], &KIND, "T");
    cr_assert(run_queued());
    expect(&clients[0], EDUBBA_CANCELLED);
    cr_assert_eq(atomic_load(&master.asked), 0);
    atomic_store(&clients[0].answers, 0);
    join(&clients[0], &KIND, "T");
    join(&clients[1], &KIND, "T");
    cr_assert(run_queued());
    expect(&clients[0], EDUBBA_CANCELLED);
    expect(&clients[1], EDUBBA_OK);
}

Test(questions, the_longest_patience_counts)
{
    struct client clients[3] = {0};
    clients[0].call.patience_ms = 20;
    clients[1].call.patience_ms = 900;
    clients[2].call.patience_ms = 300;
    for (size_t i = 0; i < 3; i++) {
        join(&clients[i], &KIND, "T");
    }
    cr_assert(run_queued());
    cr_assert_eq(thread_deadline_ms, 900);
    atomic_store(&clients[1].answers, 0);
    join(&clients[1], &SHORT, "T");
    cr_assert(run_queued());
    cr_assert_eq(thread_deadline_ms, 70, "but no more than the question's");
}

Test(questions, who_finds_no_room_is_told_so)
{
    struct client client = {0};
    fake.is_full = true;
    join(&client, &KIND, "T");
    expect(&client, EDUBBA_UNAVAILABLE);
    fake.is_full = false;
    atomic_store(&client.answers, 0);
    join(&client, &KIND, "T");
    cr_assert(run_queued());
    expect(&client, EDUBBA_OK);
}

/* --- at once ---------------------------------------------------------------------------------- */

#define THREADS 4
#define ROUNDS  2000

static atomic_bool is_over;

static void *join_often(void *context)
{
    struct prng prng = prng_of_seed((uint64_t)(uintptr_t)context);
    for (int i = 0; i < ROUNDS; i++) {
        static const char *const names[] = {"T1", "T2", "T3"};
        struct client client = {0};
        join(&client, &KIND, names[prng_below(&prng, 3)]);
        while (atomic_load(&client.answers) == 0) {
            sched_yield();
        }
        cr_assert_eq(client.code, EDUBBA_OK);
    }
    return NULL;
}

static void *wait_often(void *context)
{
    while (!atomic_load(&is_over)) {
        if (!run_queued()) {
            sched_yield();
        }
    }
    return context;
}

Test(questions, many_threads_ask_and_are_answered)
{
    pthread_t callers[THREADS];
    pthread_t waiters[2];
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(pthread_create(&waiters[i], NULL, wait_often, NULL), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        cr_assert_eq(pthread_create(&callers[i], NULL, join_often, (void *)(i + 1)), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(callers[i], NULL);
    }
    atomic_store(&is_over, true);
    for (size_t i = 0; i < 2; i++) {
        pthread_join(waiters[i], NULL);
    }
    (void)run_queued(); /* what ends without anybody */
    cr_assert_leq(atomic_load(&master.asked), THREADS * ROUNDS);
}
