#include "tabletserver/peer/lease_ends.h"

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/logger.h"

struct end_node {
    struct lease_end end;
    atomic_bool is_wanted; /* somebody counts on it, or may */
    bool was_counted;      /* as lapsed; the beacon thread's */
    uint64_t peer;
    struct end_node *next;
};

void lease_ends_init(struct lease_ends *ends)
{
    atomic_init(&ends->first, NULL);
    ASSERT(pthread_mutex_init(&ends->mutex, NULL) == 0);
    ends->lapsed = metric_counter("edubba_leases_lapsed_total", "",
                                  "Leases of other servers that ran out before they were renewed.");
}

void lease_ends_deinit(struct lease_ends *ends)
{
    for (struct end_node *node = atomic_load(&ends->first); node != NULL;) {
        struct end_node *next = node->next;
        memory_free(node);
        node = next;
    }
    (void)pthread_mutex_destroy(&ends->mutex);
}

static struct end_node *find(struct lease_ends *ends, uint64_t peer)
{
    struct end_node *node = atomic_load_explicit(&ends->first, memory_order_acquire);
    while (node != NULL && node->peer != peer) {
        node = node->next;
    }
    return node;
}

/* NULL without memory. */
static struct end_node *find_or_add(struct lease_ends *ends, uint64_t peer)
{
    struct end_node *node = find(ends, peer);
    if (node == NULL) {
        pthread_mutex_lock(&ends->mutex);
        node = find(ends, peer);
        if (node == NULL) {
            node = memory_allocate_zeroed(1, sizeof *node);
            if (node != NULL) {
                node->peer = peer;
                node->next = atomic_load_explicit(&ends->first, memory_order_relaxed);
                atomic_store_explicit(&ends->first, node, memory_order_release);
            }
        }
        pthread_mutex_unlock(&ends->mutex);
    }
    return node;
}

const struct lease_end *lease_ends_want(struct lease_ends *ends, uint64_t peer)
{
    struct end_node *node = find_or_add(ends, peer);
    if (node == NULL) {
        return NULL;
    }
    atomic_store_explicit(&node->is_wanted, true, memory_order_relaxed);
    return &node->end;
}

/* It had been given, and is over: so it was not renewed in time.  Once for each time. */
static void count_if_lapsed(struct lease_ends *ends, struct end_node *node)
{
    int64_t until_ns = atomic_load_explicit(&node->end.until_ns, memory_order_relaxed);
    bool is_wanted = atomic_load_explicit(&node->is_wanted, memory_order_relaxed);
    if (is_wanted && until_ns != 0 && !node->was_counted && clock_monotonic_ns() >= until_ns) {
        node->was_counted = true;
        metric_add(ends->lapsed, 1);
        LOG_EVENT(LOG_LEVEL_WARN, "lease_lapsed", LOG_ID("server", node->peer));
    }
}

void lease_ends_look_for_lapsed(struct lease_ends *ends)
{
    for (struct end_node *node = atomic_load_explicit(&ends->first, memory_order_acquire);
         node != NULL; node = node->next) {
        count_if_lapsed(ends, node);
    }
}

void lease_ends_set(struct lease_ends *ends, uint64_t peer, int64_t until_ns)
{
    struct end_node *node = find(ends, peer);
    if (node != NULL) {
        count_if_lapsed(ends, node);
        node->was_counted = false;
        atomic_store_explicit(&node->end.until_ns, until_ns, memory_order_release);
    }
}

void lease_ends_confirm(struct lease_ends *ends, uint64_t peer, uint64_t asked)
{
    struct end_node *node = find_or_add(ends, peer);
    if (node != NULL) {
        atomic_store_explicit(&node->end.confirmed, asked, memory_order_release);
    }
}

void lease_ends_let_run_out(struct lease_ends *ends, uint64_t peer)
{
    struct end_node *node = find(ends, peer);
    if (node != NULL) {
        node->was_counted = true;
    }
}
