#include "client/load/inserts.h"

#include <stdlib.h>

bool load_inserts_init(struct load_inserts *inserts, uint64_t first, uint64_t in_flight)
{
    bool is_asked = in_flight > 0;
    atomic_init(&inserts->next, first);
    atomic_init(&inserts->readable, first);
    atomic_init(&inserts->failed_count, 0);
    pthread_mutex_init(&inserts->lock, NULL);
    inserts->ended = is_asked ? calloc(LOAD_INSERTS_WINDOW, sizeof *inserts->ended) : NULL;
    inserts->failed = is_asked ? calloc(in_flight, sizeof *inserts->failed) : NULL;
    return !is_asked || (inserts->ended != NULL && inserts->failed != NULL);
}

void load_inserts_deinit(struct load_inserts *inserts)
{
    free(inserts->ended);
    free(inserts->failed);
    pthread_mutex_destroy(&inserts->lock);
}

/* False: there is none. */
static bool take_failed(struct load_inserts *inserts, uint64_t *ret_number)
{
    pthread_mutex_lock(&inserts->lock);
    uint64_t count = atomic_load_explicit(&inserts->failed_count, memory_order_relaxed);
    if (count > 0) {
        *ret_number = inserts->failed[count - 1];
        atomic_store_explicit(&inserts->failed_count, count - 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&inserts->lock);
    return count > 0;
}

uint64_t load_inserts_take(struct load_inserts *inserts)
{
    uint64_t number = 0;
    bool has_failed = atomic_load_explicit(&inserts->failed_count, memory_order_relaxed) > 0;
    if (has_failed && take_failed(inserts, &number)) {
        return number;
    }
    return atomic_fetch_add_explicit(&inserts->next, 1, memory_order_relaxed);
}

/* The lock is held. */
static void note_failed(struct load_inserts *inserts, uint64_t number)
{
    uint64_t count = atomic_load_explicit(&inserts->failed_count, memory_order_relaxed);
    inserts->failed[count] = number;
    atomic_store_explicit(&inserts->failed_count, count + 1, memory_order_relaxed);
}

/* The lock is held. */
static void note_made(struct load_inserts *inserts, uint64_t number)
{
    uint64_t readable = atomic_load_explicit(&inserts->readable, memory_order_relaxed);
    if (number - readable >= LOAD_INSERTS_WINDOW) { /* one far below fails again and again */
        return;
    }
    inserts->ended[number % LOAD_INSERTS_WINDOW] = true;
    while (inserts->ended[readable % LOAD_INSERTS_WINDOW]) {
        inserts->ended[readable % LOAD_INSERTS_WINDOW] = false;
        readable++;
    }
    atomic_store_explicit(&inserts->readable, readable, memory_order_release);
}

void load_inserts_end(struct load_inserts *inserts, uint64_t number, bool is_made)
{
    if (inserts->ended == NULL) {
        return;
    }
    pthread_mutex_lock(&inserts->lock);
    if (is_made) {
        note_made(inserts, number);
    } else {
        note_failed(inserts, number);
    }
    pthread_mutex_unlock(&inserts->lock);
}
