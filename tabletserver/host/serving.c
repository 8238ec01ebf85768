#include "tabletserver/host/serving.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

/* Fields are atomic because a reader that was overtaken may look while they change. */
struct slot {
    atomic_uint_fast32_t count;
    _Atomic(const struct serving_peer *) peers[REPLICA_PEERS_MAX];
    atomic_uint_fast64_t incarnations[REPLICA_PEERS_MAX];
};

#define VIEW_BITS    5
#define VIEW_LEADS   4
#define VIEW_DAMAGED 8
#define VIEW_EMPTY   16
#define VIEW_ROLE    3

struct serving {
    atomic_uint_fast32_t references;
    atomic_uint_fast64_t current; /* 0 = closed; otherwise its last bit says which slot */
    uint64_t published;           /* so often; the last `current` that was not 0 */
    atomic_uint_fast64_t opened;  /* so often: published when it was closed */
    atomic_uint_fast64_t view;    /* version << VIEW_BITS | empty, damaged, leads | role */
    struct slot slots[2];
};

enum status serving_create(struct serving **ret_serving)
{
    struct serving *serving = memory_allocate_zeroed(1, sizeof *serving);
    if (serving == NULL) {
        return STATUS_NO_MEMORY;
    }
    atomic_init(&serving->references, 1);
    serving->published = 1;
    *ret_serving = serving;
    return STATUS_OK;
}

void serving_ref(struct serving *serving)
{
    atomic_fetch_add_explicit(&serving->references, 1, memory_order_relaxed);
}

void serving_unref(struct serving *serving)
{
    if (serving != NULL &&
        atomic_fetch_sub_explicit(&serving->references, 1, memory_order_acq_rel) == 1) {
        memory_free(serving);
    }
}

/* Whoever sees anything of what is written here, sees that `current` has moved on since. */
void serving_publish(struct serving *serving, const struct serving_on *peers, uint32_t count)
{
    ASSERT(count <= REPLICA_PEERS_MAX);
    uint64_t next = ++serving->published;
    struct slot *slot = &serving->slots[next & 1];
    atomic_thread_fence(memory_order_release);
    for (uint32_t i = 0; i < count; i++) {
        atomic_store_explicit(&slot->peers[i], peers[i].peer, memory_order_relaxed);
        atomic_store_explicit(&slot->incarnations[i], peers[i].incarnation, memory_order_relaxed);
    }
    atomic_store_explicit(&slot->count, count, memory_order_relaxed);
    if (atomic_load(&serving->current) == 0) {
        atomic_fetch_add(&serving->opened, 1);
    }
    atomic_store(&serving->current, next);
}

void serving_close(struct serving *serving)
{
    atomic_store(&serving->current, 0);
}

void serving_note(struct serving *serving, struct serving_view view)
{
    atomic_store_explicit(&serving->view,
                          view.version << VIEW_BITS | (view.leads ? VIEW_LEADS : 0U) |
                              (view.damaged ? VIEW_DAMAGED : 0U) | (view.empty ? VIEW_EMPTY : 0U) |
                              (unsigned)view.role,
                          memory_order_relaxed);
}

struct serving_view serving_look(const struct serving *serving)
{
    uint64_t view = atomic_load_explicit(&serving->view, memory_order_relaxed);
    return (struct serving_view){.version = view >> VIEW_BITS,
                                 .role = (enum replica_role)(view & VIEW_ROLE),
                                 .leads = (view & VIEW_LEADS) != 0,
                                 .damaged = (view & VIEW_DAMAGED) != 0,
                                 .empty = (view & VIEW_EMPTY) != 0};
}

/* The end first: it is raised for another process only after the incarnation was. */
static bool slot_holds(const struct slot *slot, uint64_t asked, int64_t now_ns)
{
    uint32_t count = (uint32_t)atomic_load_explicit(&slot->count, memory_order_relaxed);
    for (uint32_t i = 0; i < count && i < REPLICA_PEERS_MAX; i++) {
        const struct serving_peer *peer = atomic_load_explicit(&slot->peers[i],
                                                               memory_order_relaxed);
        uint64_t incarnation = atomic_load_explicit(&slot->incarnations[i], memory_order_relaxed);
        if (peer == NULL || /* it was overtaken */
            !lease_end_holds(peer->end, now_ns) || !lease_end_is_confirmed(peer->end, asked) ||
            atomic_load_explicit(&peer->incarnation, memory_order_acquire) != incarnation) {
            return false;
        }
    }
    return true;
}

bool serving_confirmed(const struct serving *serving, uint64_t asked, int64_t now_ns)
{
    uint64_t current = atomic_load_explicit(&serving->current, memory_order_acquire);
    while (current != 0) {
        bool holds = slot_holds(&serving->slots[current & 1], asked, now_ns);
        atomic_thread_fence(memory_order_acquire);
        uint64_t again = atomic_load_explicit(&serving->current, memory_order_relaxed);
        if (again == current) {
            return holds;
        }
        current = atomic_load_explicit(&serving->current, memory_order_acquire);
    }
    return false;
}

/* Nothing was asked, so all of it is confirmed. */
bool serving_holds(const struct serving *serving, int64_t now_ns)
{
    return serving_confirmed(serving, 0, now_ns);
}

/* Opened after this look at `current`: what the next snapshot sees is at least of then. */
uint64_t serving_opening(const struct serving *serving)
{
    return atomic_load(&serving->current) == 0 ? 0 : atomic_load(&serving->opened);
}

bool serving_held(const struct serving *serving, uint64_t opening, int64_t now_ns)
{
    return opening != 0 && serving_holds(serving, now_ns) &&
           atomic_load(&serving->opened) == opening;
}
