#include "client/load/lab/flight.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "client/load/core/schedule.h"
#include "client/load/lab/core/experiments/story.h"
#include "client/load/run.h"

#define TICK_NS INT64_C(250000)   /* an open loop looks no more often for what is due */
#define WAIT_NS INT64_C(20000000) /* for a slot, or for a stop */

/* --- counting --------------------------------------------------------------------------------- */

static bool is_behind(const uint8_t *key, size_t size, const uint8_t *other, size_t other_size)
{
    size_t common = size < other_size ? size : other_size;
    int order = memcmp(key, other, common);
    return order > 0 || (order == 0 && size > other_size);
}

static void mark(struct lab_flight *flight, size_t tablet, const struct lab_slot_key *key)
{
    struct lab_mark *of = &flight->marks[tablet];
    if (of->is_known) {
        flight->judged++;
        flight->behind += is_behind(key->data, key->size, of->before, of->before_size) ? 1 : 0;
    }
    if (of->now_size == 0 || is_behind(key->data, key->size, of->now, of->now_size)) {
        memcpy(of->now, key->data, key->size);
        of->now_size = key->size;
    }
}

static void count_at(struct lab_flight *flight, const void *row, size_t size)
{
    if (flight->map != NULL) {
        flight->operations[lab_map_find(flight->map, row, size)]++;
    }
}

/* The lock is held. */
static void count_write(struct lab_flight *flight, const struct lab_slot *slot)
{
    for (size_t i = 0; i < slot->key_count && flight->map != NULL; i++) {
        const struct lab_slot_key *key = &slot->keys[i];
        size_t tablet = lab_map_find(flight->map, key->data, key->size);
        uint32_t low = edubba_salt(edubba_bytes_of(key->data, key->size), UINT32_MAX);
        uint64_t id = (uint64_t)low << 8 | key->size % 256;
        flight->operations[tablet]++;
        mark(flight, tablet, key);
        lab_frequent_add(&flight->by_row, id, key->data, key->size);
    }
    flight->events++;
    lab_frequent_add(&flight->by_who, slot->event.who, NULL, 0);
}

static void count_sum(struct lab_flight *flight, const struct lab_slot *slot, int64_t *sums)
{
    if (sums != NULL) {
        struct lab_sum_cell sum = flight->experiment->sum_of_event(&slot->event);
        sums[sum.index] += sum.amount;
    }
}

static void keep_error(struct lab_flight *flight, enum edubba_code code, const char *text)
{
    if (flight->first_error[0] == '\0') {
        (void)snprintf(flight->first_error, sizeof flight->first_error, "%s: %.200s",
                       edubba_code_name(code), text);
    }
}

void lab_slot_count(struct lab_slot *slot, enum edubba_code code, const char *text, uint64_t rows)
{
    struct lab_flight *flight = slot->flight;
    struct load_tally *tally = flight->tally;
    bool is_write = flight->kind != LAB_FLIGHT_QUERIES;
    load_tally_add(&tally->codes[code < LOAD_CODES ? code : EDUBBA_UNKNOWN], 1);
    pthread_mutex_lock(&flight->lock);
    if (code == EDUBBA_OK && is_write) {
        count_write(flight, slot);
        count_sum(flight, slot, flight->given);
    } else if (code == EDUBBA_OK) {
        flight->bytes_given += slot->bytes;
    } else if (code != EDUBBA_OK) {
        keep_error(flight, code, text);
    }
    if (is_write && load_outcome_is_unknown(code)) {
        count_sum(flight, slot, flight->doubted);
    }
    pthread_mutex_unlock(&flight->lock);
    if (code == EDUBBA_OK) {
        load_tally_add(&tally->operations, 1);
        load_tally_add(&tally->rows, rows);
    } else if (is_write && load_outcome_is_unknown(code)) {
        load_tally_add(&tally->unknown, 1);
    }
    load_tally_request(tally, load_now_ns() - slot->begun_ns);
}

void lab_slot_refused(struct lab_slot *slot, enum edubba_code code, const char *text)
{
    lab_slot_count(slot, code, text, 0);
    atomic_store(&slot->flight->stop, true);
}

