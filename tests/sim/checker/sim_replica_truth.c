#include "tests/sim/checker/sim_replica_truth.h"

#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/memory.h"
#include "tests/sim/checker/sim_checker_state.h"
#include "tests/sim/server/sim_server.h"

/* What entries are, wherever they lie; 0 = none is known.  Of sequences that a merge has passed over there are
 * none, and those may be many. */
struct cells {
    uint64_t *items; /* by sequence, from first on */
    uint64_t first;
    uint64_t count;
};

#define STORES ((SIM_SERVERS_MAX + 1) * SIM_STORES_MAX)

struct truth {
    struct cells durable[STORES]; /* by place_of() */
    struct cells committed;
};

struct sim_replica_truth {
    struct sim *sim;
    struct truth *tablets[SIM_TABLET_NUMBERS_MAX];
};

struct sim_replica_truth *sim_truth_create(struct sim *sim)
{
    struct sim_replica_truth *truth = memory_allocate_zeroed(1, sizeof *truth);
    ASSERT(truth != NULL);
    truth->sim = sim;
    return truth;
}

void sim_truth_destroy(struct sim_replica_truth *truth)
{
    for (uint32_t i = 0; i < SIM_TABLET_NUMBERS_MAX; i++) {
        for (uint32_t k = 0; truth->tablets[i] != NULL && k < STORES; k++) {
            memory_free(truth->tablets[i]->durable[k].items);
        }
        if (truth->tablets[i] != NULL) {
            memory_free(truth->tablets[i]->committed.items);
        }
        memory_free(truth->tablets[i]);
    }
    memory_free(truth);
}

static struct truth *of(struct sim_replica_truth *truth, const struct sim_tablet *tablet)
{
    ASSERT(tablet->tablet < SIM_TABLET_NUMBERS_MAX);
    struct truth **one = &truth->tablets[tablet->tablet];
    if (*one == NULL) {
        *one = memory_allocate_zeroed(1, sizeof **one);
        ASSERT(*one != NULL);
    }
    return *one;
}

/* Of a store, in whatever disk it is on. */
static uint32_t place(uint32_t node, uint32_t store)
{
    return node * SIM_STORES_MAX + store;
}

static uint32_t place_of(const struct sim_server *server, const struct sim_tablet *tablet)
{
    return place(server->node, tablet->store->index);
}

static uint64_t look(const struct cells *cells, uint64_t sequence)
{
    bool within = sequence >= cells->first && sequence - cells->first < cells->count;
    return within ? cells->items[sequence - cells->first] : 0;
}

/* So that [first, end) is within. */
static void widen(struct cells *cells, uint64_t first, uint64_t end)
{
    uint64_t *items = memory_allocate_zeroed(end - first, sizeof *items);
    ASSERT(items != NULL);
    for (uint64_t i = 0; i < cells->count; i++) {
        items[cells->first - first + i] = cells->items[i];
    }
    memory_free(cells->items);
    *cells = (struct cells){items, first, end - first};
}

static uint64_t *cell(struct cells *cells, uint64_t sequence)
{
    uint64_t end = cells->first + cells->count;
    if (cells->count == 0) {
        widen(cells, sequence, sequence + 64);
    } else if (sequence < cells->first) {
        widen(cells, sequence, end);
    } else if (sequence >= end) {
        widen(cells, cells->first, sequence + cells->count);
    }
    return &cells->items[sequence - cells->first];
}

static uint64_t identity(const struct sim_pending *record)
{
    struct bytes payload = buffer_bytes(&record->payload);
    uint64_t numbers[] = {record->sequence, record->version, record->clock, record->type};
    return checksum64(payload.data, payload.size_bytes, checksum64(numbers, sizeof numbers, 0)) | 1;
}

static const struct sim_pending *in_window(const struct sim_tablet *tablet, uint64_t sequence)
{
    const struct sim_pending *record = tablet->first;
    while (record != NULL && record->sequence != sequence) {
        record = record->next;
    }
    return record;
}

/* --- what is durable ---------------------------------------------------------------------------- */

