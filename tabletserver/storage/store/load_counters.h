/*
 * What a tablet has had to do since it was loaded: counters that live as long as it does.
 *
 * The store only keeps them; the server above counts, and reports what was added (serve/load/load_meter.h).
 *
 * COST.  Whoever reads adds once for all that it read of a tablet, next to the tablet's count of
 * references, which it changes then anyway: the line of memory is here already.  Writes are counted
 * by one thread, so without locked instructions, on a line of their own.
 *
 * Thread rule: load_counters_add_read() any thread; load_counters_add_write() the store's loop;
 * load_counters_get() any thread, each figure by itself (they may be of slightly different moments).
 */
#ifndef TABLETSERVER_STORAGE_STORE_LOAD_COUNTERS_H
#define TABLETSERVER_STORAGE_STORE_LOAD_COUNTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct key_ring;

/* Of the process: set before anything is counted.  False: nothing is counted, and no clock needs to be looked at for
 * it. */
extern bool load_counters_are_wanted;

#define LOAD_COUNTERS_APART_BYTES 64 /* a line of memory */

struct load_read_counts {
    uint64_t reads; /* rows asked for by key, scans begun */
    uint64_t rows;  /* looked at */
    uint64_t bytes; /* of answers */
    uint64_t busy_ns;
    uint64_t evaluate_ns; /* of these writes that had to read first */
    uint64_t wait_ns;     /* from the request's arrival until it was begun; of all reads together */
    uint64_t latency_ns;  /* until its answer, or a scan's first one, was ready */
    uint64_t latency_max_ns;
};

struct load_write_counts {
    uint64_t writes; /* operations, each on one row */
    uint64_t cells;
    uint64_t bytes;      /* of rows, qualifiers and values */
    uint64_t wait_ns;    /* from the request's arrival until the log took it */
    uint64_t latency_ns; /* until it could be answered */
    uint64_t latency_max_ns;
};

struct load_counts {
    struct load_read_counts read;
    struct load_write_counts write;
};

struct load_counters {
    atomic_uint_fast64_t reads;
    atomic_uint_fast64_t read_rows;
    atomic_uint_fast64_t read_bytes;
    atomic_uint_fast64_t busy_ns;
    atomic_uint_fast64_t evaluate_ns;
    /* Where rows that are touched are left, one in so many; NULL: nobody wants to know. */
    _Atomic(struct key_ring *) ring;
    atomic_uint_fast64_t read_wait_ns;
    atomic_uint_fast64_t read_latency_ns;
    atomic_uint_fast64_t read_latency_max_ns; /* since it was reported */
    uint8_t apart[LOAD_COUNTERS_APART_BYTES];
    atomic_uint_fast64_t writes;
    atomic_uint_fast64_t write_cells;
    atomic_uint_fast64_t write_bytes;
    atomic_uint_fast64_t write_wait_ns;
    atomic_uint_fast64_t write_latency_ns;
    atomic_uint_fast64_t write_latency_max_ns; /* since it was reported */
    struct load_counts reported;               /* whoever reports */
};

static inline void load_counters_raise(atomic_uint_fast64_t *counter, uint64_t amount)
{
    if (amount > 0) {
        atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
    }
}

