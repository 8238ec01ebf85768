/*
 * Is one register linearizable?  Of the simulator's checker; by itself, so that it is tested by itself
 * (tests/unit/sim/test_sim_register.c).
 */
#ifndef TESTS_SIM_CHECKER_SIM_CHECKER_REGISTER_H
#define TESTS_SIM_CHECKER_SIM_CHECKER_REGISTER_H

#include <stdbool.h>
#include <stdint.h>

/* What a register was seen to have, or was made to have: by which write, and when. */
struct sim_value {
    uint64_t task; /* 0 = none yet */
    uint64_t first_end;
    uint64_t last_begin;
};

struct sim_register {
    struct sim_value *values;
    uint32_t count;
    uint32_t capacity;
};

/* A read that shows a value, or the write itself. */
struct sim_seen {
    uint64_t task;       /* whose value; 0 = the row is not there */
    uint64_t written_at; /* when that one began */
    uint64_t begun_at;
    uint64_t ended_at;
};

/*
 * To be told of each operation that ended and was not given up; a write that was given up counts from when a read shows
 * it.  True: no order of its operations explains that any more, and *ret_other is a value that was at the same time, or
 * the value itself where it was read before its write began.
 */
bool sim_register_note(struct sim_register *reg, const struct sim_seen *seen, uint64_t *ret_other);
void sim_register_deinit(struct sim_register *reg);

#endif /* TESTS_SIM_CHECKER_SIM_CHECKER_REGISTER_H */
