/*
 * Teaching a copy, until production's slices are there (docs/replication.md, section 6).
 *
 *   primary: TEACH --> the log is enough: TEACHING, TAUGHT
 *                 '--> GIVE, after a delay: the whole content as of its committed sequence
 *   learner: one transaction of its base --> TEACHING of itself, TAKEN back
 *            not now --> AGAIN back, later
 *
 * A lesson is no message: it is not lost, and passes links that are cut.  It is void when one of both
 * processes has ended, and what it says is judged again when it arrives and when it is durable.
 */
#ifndef TESTS_SIM_SIM_LESSON_H
#define TESTS_SIM_SIM_LESSON_H

#include "tests/sim/sim_store.h"

struct sim_server;

enum sim_lesson_state {
    SIM_LESSON_GIVE,
    SIM_LESSON_TAKEN,
    SIM_LESSON_AGAIN,
};

struct sim_lesson {
    struct sim_lesson *next;
    uint64_t number;
    enum sim_lesson_state state;
    uint64_t tablet;
    uint64_t version;
    struct replica_member learner;
    uint64_t learner_incarnation;
    uint32_t teacher;
    uint64_t teacher_incarnation;
    uint64_t sequence;
    struct sim_base_tablet *content; /* GIVE; owned */
};

void sim_lesson_begin(struct sim_server *server,
                      struct sim_tablet *tablet,
                      struct replica_member learner,
                      uint64_t sequence);
/* An event of the server's. */
void sim_lesson_arrived(struct sim_server *server, uint64_t number, struct sim_effects *effects);
/* The learner's base has it: the store's callback. */
void sim_lesson_durable(void *context, struct sim_tablet *tablet, uint64_t number);
void sim_lessons_destroy(struct sim *sim);

#endif /* TESTS_SIM_SIM_LESSON_H */