void lab_flight_count_row(struct lab_flight *flight, const void *row, size_t size)
{
    pthread_mutex_lock(&flight->lock);
    count_at(flight, row, size);
    pthread_mutex_unlock(&flight->lock);
}

/* --- slots ------------------------------------------------------------------------------------ */

static void park(struct lab_slot *slot)
{
    struct lab_flight *flight = slot->flight;
    pthread_mutex_lock(&flight->lock);
    flight->active--;
    if (flight->active == 0) {
        pthread_cond_broadcast(&flight->changed);
    }
    pthread_mutex_unlock(&flight->lock);
}

/* Take the number of the next event or question; false at the end. */
static bool take_event(struct lab_slot *slot)
{
    struct lab_flight *flight = slot->flight;
    if (atomic_load_explicit(&flight->stop, memory_order_relaxed)) {
        return false;
    }
    uint64_t number = atomic_fetch_add_explicit(&flight->started, 1, memory_order_relaxed);
    if (flight->count > 0 && number >= flight->count) {
        return false;
    }
    if (flight->kind == LAB_FLIGHT_QUERIES) {
        const uint64_t throw_number = 7; /* none that an experiment has */
        number = lab_dice(&flight->world, number, throw_number) % flight->world.history;
    } else {
        number += flight->first;
    }
    flight->experiment->event(&flight->world, number, &slot->event);
    return true;
}

/* False: the slot is parked, the flight is over for it. */
static bool start(struct lab_slot *slot, int64_t begun_ns, enum lab_start *ret_start)
{
    if (!take_event(slot)) {
        park(slot);
        return false;
    }
    slot->begun_ns = begun_ns > 0 ? begun_ns : load_now_ns();
    *ret_start = slot->flight->kind == LAB_FLIGHT_QUERIES ? lab_query_start(slot)
                                                          : lab_write_start(slot);
    return true;
}

/* Start requests in the slot until one is on its way, or it is parked. */
static void go(struct lab_slot *slot)
{
    enum lab_start became = LAB_ENDED;
    while (became == LAB_ENDED && start(slot, 0, &became)) {
    }
}

/* Behind the others, so that clients take turns. */
static void give_back(struct lab_slot *slot)
{
    struct lab_flight *flight = slot->flight;
    pthread_mutex_lock(&flight->lock);
    slot->next = NULL;
    if (flight->free == NULL) {
        flight->free = slot;
    } else {
        flight->free_last->next = slot;
    }
    flight->free_last = slot;
    pthread_mutex_unlock(&flight->lock);
}

void lab_slot_ended(struct lab_slot *slot)
{
    if (slot->flight->rate > 0) {
        give_back(slot);
    } else {
        go(slot);
    }
}

/* --- the open loop ---------------------------------------------------------------------------- */

static struct lab_slot *take_free(struct lab_flight *flight)
{
    pthread_mutex_lock(&flight->lock);
    struct lab_slot *slot = flight->free;
    if (slot != NULL) {
        flight->free = slot->next;
    }
    pthread_mutex_unlock(&flight->lock);
    return slot;
}

static void sleep_until(int64_t at_ns)
{
    struct timespec at = {at_ns / 1000000000, at_ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
}

/* Slots that are out come back one by one. */
static void park_all(struct lab_flight *flight, uint64_t left)
{
    while (left > 0) {
        struct lab_slot *slot = take_free(flight);
        if (slot == NULL) {
            sleep_until(load_now_ns() + TICK_NS * 4);
        } else {
            park(slot);
            left--;
        }
    }
}

static void *run_starter(void *context)
{
    struct lab_flight *flight = context;
    struct load_schedule schedule = {flight->begun_ns, flight->rate, 0, 1};
    uint64_t slots = flight->client_count * flight->in_flight;
    uint64_t next = 0;
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); /* wake on time */
    while (!atomic_load_explicit(&flight->stop, memory_order_relaxed)) {
        int64_t due_ns = load_schedule_due_ns(&schedule, next);
        int64_t now_ns = load_now_ns();
        struct lab_slot *slot = now_ns >= due_ns ? take_free(flight) : NULL;
        if (slot == NULL) {
            int64_t wait_ns = due_ns - now_ns > WAIT_NS ? WAIT_NS : due_ns - now_ns;
            sleep_until(now_ns + (wait_ns > TICK_NS ? wait_ns : TICK_NS));
            continue;
        }
        enum lab_start became = LAB_ON_ITS_WAY;
        next++;
        if (!start(slot, due_ns, &became)) {
            slots--;
            break;
        }
        if (became == LAB_ENDED) {
            give_back(slot);
        }
    }
    uint64_t due = (uint64_t)((double)(load_now_ns() - flight->begun_ns) / 1e9 * flight->rate);
    flight->late = due > next ? due - next : 0;
    park_all(flight, slots);
    return NULL;
}