static inline void load_counters_raise_max(atomic_uint_fast64_t *counter, uint64_t value)
{
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    while (value > before &&
           !atomic_compare_exchange_weak_explicit(counter, &before, value, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

static inline void load_counters_add_read(struct load_counters *counters,
                                          const struct load_read_counts *added)
{
    if (!load_counters_are_wanted) {
        return;
    }
    load_counters_raise(&counters->reads, added->reads);
    load_counters_raise(&counters->read_rows, added->rows);
    load_counters_raise(&counters->read_bytes, added->bytes);
    load_counters_raise(&counters->busy_ns, added->busy_ns);
    load_counters_raise(&counters->evaluate_ns, added->evaluate_ns);
    load_counters_raise(&counters->read_wait_ns, added->wait_ns);
    load_counters_raise(&counters->read_latency_ns, added->latency_ns);
    load_counters_raise_max(&counters->read_latency_max_ns, added->latency_max_ns);
}

/* By its only writer: a load and a store, not a locked addition. */
static inline void load_counters_raise_own(atomic_uint_fast64_t *counter, uint64_t amount)
{
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + amount, memory_order_relaxed);
}

static inline void load_counters_add_write(struct load_counters *counters,
                                           const struct load_write_counts *added)
{
    if (!load_counters_are_wanted) {
        return;
    }
    load_counters_raise_own(&counters->writes, added->writes);
    load_counters_raise_own(&counters->write_cells, added->cells);
    load_counters_raise_own(&counters->write_bytes, added->bytes);
    load_counters_raise_own(&counters->write_wait_ns, added->wait_ns);
    load_counters_raise_own(&counters->write_latency_ns, added->latency_ns);
    load_counters_raise_max(&counters->write_latency_max_ns, added->latency_max_ns);
}

static inline struct load_counts load_counters_get(const struct load_counters *counters)
{
    return (struct load_counts){
        .read = {.reads = atomic_load_explicit(&counters->reads, memory_order_relaxed),
                 .rows = atomic_load_explicit(&counters->read_rows, memory_order_relaxed),
                 .bytes = atomic_load_explicit(&counters->read_bytes, memory_order_relaxed),
                 .busy_ns = atomic_load_explicit(&counters->busy_ns, memory_order_relaxed),
                 .evaluate_ns = atomic_load_explicit(&counters->evaluate_ns, memory_order_relaxed),
                 .wait_ns = atomic_load_explicit(&counters->read_wait_ns, memory_order_relaxed),
                 .latency_ns = atomic_load_explicit(&counters->read_latency_ns,
                                                    memory_order_relaxed),
                 .latency_max_ns = atomic_load_explicit(&counters->read_latency_max_ns,
                                                        memory_order_relaxed)},
        .write = {.writes = atomic_load_explicit(&counters->writes, memory_order_relaxed),
                  .cells = atomic_load_explicit(&counters->write_cells, memory_order_relaxed),
                  .bytes = atomic_load_explicit(&counters->write_bytes, memory_order_relaxed),
                  .wait_ns = atomic_load_explicit(&counters->write_wait_ns, memory_order_relaxed),
                  .latency_ns = atomic_load_explicit(&counters->write_latency_ns,
                                                     memory_order_relaxed),
                  .latency_max_ns = atomic_load_explicit(&counters->write_latency_max_ns,
                                                         memory_order_relaxed)},
    };
}

/* What was added since the call before, and the highest since then; the one who reports. */
static inline struct load_counts load_counters_take(struct load_counters *counters)
{
    struct load_counts now = load_counters_get(counters);
    struct load_counts before = counters->reported;
    counters->reported = now;
    return (struct load_counts){
        .read = {.reads = now.read.reads - before.read.reads,
                 .rows = now.read.rows - before.read.rows,
                 .bytes = now.read.bytes - before.read.bytes,
                 .busy_ns = now.read.busy_ns - before.read.busy_ns,
                 .evaluate_ns = now.read.evaluate_ns - before.read.evaluate_ns,
                 .wait_ns = now.read.wait_ns - before.read.wait_ns,
                 .latency_ns = now.read.latency_ns - before.read.latency_ns,
                 .latency_max_ns = atomic_exchange_explicit(&counters->read_latency_max_ns, 0,
                                                            memory_order_relaxed)},
        .write = {.writes = now.write.writes - before.write.writes,
                  .cells = now.write.cells - before.write.cells,
                  .bytes = now.write.bytes - before.write.bytes,
                  .wait_ns = now.write.wait_ns - before.write.wait_ns,
                  .latency_ns = now.write.latency_ns - before.write.latency_ns,
                  .latency_max_ns = atomic_exchange_explicit(&counters->write_latency_max_ns, 0,
                                                             memory_order_relaxed)},
    };
}

/* Where to leave rows that are touched; NULL: nowhere.  Any thread that holds the tablet. */
static inline struct key_ring *load_counters_ring(const struct load_counters *counters)
{
    return atomic_load_explicit(&counters->ring, memory_order_acquire);
}

#endif /* TABLETSERVER_STORAGE_STORE_LOAD_COUNTERS_H */
