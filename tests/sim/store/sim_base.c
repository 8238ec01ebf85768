#include "tests/sim/store/sim_base.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tests/sim/store/sim_store.h"

static struct bytes keep(uint8_t *at, struct bytes bytes)
{
    ASSERT(bytes.size_bytes <= SIM_KEY_BYTES_MAX);
    if (bytes.size_bytes > 0) {
        memcpy(at, bytes.data, bytes.size_bytes);
    }
    return bytes_of(at, bytes.size_bytes);
}

struct sim_base_tablet *sim_base_tablet_create(uint64_t tablet,
                                               uint64_t table,
                                               uint64_t configuration,
                                               const struct row_range *range)
{
    struct sim_base_tablet *created = memory_allocate_zeroed(1, sizeof *created);
    ASSERT(created != NULL);
    created->tablet = tablet;
    created->table = table;
    created->configuration = configuration;
    created->range.start = keep(created->bounds, range->start);
    created->range.end = keep(created->bounds + SIM_KEY_BYTES_MAX, range->end);
    return created;
}

void sim_base_tablet_destroy(struct sim_base_tablet *tablet)
{
    if (tablet != NULL) {
        sim_rows_deinit(&tablet->rows);
        buffer_deinit(&tablet->applied);
        buffer_deinit(&tablet->dedupe);
        buffer_deinit(&tablet->barrier);
        memory_free(tablet);
    }
}

void sim_base_transaction_discard(struct sim_base_transaction *transaction)
{
    for (uint32_t i = 0; i < transaction->put_count; i++) {
        sim_base_tablet_destroy(transaction->puts[i]);
    }
    transaction->put_count = 0;
    sim_lesson_destroy(transaction->lesson);
    transaction->lesson = NULL;
}

void sim_base_deinit(struct sim_base *base)
{
    for (uint32_t i = 0; i < base->tablet_count; i++) {
        sim_base_tablet_destroy(base->tablets[i]);
    }
}

struct sim_base_tablet *sim_base_change(struct sim_base *base, uint64_t tablet)
{
    return (struct sim_base_tablet *)sim_base_find(base, tablet);
}

const struct sim_base_tablet *sim_base_find(const struct sim_base *base, uint64_t tablet)
{
    for (uint32_t i = 0; i < base->tablet_count; i++) {
        if (base->tablets[i]->tablet == tablet) {
            return base->tablets[i];
        }
    }
    return NULL;
}

static void take_out(struct sim_base *base, uint64_t tablet)
{
    for (uint32_t i = 0; i < base->tablet_count; i++) {
        if (base->tablets[i]->tablet == tablet) {
            sim_base_tablet_destroy(base->tablets[i]);
            base->tablets[i] = base->tablets[--base->tablet_count];
            return;
        }
    }
}

static void bury(struct sim_base *base, uint64_t tablet, uint64_t position)
{
    uint32_t at = 0;
    while (at < base->grave_count && base->graves[at].tablet != tablet) {
        at++;
    }
    if (at == SIM_BASE_TABLETS_MAX) { /* the log has long forgotten the oldest */
        memmove(&base->graves[0], &base->graves[1], --at * sizeof base->graves[0]);
        base->grave_count--;
    }
    base->graves[at] = (struct sim_grave){tablet, position};
    base->grave_count += at == base->grave_count ? 1 : 0;
}

uint64_t sim_base_grave(const struct sim_base *base, uint64_t tablet)
{
    uint64_t position = 0;
    for (uint32_t i = 0; i < base->grave_count; i++) {
        position = base->graves[i].tablet == tablet ? base->graves[i].position : position;
    }
    return position;
}

void sim_base_cut_graves(struct sim_base *base, uint64_t last_position)
{
    for (uint32_t i = 0; i < base->grave_count; i++) {
        struct sim_grave *grave = &base->graves[i];
        grave->position = grave->position < last_position ? grave->position : last_position;
    }
}

bool sim_base_apply(struct sim_base *base, struct sim_base_transaction *transaction)
{
    bool makes = transaction->purpose == SIM_BASE_MERGED ||
                 transaction->purpose == SIM_BASE_CREATED;
    if (makes && sim_base_find(base, transaction->puts[0]->tablet) != NULL) {
        sim_base_transaction_discard(transaction);
        return false;
    }
    for (int i = 0; i < 2 && transaction->removed[i] != 0; i++) {
        take_out(base, transaction->removed[i]);
        bury(base, transaction->removed[i], transaction->log_last);
    }
    for (uint32_t i = 0; i < transaction->put_count; i++) {
        take_out(base, transaction->puts[i]->tablet);
        ASSERT(base->tablet_count < SIM_BASE_TABLETS_MAX);
        base->tablets[base->tablet_count++] = transaction->puts[i];
    }
    transaction->put_count = 0;
    return true;
}