/* What is committed counts as the entry that was committed, if one is known. */
static void trust_committed(struct truth *one, uint32_t at_place, uint64_t committed)
{
    const struct cells *known = &one->committed;
    for (uint64_t at = known->first; at < known->first + known->count && at <= committed; at++) {
        if (look(known, at) != 0) {
            *cell(&one->durable[at_place], at) = look(known, at);
        }
    }
}

void sim_truth_on_recovered(struct sim_replica_truth *truth,
                            const struct sim_server *server,
                            const struct sim_tablet *tablet)
{
    struct truth *one = of(truth, tablet);
    struct cells *durable = &one->durable[place_of(server, tablet)];
    if (tablet->cut) {
        return; /* what was durable was, when somebody was told */
    }
    for (uint64_t i = 0; i < durable->count; i++) {
        durable->items[i] = 0;
    }
    trust_committed(one, place_of(server, tablet), tablet->committed);
    for (const struct sim_pending *record = tablet->first; record != NULL; record = record->next) {
        *cell(durable, record->sequence) = identity(record);
    }
}

void sim_truth_on_durable(struct sim_replica_truth *truth,
                          const struct sim_server *server,
                          const struct sim_tablet *tablet,
                          uint64_t sequence)
{
    const struct sim_pending *record = in_window(tablet, sequence);
    if (record != NULL) { /* else it was dropped meanwhile */
        *cell(&of(truth, tablet)->durable[place_of(server, tablet)], sequence) = identity(record);
    }
}

void sim_truth_on_taught(struct sim_replica_truth *truth,
                         const struct sim_server *server,
                         const struct sim_tablet *tablet)
{
    trust_committed(of(truth, tablet), place_of(server, tablet), tablet->committed);
}

/* --- what is committed -------------------------------------------------------------------------- */

void sim_truth_on_committed(struct sim_replica_truth *truth,
                            const struct sim_server *server,
                            const struct sim_tablet *tablet,
                            uint64_t first,
                            uint64_t last)
{
    struct truth *one = of(truth, tablet);
    for (const struct sim_pending *record = tablet->cut ? NULL : in_window(tablet, first);
         record != NULL && record->sequence <= last; record = record->next) {
        uint64_t *known = cell(&one->committed, record->sequence);
        uint64_t is = identity(record);
        if (*known != 0 && *known != is) {
            sim_fail(truth->sim, "I6: tablet %llu: server %u commits another entry %llu",
                     (unsigned long long)tablet->tablet, server->node,
                     (unsigned long long)record->sequence);
        }
        *known = is;
        if (look(&one->durable[place_of(server, tablet)], record->sequence) != is) {
            sim_fail(truth->sim, "I2: tablet %llu: server %u commits %llu, not durable there",
                     (unsigned long long)tablet->tablet, server->node,
                     (unsigned long long)record->sequence);
        }
    }
}

/* --- what clients are told ---------------------------------------------------------------------- */

/* Another store of the same server must not, either. */
static void check_store(const struct sim_replica_truth *truth,
                        const struct sim_server *server,
                        const struct sim_tablet *tablet,
                        const struct sim_loop *loop)
{
    const struct sim_server *other = loop->server;
    for (uint32_t i = 0; i < loop->store.tablet_count; i++) {
        const struct sim_tablet *copy = loop->store.tablets[i];
        struct row_range both;
        if (copy->table == tablet->table && !copy->hidden &&
            row_range_intersect(&copy->range, &tablet->range, &both) &&
            sim_host_may_serve(other, copy)) {
            sim_fail(truth->sim, "I4: servers %u and %u both serve rows of tablets %llu, %llu",
                     server->node, other->node, (unsigned long long)tablet->tablet,
                     (unsigned long long)copy->tablet);
        }
    }
}

/* Where clocks stand still, who may serve by its own may not by the others': what clients see is looked at. */
static void check_alone(const struct sim_replica_truth *truth,
                        const struct sim_server *server,
                        const struct sim_tablet *tablet)
{
    if (truth->sim->settings.freeze > 0) {
        return;
    }
    for (uint32_t i = 0; i < truth->sim->settings.server_count; i++) {
        const struct sim_server *other = truth->sim->servers[i];
        for (uint32_t k = 0; other != NULL && k < other->loop_count; k++) {
            if (&other->loops[k]->store != tablet->store) {
                check_store(truth, server, tablet, other->loops[k]);
            }
        }
    }
}

