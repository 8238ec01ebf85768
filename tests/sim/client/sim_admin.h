/*
 * The administrator: a client of masters alone.  It makes the main table, and then, if the seed
 * says so, tables that come and go, families that come and go, splits by hand, neighbours that are merged.
 *
 * Its requests are not exactly-once.  After silence it asks what is, and goes on from there.
 */
#ifndef TESTS_SIM_CLIENT_SIM_ADMIN_H
#define TESTS_SIM_CLIENT_SIM_ADMIN_H

#include "tests/sim/checker/sim_checker.h"

enum sim_admin_kind {
    SIM_ADMIN_CREATE,
    SIM_ADMIN_GET, /* after a CREATE whose end is not known */
    SIM_ADMIN_DELETE,
    SIM_ADMIN_ADD_FAMILY,
    SIM_ADMIN_DROP_FAMILY,
    SIM_ADMIN_RULE, /* another for the family that has one */
    SIM_ADMIN_SPLIT,
    SIM_ADMIN_MERGE,
    SIM_ADMIN_DRAIN,
};

struct sim_admin {
    struct sim *sim;
    uint32_t node;
    struct prng prng;
    struct sim_effects *effects;
    uint32_t master;          /* whom it asks */
    enum sim_admin_kind kind; /* of the request under way, or the next */
    bool waiting;
    uint64_t request;
    uint32_t name; /* of the table it is about; 0 = the main one */
    uint64_t number;
    uint32_t name_next;
    uint32_t reusable_name; /* 0 = none: a table of it is surely deleted */
    struct bytes boundary;  /* MERGE: where the right one begins; the checker's */
    bool withdraws;         /* MERGE: that order is taken back */
    /* Of the merge that was ordered last: the row where the right one of the two begins. */
    uint8_t ordered[64];
    size_t ordered_bytes; /* 0 = none, or taken back */
    uint32_t family_next;
    uint32_t families_made;
    bool drains; /* the last order about settings.drained: away with all that it has, or not */
};

struct sim_admin *sim_admin_create(struct sim *sim, uint32_t node);
void sim_admin_destroy(struct sim_admin *admin);
void sim_admin_start(struct sim_admin *admin, struct sim_effects *effects);
void sim_admin_on_message(struct sim_admin *admin,
                          const struct sim_message *message,
                          struct sim_effects *effects);
void sim_admin_on_timer(struct sim_admin *admin, uint64_t number, struct sim_effects *effects);
/* The main table is there, and nothing is under way. */
bool sim_admin_is_idle(const struct sim_admin *admin);

#endif /* TESTS_SIM_CLIENT_SIM_ADMIN_H */
