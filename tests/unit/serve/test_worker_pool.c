#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "tabletserver/serve/worker_pool.h"

static atomic_uint done;
static atomic_uint order;
static atomic_bool gate;
static atomic_bool at_the_gate;
static struct worker_pool *pool;

struct counted {
    struct job job;
    uint32_t left; /* runs still to come */
    uint32_t at;   /* when it ran, counted from 1 */
    enum job_priority priority;
};

static void run(struct job *job)
{
    struct counted *counted = (struct counted *)job;
    counted->at = atomic_fetch_add(&order, 1) + 1;
    if (--counted->left > 0) {
        worker_pool_submit(pool, job, counted->priority);
    } else {
        atomic_fetch_add(&done, 1);
    }
}

static void wait_at_the_gate(struct job *job)
{
    (void)job;
    atomic_store(&at_the_gate, true);
    while (!atomic_load(&gate)) {
        clock_sleep_us(100);
    }
}

Test(worker_pool, every_job_runs_and_destroying_waits_for_all)
{
    enum {
        COUNT = 5000
    };
    static struct counted jobs[COUNT];

    cr_assert_eq(worker_pool_create(4, &pool), STATUS_OK);
    for (int i = 0; i < COUNT; i++) {
        jobs[i] = (struct counted){
            .job = {.run = run}, .left = 3, .priority = i % 2 ? JOB_URGENT : JOB_PATIENT};
        worker_pool_submit(pool, &jobs[i].job, jobs[i].priority);
    }
    worker_pool_destroy(pool);
    cr_assert_eq(atomic_load(&done), COUNT);
}

static void *submit_many(void *argument)
{
    struct counted *jobs = argument;
    for (int i = 0; i < 500; i++) {
        jobs[i] = (struct counted){.job = {.run = run}, .left = 1, .priority = JOB_URGENT};
        worker_pool_submit(pool, &jobs[i].job, JOB_URGENT);
        if (i % 50 == 0) {
            clock_sleep_us(500); /* let them fall asleep */
        }
    }
    return NULL;
}

Test(worker_pool, no_wake_up_is_missed)
{
    static struct counted jobs[4][500];
    pthread_t threads[4];

    cr_assert_eq(worker_pool_create(3, &pool), STATUS_OK);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, submit_many, jobs[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    int64_t until = clock_monotonic_ns() + INT64_C(60000000000);
    while (atomic_load(&done) < 2000) {
        cr_assert_lt(clock_monotonic_ns(), until);
        clock_sleep_us(100);
    }
    worker_pool_destroy(pool);
}

Test(worker_pool, prompt_goes_before_all_that_waits)
{
    struct counted urgent[5];
    struct counted prompt[2];
    struct job blocker = {.run = wait_at_the_gate};

    cr_assert_eq(worker_pool_create(1, &pool), STATUS_OK);
    worker_pool_submit(pool, &blocker, JOB_URGENT);
    while (!atomic_load(&at_the_gate)) {
        clock_sleep_us(100);
    }
    for (int i = 0; i < 5; i++) {
        urgent[i] = (struct counted){.job = {.run = run}, .left = 1, .priority = JOB_URGENT};
        worker_pool_submit(pool, &urgent[i].job, JOB_URGENT);
    }
    for (int i = 0; i < 2; i++) {
        prompt[i] = (struct counted){.job = {.run = run}, .left = 1, .priority = JOB_PROMPT};
        worker_pool_submit(pool, &prompt[i].job, JOB_PROMPT);
    }
    atomic_store(&gate, true);
    worker_pool_destroy(pool);
    cr_assert_eq(prompt[0].at, 1);
    cr_assert_eq(prompt[1].at, 2);
    cr_assert_eq(urgent[0].at, 3);
    cr_assert_eq(urgent[4].at, 7);
}

Test(worker_pool, urgent_goes_first_and_patient_is_not_forgotten)
{
    enum {
        URGENT = 100
    };
    static struct counted urgent[URGENT];
    struct counted patient[2];
    struct job blocker = {.run = wait_at_the_gate};

    cr_assert_eq(worker_pool_create(1, &pool), STATUS_OK);
    worker_pool_submit(pool, &blocker, JOB_URGENT);
    for (int i = 0; i < 2; i++) {
        patient[i] = (struct counted){.job = {.run = run}, .left = 1, .priority = JOB_PATIENT};
        worker_pool_submit(pool, &patient[i].job, JOB_PATIENT);
    }
    for (int i = 0; i < URGENT; i++) {
        urgent[i] = (struct counted){.job = {.run = run}, .left = 1, .priority = JOB_URGENT};
        worker_pool_submit(pool, &urgent[i].job, JOB_URGENT);
    }
    atomic_store(&gate, true);
    worker_pool_destroy(pool);
    cr_assert_eq(urgent[0].at, 1);
    cr_assert(patient[0].at >= WORKER_URGENT_IN_A_ROW &&
              patient[0].at <= WORKER_URGENT_IN_A_ROW + 2);
    cr_assert(patient[1].at >= 2 * WORKER_URGENT_IN_A_ROW &&
              patient[1].at <= 2 * WORKER_URGENT_IN_A_ROW + 3);
    cr_assert_eq(urgent[URGENT - 1].at, URGENT + 2);
}

Test(worker_pool, fails_cleanly_without_memory)
{
    memory_fail_arm(0, 0);
    cr_assert_eq(worker_pool_create(2, &pool), STATUS_NO_MEMORY);
    memory_fail_disarm();
    worker_pool_destroy(NULL);
}

struct placed {
    struct job job;
    atomic_bool done;
    pthread_t thread;
};

static void note_thread(struct job *job)
{
    struct placed *placed = (struct placed *)job;
    placed->thread = pthread_self();
    atomic_store(&placed->done, true);
}

static bool runs_here(void)
{
    struct placed placed = {.job = {.run = note_thread}};
    worker_pool_run_or_submit(pool, &placed.job);
    while (!atomic_load(&placed.done)) {
        clock_sleep_us(100);
    }
    return pthread_equal(placed.thread, pthread_self());
}

Test(worker_pool, a_short_job_runs_here_only_while_a_worker_sleeps, .timeout = 300)
{
    struct job blocker = {.run = wait_at_the_gate};
    struct placed placed = {.job = {.run = note_thread}};

    cr_assert_eq(worker_pool_create(1, &pool), STATUS_OK);
    while (!runs_here()) {
        clock_sleep_us(1000); /* it has not begun to wait yet */
    }
    worker_pool_submit(pool, &blocker, JOB_PATIENT);
    while (!atomic_load(&at_the_gate)) {
        clock_sleep_us(100);
    }
    worker_pool_run_or_submit(pool, &placed.job);
    cr_assert_not(atomic_load(&placed.done));
    atomic_store(&gate, true);
    worker_pool_destroy(pool);
    cr_assert(atomic_load(&placed.done));
    cr_assert_not(pthread_equal(placed.thread, pthread_self()));
}
