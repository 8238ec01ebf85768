#include "client/load/inserts.h"

#include <stdlib.h>

bool load_inserts_init(struct load_inserts *inserts, uint64_t first, bool is_asked)
{
    atomic_init(&inserts->next, first);
    atomic_init(&inserts->readable, first);
    pthread_mutex_init(&inserts->lock, NULL);
    inserts->ended = is_asked ? calloc(LOAD_INSERTS_WINDOW, sizeof *inserts->ended) : NULL;
    return !is_asked || inserts->ended != NULL;
}

void load_inserts_deinit(struct load_inserts *inserts)
{
    free(inserts->ended);
    pthread_mutex_destroy(&inserts->lock);
}

void load_inserts_end(struct load_inserts *inserts, uint64_t number)
{
    if (inserts->ended == NULL) {
        return;
    }
    pthread_mutex_lock(&inserts->lock);
    uint64_t readable = atomic_load_explicit(&inserts->readable, memory_order_relaxed);
    if (number - readable >= LOAD_INSERTS_WINDOW) { /* an insert far below has failed */
        pthread_mutex_unlock(&inserts->lock);
        return;
    }
    inserts->ended[number % LOAD_INSERTS_WINDOW] = true;
    while (inserts->ended[readable % LOAD_INSERTS_WINDOW]) {
        inserts->ended[readable % LOAD_INSERTS_WINDOW] = false;
        readable++;
    }
    atomic_store_explicit(&inserts->readable, readable, memory_order_release);
    pthread_mutex_unlock(&inserts->lock);
}
