/*
 * The stand of an experiment: its clients, and the table of one variant after the other.
 *
 * A table is called LAB_<experiment>_<variant> and is made for the run.  One that a run left behind (it
 * was killed, or told to --keep) is dropped first, but only if its families are the variant's own.
 *
 * Thread rule: the main thread.
 */
#ifndef CLIENT_LOAD_LAB_STAND_H
#define CLIENT_LOAD_LAB_STAND_H

#include "client/load/core/options.h"
#include "client/load/lab/flight.h"

struct lab_stand {
    const struct load_options *options;
    struct lab_client *clients;
    uint64_t client_count;          /* opened */
    struct edubba_client *observer; /* lists tablets: never behind the load's requests */
    char table[LAB_TABLE_BYTES];    /* "" = there is none */
    struct edubba_table *observed;
};

/* Open the clients.  close in any case.  Errors: those of edubba_client_open(). */
enum edubba_code lab_stand_open(struct lab_stand *stand,
                                const struct load_options *options,
                                struct edubba_error *error);
void lab_stand_close(struct lab_stand *stand);

/* Servers that are alive, up to max.  Where they are not the `least` that there have to be, waits up to 10 s for them,
 * and says so: a master that has just started has heard of none. */
enum edubba_code lab_stand_servers(struct lab_stand *stand,
                                   size_t least,
                                   struct lab_server *servers,
                                   size_t max,
                                   size_t *ret_count,
                                   struct edubba_error *error);

/* Make the variant's table, in about so many tablets, and wait until all of them are served.
 * Errors: those of the calls; EDUBBA_FAILED_PRECONDITION for a table of that name that is not ours. */
enum edubba_code lab_stand_make_table(struct lab_stand *stand,
                                      const struct lab_experiment *experiment,
                                      const struct lab_variant *variant,
                                      const struct lab_world *world,
                                      size_t tablets,
                                      struct edubba_error *error);

/* A table beside the variant's, with the same families, in one tablet; what an earlier run has left of
 * that name goes first.  Open, by the first of the clients. */
enum edubba_code lab_stand_make_other(struct lab_stand *stand,
                                      const struct lab_variant *variant,
                                      const char *name,
                                      struct edubba_table **ret_table,
                                      struct edubba_error *error);

/* Is the table that was made still there?  Another run of the experiment drops it, and may make one of that name of its
 * own.  true where the cluster cannot tell. */
bool lab_stand_is_there(struct lab_stand *stand);

/* Close the table, and drop it unless options say --keep, or it is not there any more. */
enum edubba_code lab_stand_leave_table(struct lab_stand *stand, struct edubba_error *error);

/* The tablets as they are; NULL = it could not be told within patience_ms. */
struct lab_map *lab_stand_look(struct lab_stand *stand, uint32_t patience_ms);

/* What the servers estimate the table takes; false = they could not be asked. */
bool lab_stand_stored_bytes(struct lab_stand *stand, uint64_t *ret_bytes);

#endif /* CLIENT_LOAD_LAB_STAND_H */
