#include <string.h>

#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/memory.h"
#include "tabletserver/storage/copies/store_digest.h"
#include "tests/sim/store/sim_store.h"
#include "tests/sim/world/sim_rot.h"

/*
 * Production's store_digest.h over simulated rows: what is committed when it is begun, digested when there is time.
 * Rows never differ here that are not bad, and those cannot be read: so no comparison may ever condemn a copy.
 */

static const struct row_range all_rows = {{NULL, 0}, {NULL, 0}};

struct store_digesting {
    struct sim_tablet *tablet; /* with a reference */
    struct sim_rows rows;
};

static struct sim_tablet *of(struct store_tablet *tablet)
{
    return (struct sim_tablet *)(void *)tablet;
}

/* Families that are not known are invisible, not gone: rows are the same under every schema. */
uint64_t store_digest_schema_version(struct store_tablet *tablet)
{
    (void)tablet;
    return 1;
}

enum status store_digest_begin(struct store_tablet *tablet,
                               uint64_t schema_version,
                               int64_t now_us,
                               struct store_digesting **ret_digesting)
{
    struct store_digesting *digesting = memory_allocate_zeroed(1, sizeof *digesting);
    ASSERT(digesting != NULL && schema_version == 1);
    (void)now_us;
    sim_tablet_ref(of(tablet));
    digesting->tablet = of(tablet);
    sim_rows_copy(&digesting->rows, &of(tablet)->committed_rows, &all_rows);
    *ret_digesting = digesting;
    return STATUS_OK;
}

static void digest_row(const struct sim_row *row, struct store_digest *digest)
{
    uint64_t hash = checksum64(row->key, row->key_bytes, digest->halves[0]);
    for (uint32_t i = 0; i < row->cell_count; i++) {
        const struct sim_cell *cell = &row->cells[i];
        const uint64_t numbers[] = {hash, cell->family, (uint64_t)cell->timestamp_us,
                                    checksum64(cell->qualifier, cell->qualifier_bytes, 0)};
        hash = checksum64(cell->value, cell->value_bytes, checksum64(numbers, sizeof numbers, 0));
        digest->size_bytes += cell->value_bytes;
    }
    digest->halves[0] = hash;
    digest->halves[1] = ~hash;
    digest->size_bytes += row->key_bytes;
    digest->rows++;
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
    const struct sim_row *last = NULL;
    for (; at < rows->count && ret_digest->size_bytes < bytes_max; at++) {
        last = &rows->rows[at];
        digest_row(last, ret_digest);
    }
    if (last != NULL) {
        buffer_append_bytes(&ret_digest->last, sim_row_key(last));
        ASSERT(!ret_digest->last.failed);
    }
    ret_digest->is_end = at == rows->count;
    tablet->store->sim->statistics.digests++;
    return STATUS_OK;
}

void store_digest_end(struct store_digesting *digesting)
{
    if (digesting != NULL) {
        sim_rows_deinit(&digesting->rows);
        sim_tablet_unref(digesting->tablet);
        memory_free(digesting);
    }
}
