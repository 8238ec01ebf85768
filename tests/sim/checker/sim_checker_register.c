#include "tests/sim/checker/sim_checker_register.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

/*
 * One register is linearizable if and only if its operations can be put into one order that keeps what came after what.
 * Every write has a value of its own, so that is decided by each value's zone, from the earliest end of its write and of
 * the reads that show it to the latest of their beginnings (P. B. Gibbons, E. Korach: Testing Shared Memories, 1997):
 *
 *   earliest end < latest beginning     it is the register's value all that time: no other such zone overlaps it, nor
 *                                       does a zone of the other kind lie within it
 *   else                                it may have been the value at one moment in between
 *
 * and no value is shown before its write begins.  Zones only grow, so what is wrong once remains so, and each operation
 * is judged as it ends.  An operation that was given up has no end.  Value 0: nothing was written yet.
 */

static struct sim_value *find_value(struct sim_register *reg, uint64_t task, uint64_t begun_at)
{
    for (uint32_t i = 0; i < reg->count; i++) {
        if (reg->values[i].task == task) {
            return &reg->values[i];
        }
    }
    if (reg->count == reg->capacity) {
        reg->capacity = reg->capacity * 2 + 16;
        reg->values = memory_resize(reg->values, reg->capacity * sizeof *reg->values);
        ASSERT(reg->values != NULL);
    }
    reg->values[reg->count] = (struct sim_value){task, UINT64_MAX, begun_at};
    return &reg->values[reg->count++];
}

/* Of two that stand or of one that does: two of the other kind never end before each other's beginning. */
static bool exclude(const struct sim_value *a, const struct sim_value *b)
{
    return a->first_end < b->last_begin && b->first_end < a->last_begin;
}

bool sim_register_note(struct sim_register *reg, const struct sim_seen *seen, uint64_t *ret_other)
{
    if (reg->count == 0) {
        find_value(reg, 0, 0)->first_end = 0;
    }
    struct sim_value *value = find_value(reg, seen->task, seen->written_at);
    value->first_end = seen->ended_at < value->first_end ? seen->ended_at : value->first_end;
    value->last_begin = seen->begun_at > value->last_begin ? seen->begun_at : value->last_begin;
    if (seen->ended_at < seen->written_at) {
        *ret_other = seen->task;
        return true;
    }
    for (uint32_t i = 0; i < reg->count; i++) {
        if (&reg->values[i] != value && exclude(value, &reg->values[i])) {
            *ret_other = reg->values[i].task;
            return true;
        }
    }
    return false;
}

void sim_register_deinit(struct sim_register *reg)
{
    memory_free(reg->values);
}
