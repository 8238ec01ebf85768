/* Threads that start requests: as soon as a slot is free, or when the schedule says so. */
#include "client/load/starter.h"

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

#include "client/load/core/random.h"

/* --- free slots: with the lock held ----------------------------------------------------------- */

static void append(struct load_starter *starter, struct load_client *client)
{
    client->next = NULL;
    if (starter->first == NULL) {
        starter->first = client;
    } else {
        starter->last->next = client;
    }
    starter->last = client;
}

static void put_free(struct load_starter *starter, struct load_slot *slot)
{
    struct load_client *client = slot->client;
    bool had_none = client->free == NULL;
    slot->next = client->free;
    client->free = slot;
    if (had_none) {
        append(starter, client);
    }
}

/* Of the client whose turn it is; NULL = none is free. */
static struct load_slot *take_free(struct load_starter *starter)
{
    struct load_client *client = starter->first;
    if (client == NULL) {
        return NULL;
    }
    struct load_slot *slot = client->free;
    client->free = slot->next;
    starter->first = client->next;
    if (client->free != NULL) {
        append(starter, client);
    }
    return slot;
}

void load_starter_add(struct load_starter *starter, struct load_slot *slot)
{
    put_free(starter, slot);
    starter->slot_count++;
}

void load_starter_take(struct load_starter *starter, struct load_slot *slot)
{
    pthread_mutex_lock(&starter->lock);
    put_free(starter, slot);
    if (starter->is_waiting) {
        pthread_cond_signal(&starter->changed);
    }
    pthread_mutex_unlock(&starter->lock);
}

/* --- waiting ---------------------------------------------------------------------------------- */

static void wait_until(struct load_starter *starter, int64_t due_ns)
{
    struct timespec due = {due_ns / 1000000000, due_ns % 1000000000};
    (void)pthread_cond_timedwait(&starter->changed, &starter->lock, &due);
}

/* Until the request is due, but not for less than a tick since it was last waited, nor longer than a stop may wait. */
static void wait_for_due(struct load_starter *starter, int64_t now_ns, int64_t due_ns)
{
    int64_t tick_ns = starter->looked_ns + LOAD_STARTER_TICK_NS;
    int64_t look_ns = now_ns + LOAD_STARTER_LOOK_NS;
    due_ns = due_ns < look_ns ? due_ns : look_ns;
    wait_until(starter, due_ns > tick_ns ? due_ns : tick_ns);
    starter->looked_ns = load_now_ns();
}

/* Few slots come back so seldom that to look for them would be what bounds the rate. */
static void wait_for_slot(struct load_starter *starter, int64_t now_ns)
{
    bool looks = starter->run->rate > 0 && starter->slot_count > LOAD_STARTER_FEW_SLOTS;
    starter->is_waiting = !looks;
    wait_until(starter, now_ns + (looks ? LOAD_STARTER_TICK_NS : LOAD_STARTER_LOOK_NS));
    starter->is_waiting = false;
}

/* A slot for the request that is due; NULL when the phase has been stopped. */
static struct load_slot *take_slot(struct load_starter *starter, int64_t due_ns)
{
    struct load_run *run = starter->run;
    struct load_slot *slot = NULL;
    pthread_mutex_lock(&starter->lock);
    while (slot == NULL && !atomic_load_explicit(&run->stop, memory_order_relaxed)) {
        int64_t now_ns = load_now_ns();
        if (now_ns < due_ns) {
            wait_for_due(starter, now_ns, due_ns);
        } else {
            slot = take_free(starter);
            if (slot == NULL) {
                wait_for_slot(starter, now_ns);
            }
        }
    }
    pthread_mutex_unlock(&starter->lock);
    return slot;
}

/* The slots come back one by one; each finds the phase over. */
static void park_all(struct load_starter *starter)
{
    uint64_t left = starter->slot_count - starter->parked;
    while (left > 0) {
        struct load_slot *slot = NULL;
        pthread_mutex_lock(&starter->lock);
        while ((slot = take_free(starter)) == NULL) {
            starter->is_waiting = true;
            pthread_cond_wait(&starter->changed, &starter->lock);
            starter->is_waiting = false;
        }
        pthread_mutex_unlock(&starter->lock);
        load_slot_park(slot);
        left--;
    }
}

