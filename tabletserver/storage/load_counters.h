/*
 * What a tablet has had to do since it was loaded: counters that live as long as it does.
 *
 * The store only keeps them; the server above counts, and reports what was added (serve/load_meter.h).
 *
 * COST.  Whoever reads adds once for all that it read of a tablet, next to the tablet's count of
 * references, which it changes then anyway: the line of memory is here already.  Writes are counted
 * by one thread, so without locked instructions, on a line of their own.
 *
 * Thread rule: load_counters_add_read() any thread; load_counters_add_write() the store's loop;
 * load_counters_get() any thread, each figure by itself (they may be of slightly different moments).
 */
#ifndef TABLETSERVER_STORAGE_LOAD_COUNTERS_H
#define TABLETSERVER_STORAGE_LOAD_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#define LOAD_COUNTERS_APART_BYTES 64 /* a line of memory */

struct load_read_counts {
    uint64_t reads; /* rows asked for by key, scans begun */
    uint64_t rows;  /* looked at */
    uint64_t bytes; /* of answers */
    uint64_t busy_ns;
    uint64_t evaluate_ns; /* of these writes that had to read first */
};

struct load_write_counts {
    uint64_t writes; /* operations, each on one row */
    uint64_t cells;
    uint64_t bytes; /* of rows, qualifiers and values */
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
    uint8_t apart[LOAD_COUNTERS_APART_BYTES];
    atomic_uint_fast64_t writes;
    atomic_uint_fast64_t write_cells;
    atomic_uint_fast64_t write_bytes;
    struct load_counts reported; /* whoever reports */
};

static inline void load_counters_raise(atomic_uint_fast64_t *counter, uint64_t amount)
{
    if (amount > 0) {
        atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
    }
}

static inline void load_counters_add_read(struct load_counters *counters,
                                          const struct load_read_counts *added)
{
    load_counters_raise(&counters->reads, added->reads);
    load_counters_raise(&counters->read_rows, added->rows);
    load_counters_raise(&counters->read_bytes, added->bytes);
    load_counters_raise(&counters->busy_ns, added->busy_ns);
    load_counters_raise(&counters->evaluate_ns, added->evaluate_ns);
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
    load_counters_raise_own(&counters->writes, added->writes);
    load_counters_raise_own(&counters->write_cells, added->cells);
    load_counters_raise_own(&counters->write_bytes, added->bytes);
}

static inline struct load_counts load_counters_get(const struct load_counters *counters)
{
    return (struct load_counts){
        .read = {.reads = atomic_load_explicit(&counters->reads, memory_order_relaxed),
                 .rows = atomic_load_explicit(&counters->read_rows, memory_order_relaxed),
                 .bytes = atomic_load_explicit(&counters->read_bytes, memory_order_relaxed),
                 .busy_ns = atomic_load_explicit(&counters->busy_ns, memory_order_relaxed),
                 .evaluate_ns = atomic_load_explicit(&counters->evaluate_ns, memory_order_relaxed)},
        .write = {.writes = atomic_load_explicit(&counters->writes, memory_order_relaxed),
                  .cells = atomic_load_explicit(&counters->write_cells, memory_order_relaxed),
                  .bytes = atomic_load_explicit(&counters->write_bytes, memory_order_relaxed)},
    };
}

/* What was added since the call before; the one who reports. */
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
                 .evaluate_ns = now.read.evaluate_ns - before.read.evaluate_ns},
        .write = {.writes = now.write.writes - before.write.writes,
                  .cells = now.write.cells - before.write.cells,
                  .bytes = now.write.bytes - before.write.bytes},
    };
}

#endif /* TABLETSERVER_STORAGE_LOAD_COUNTERS_H */