/* Two stores of one server are no more than one: they are lost together. */
static bool is_durable(const struct truth *one, uint32_t node, uint64_t sequence, uint64_t is)
{
    bool found = false;
    for (uint32_t k = 0; k < SIM_STORES_MAX; k++) {
        found = found || look(&one->durable[place(node, k)], sequence) == is;
    }
    return found;
}

void sim_truth_on_answered(struct sim_replica_truth *truth,
                           const struct sim_server *server,
                           const struct sim_tablet *tablet,
                           uint64_t sequence)
{
    struct truth *one = of(truth, tablet);
    uint32_t logs = 0;
    check_alone(truth, server, tablet);
    if (tablet->cut) {
        sim_fail(truth->sim, "tablet %llu: server %u answers, and its log was cut",
                 (unsigned long long)tablet->tablet, server->node);
    }
    if (sequence == 0) {
        return;
    }
    uint64_t is = look(&one->committed, sequence);
    for (uint32_t node = 1; node <= truth->sim->settings.server_count; node++) {
        logs += is != 0 && is_durable(one, node, sequence, is);
    }
    if (logs < truth->sim->settings.min_in_sync) {
        sim_fail(truth->sim, "I9: tablet %llu: entry %llu was acknowledged with %u logs",
                 (unsigned long long)tablet->tablet, (unsigned long long)sequence, logs);
    }
}

/* --- two copies --------------------------------------------------------------------------------- */

/* Two copies of a tablet, and a cell that only one of them has. */
struct comparison {
    const struct sim_checker *checker;
    struct bytes row;
    int64_t timestamp_us;
    uint64_t sequence;
};

/* What some rule has dropped may be erased in one copy and not in another. */
static bool may_lack(void *context, const struct sim_row *row, const struct sim_cell *cell)
{
    struct comparison *comparison = context;
    comparison->row = sim_row_key(row);
    comparison->timestamp_us = cell->timestamp_us;
    comparison->sequence = cell->sequence;
    return sim_checker_may_be_gone(comparison->checker, comparison->row,
                                   bytes_of(cell->value, cell->value_bytes));
}

static bool are_comparable(const struct sim_tablet *a, const struct sim_tablet *b)
{
    return b != NULL && a->committed == b->committed && !a->hidden && !a->cut && !b->cut &&
           !a->copy.learning.learning && !b->copy.learning.learning;
}

static void compare(const struct sim_replica_truth *truth,
                    const struct sim_tablet *a,
                    const struct sim_tablet *b)
{
    struct comparison comparison = {.checker = truth->sim->checker};
    if (are_comparable(a, b) &&
        !sim_rows_equal_but(&a->committed_rows, &b->committed_rows, may_lack, &comparison)) {
        sim_fail(truth->sim,
                 "tablet %llu: two copies differ at sequence %llu, perhaps in row %.*s, cell of "
                 "sequence %llu, timestamp %lld",
                 (unsigned long long)a->tablet, (unsigned long long)a->committed,
                 (int)comparison.row.size_bytes, (const char *)comparison.row.data,
                 (unsigned long long)comparison.sequence, (long long)comparison.timestamp_us);
    }
}

/* --- all copies --------------------------------------------------------------------------------- */

void sim_truth_check(struct sim_replica_truth *truth)
{
    const struct sim *sim = truth->sim;
    struct sim_store *stores[STORES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < sim->settings.server_count; i++) {
        const struct sim_server *server = sim->servers[i];
        for (uint32_t k = 0; server != NULL && k < server->loop_count; k++) {
            stores[count++] = &server->loops[k]->store;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < stores[i]->tablet_count; k++) {
            const struct sim_tablet *tablet = stores[i]->tablets[k];
            for (uint32_t j = 0; j < i; j++) {
                compare(truth, tablet, sim_store_find(stores[j], tablet->tablet));
            }
        }
    }
}