/* It could not be sent for too long. */
static bool is_too_late(const struct load_run *run, int64_t due_ns)
{
    return run->options->late_max_s > 0 &&
           (double)(load_now_ns() - due_ns) > run->options->late_max_s * 1e9;
}

/* Counts the n-th and all behind it that are too late by now, and gives the last of them: when far
 * too much is offered, most is given up, and that must cost next to nothing. */
static uint64_t give_up_late(struct load_starter *starter, struct load_slot *slot, uint64_t n)
{
    const struct load_run *run = starter->run;
    int64_t oldest_ns = load_now_ns() - (int64_t)(run->options->late_max_s * 1e9);
    uint64_t next = n;
    do {
        slot->kind = load_workload_kind(run->workload, load_random_below(&slot->random, 100));
        load_tally_add(&load_slot_tally(slot)->late, 1);
        next++;
    } while (load_schedule_due_ns(&starter->schedule, next) < oldest_ns);
    return next - 1;
}

/* False: the phase is over, and it was not sent. */
static bool start(struct load_starter *starter, struct load_slot *slot, int64_t due_ns)
{
    switch (load_slot_start(slot, due_ns)) {
    case LOAD_PARKED:
        starter->parked++;
        return false;
    case LOAD_ENDED:
        load_starter_take(starter, slot);
        return true;
    case LOAD_ON_ITS_WAY:
        break;
    }
    return true;
}

/* The time is over, and the n-th and those behind it were due: whoever asked for so many has to know. */
static void count_unsent(struct load_starter *starter, uint64_t n)
{
    struct load_run *run = starter->run;
    struct load_client *client = &run->clients[starter - run->starters];
    double length_s = run->warmup_s + run->duration_s;
    int64_t end_ns = load_now_ns();
    int64_t planned_ns = run->begun_ns + (int64_t)(length_s * 1e9);
    uint64_t random = n;
    if (run->duration_s > 0 && planned_ns < end_ns) {
        end_ns = planned_ns;
    }
    for (; load_schedule_due_ns(&starter->schedule, n) < end_ns - LOAD_STARTER_GRACE_NS; n++) {
        enum load_kind kind = load_workload_kind(run->workload, load_random_below(&random, 100));
        load_tally_add(&client->tallies[kind].late, 1);
    }
}

static void *run_starter(void *context)
{
    struct load_starter *starter = context;
    struct load_run *run = starter->run;
    bool is_open = run->rate > 0;
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); /* wake on time */
    bool goes_on = true;
    for (uint64_t n = 0; goes_on;) {
        int64_t due_ns = is_open ? load_schedule_due_ns(&starter->schedule, n) : 0;
        struct load_slot *slot = take_slot(starter, due_ns);
        if (slot != NULL && is_open && is_too_late(run, due_ns)) {
            n = give_up_late(starter, slot, n) + 1;
            load_starter_take(starter, slot);
        } else {
            goes_on = slot != NULL && start(starter, slot, due_ns);
            n += goes_on ? 1 : 0;
        }
        if (!goes_on && is_open && atomic_load_explicit(&run->stop, memory_order_relaxed)) {
            count_unsent(starter, n);
        }
    }
    park_all(starter);
    return NULL;
}

bool load_starter_start(struct load_starter *starter)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&starter->lock, NULL);
    pthread_cond_init(&starter->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    starter->is_running = pthread_create(&starter->thread, NULL, run_starter, starter) == 0;
    return starter->is_running;
}

void load_starter_join(struct load_starter *starter)
{
    if (starter->is_running) {
        (void)pthread_join(starter->thread, NULL);
        pthread_cond_destroy(&starter->changed);
        pthread_mutex_destroy(&starter->lock);
    }
}