/* --- from start to end ------------------------------------------------------------------------ */

static bool make_slots(struct lab_flight *flight)
{
    uint64_t count = flight->client_count * flight->in_flight;
    flight->slots = calloc(count, sizeof *flight->slots);
    for (uint64_t i = 0; flight->slots != NULL && i < count; i++) {
        struct lab_slot *slot = &flight->slots[i];
        slot->flight = flight;
        slot->client = &flight->clients[i % flight->client_count];
        give_back(slot);
    }
    return flight->slots != NULL;
}

bool lab_flight_init(struct lab_flight *flight)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&flight->lock, NULL);
    pthread_cond_init(&flight->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    flight->tally = calloc(1, sizeof *flight->tally);
    flight->operations = calloc(LAB_TABLETS_MAX, sizeof *flight->operations);
    flight->marks = calloc(LAB_TABLETS_MAX, sizeof *flight->marks);
    return flight->tally != NULL && flight->operations != NULL && flight->marks != NULL &&
           make_slots(flight);
}

void lab_flight_deinit(struct lab_flight *flight)
{
    free(flight->tally);
    free(flight->operations);
    free(flight->marks);
    free(flight->slots);
    pthread_cond_destroy(&flight->changed);
    pthread_mutex_destroy(&flight->lock);
}

/* What was the last row at this look is what later writes are compared with.  A tablet that was not
 * there before is known from the next look on. */
static void move_marks(struct lab_flight *flight, const struct lab_map *map)
{
    bool is_same = flight->map != NULL && flight->map->count == map->count;
    for (size_t i = 0; is_same && i < map->count; i++) {
        is_same = flight->map->tablets[i].number == map->tablets[i].number;
    }
    for (size_t i = 0; i < map->count; i++) {
        struct lab_mark *of = &flight->marks[i];
        if (!is_same) {
            of->is_known = false;
            of->now_size = 0;
        } else if (of->now_size > 0) {
            of->is_known = true;
            of->before_size = of->now_size;
            memcpy(of->before, of->now, of->now_size);
        }
    }
}

void lab_flight_look(struct lab_flight *flight, const struct lab_map *map, uint64_t *ret_operations)
{
    pthread_mutex_lock(&flight->lock);
    memcpy(ret_operations, flight->operations, LAB_TABLETS_MAX * sizeof *ret_operations);
    memset(flight->operations, 0, LAB_TABLETS_MAX * sizeof *flight->operations);
    move_marks(flight, map);
    flight->map = map;
    pthread_mutex_unlock(&flight->lock);
}

bool lab_flight_start(struct lab_flight *flight)
{
    uint64_t count = flight->client_count * flight->in_flight;
    flight->active = count;
    flight->begun_ns = load_now_ns();
    if (flight->rate > 0) {
        flight->starter_runs = pthread_create(&flight->starter, NULL, run_starter, flight) == 0;
        return flight->starter_runs;
    }
    for (uint64_t i = 0; i < count; i++) {
        go(&flight->slots[i]);
    }
    return true;
}

void lab_flight_stop(struct lab_flight *flight)
{
    atomic_store(&flight->stop, true);
}

bool lab_flight_wait(struct lab_flight *flight, int64_t until_ns)
{
    struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
    int timed_out = 0;
    pthread_mutex_lock(&flight->lock);
    while (flight->active > 0 && timed_out == 0) {
        timed_out = pthread_cond_timedwait(&flight->changed, &flight->lock, &until);
    }
    bool has_ended = flight->active == 0;
    pthread_mutex_unlock(&flight->lock);
    if (has_ended && flight->starter_runs) {
        (void)pthread_join(flight->starter, NULL);
        flight->starter_runs = false;
    }
    return has_ended;
}
