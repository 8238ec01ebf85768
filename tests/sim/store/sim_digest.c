#include <string.h>

#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/memory.h"
#include "tabletserver/storage/copies/store_digest.h"
#include "tests/sim/store/sim_store.h"
#include "tests/sim/world/sim_rot.h"

/*
 * Production's store_digest.h over simulated rows: what is committed when it is begun, digested when there is time.
 * Rows never differ here that are not bad, and those cannot be read: so no comparison may ever condemn a copy, but where a
 * rule was relaxed (docs/replication.md, section 9).
 */

static const struct row_range all_rows = {{NULL, 0}, {NULL, 0}};

struct store_digesting {
    struct sim_tablet *tablet; /* with a reference */
    struct sim_rows rows;
    struct arena arena;
    struct table schema; /* whose rules hide what has expired */
    int64_t now_us;
};

static struct sim_tablet *of(struct store_tablet *tablet)
{
    return (struct sim_tablet *)(void *)tablet;
}

/* Where there are no rules rows are the same under every schema: families that are not known are invisible,
 * not gone. */
uint64_t store_digest_schema_version(struct store_tablet *stored)
{
    const struct sim_tablet *tablet = of(stored);
    const struct sim_store *store = tablet->store;
    const struct table *schema = store->callbacks.schema_of(store->callbacks.context,
                                                            tablet->table);
    if (!store->sim->rules.on) {
        return 1;
    }
    return schema == NULL ? 0 : schema->version;
}

int64_t store_digest_time_us(struct store_tablet *stored, int64_t now_us)
{
    struct sim_tablet *tablet = of(stored);
    const struct sim_store *store = tablet->store;
    const struct table *schema = store->callbacks.schema_of(store->callbacks.context,
                                                            tablet->table);
    const struct horizon_list list = {tablet->horizons.items, tablet->horizons.count};
    return schema == NULL ? now_us : horizon_time_us(&list, schema, now_us);
}

enum status store_digest_begin(struct store_tablet *stored,
                               uint64_t schema_version,
                               int64_t now_us,
                               struct store_digesting **ret_digesting)
{
    struct sim_tablet *tablet = of(stored);
    const struct sim_store *store = tablet->store;
    const struct table *schema = store->callbacks.schema_of(store->callbacks.context,
                                                            tablet->table);
    if (schema == NULL || store_digest_schema_version(stored) != schema_version) {
        return STATUS_FAILED_PRECONDITION;
    }
    struct store_digesting *digesting = memory_allocate_zeroed(1, sizeof *digesting);
    ASSERT(digesting != NULL);
    arena_init(&digesting->arena, 512, SIZE_MAX);
    ASSERT(table_copy(&digesting->arena, schema, &digesting->schema) == STATUS_OK);
    digesting->now_us = now_us;
    sim_tablet_ref(tablet);
    digesting->tablet = tablet;
    sim_rows_copy(&digesting->rows, &tablet->committed_rows, &all_rows);
    *ret_digesting = digesting;
    return STATUS_OK;
}

/* A row without a cell that is shown is none. */
static void digest_row(const struct store_digesting *digesting,
                       const struct sim_row *row,
                       struct store_digest *digest)
{
    uint64_t hash = checksum64(row->key, row->key_bytes, digest->halves[0]);
    bool any = false;
    for (uint32_t i = 0; i < row->cell_count; i++) {
        const struct sim_cell *cell = &row->cells[i];
        if (sim_row_drops(row, i, &digesting->schema, digesting->now_us)) {
            continue;
        }
        any = true;
        const uint64_t numbers[] = {hash, cell->family, (uint64_t)cell->timestamp_us,
                                    checksum64(cell->qualifier, cell->qualifier_bytes, 0)};
        hash = checksum64(cell->value, cell->value_bytes, checksum64(numbers, sizeof numbers, 0));
        digest->size_bytes += cell->value_bytes;
    }
    if (any) {
        digest->halves[0] = hash;
        digest->halves[1] = ~hash;
        digest->size_bytes += row->key_bytes;
        digest->rows++;
    }
}

enum status store_digest_run(struct store_digesting *digesting,
                             struct bytes after,
                             uint64_t bytes_max,
                             struct store_digest *ret_digest)
{
    const struct sim_tablet *tablet = digesting->tablet;
    const struct sim_rows *rows = tablet->store->sim->planted == SIM_PLANTED_DIGEST_READ_LATE
                                      ? &tablet->committed_rows
                                      : &digesting->rows;
    *ret_digest = (struct store_digest){.last = BUFFER_INIT};
    if (tablet->rotten) {
        sim_rot_meet(digesting->tablet);
        return STATUS_CORRUPT;
    }
    uint32_t at = sim_rows_seek(rows, after);
    if (after.size_bytes > 0 && at < rows->count &&
        bytes_equal(sim_row_key(&rows->rows[at]), after)) {
        at++;
    }
    struct bytes last = after;
    for (; at < rows->count && ret_digest->size_bytes < bytes_max; at++) {
        uint64_t rows_before = ret_digest->rows;
        digest_row(digesting, &rows->rows[at], ret_digest);
        last = ret_digest->rows > rows_before ? sim_row_key(&rows->rows[at]) : last;
    }
    buffer_append_bytes(&ret_digest->last, last);
    ASSERT(!ret_digest->last.failed);
    /* Not where rows end: of those that are not shown another copy may have none. */
    ret_digest->is_end = ret_digest->size_bytes < bytes_max;
    tablet->store->sim->statistics.digests++;
    return STATUS_OK;
}

void store_digest_end(struct store_digesting *digesting)
{
    if (digesting != NULL) {
        sim_rows_deinit(&digesting->rows);
        arena_deinit(&digesting->arena);
        sim_tablet_unref(digesting->tablet);
        memory_free(digesting);
    }
}
