/*
 * Where a load runs: the table, the clients, and clients that never read.
 *
 * Thread rule: the main thread.
 */
#ifndef CLIENT_LOAD_PLACE_H
#define CLIENT_LOAD_PLACE_H

#include "client/load/run.h"

struct load_place {
    const struct load_options *options;
    struct load_client *clients;
    uint64_t client_count; /* opened */
    struct load_idler *idlers;
    uint64_t idler_count;
    bool table_is_new;
};

/* Open the first client; make the table if it is missing and create is set.
 * Errors: those of the calls; EDUBBA_FAILED_PRECONDITION for a table that is not ours. */
enum edubba_code load_place_open(struct load_place *place,
                                 const struct load_options *options,
                                 bool create,
                                 struct edubba_error *error);
/* All clients of the options. */
enum edubba_code load_place_open_others(struct load_place *place, struct edubba_error *error);
/* Open all clients, and connect each with each server, as the phase will use it: by this, clients that a
 * server does not take are seen before anything is measured.
 * Errors: those of the calls (which of the clients is said); EDUBBA_RESOURCE_EXHAUSTED for too few
 * open files. */
enum edubba_code load_place_connect(struct load_place *place,
                                    const struct load_workload *workload,
                                    bool is_load,
                                    struct edubba_error *error);
/* Is it the first of its server's tablets?  Not where no server has it. */
bool load_tablet_is_first(const struct edubba_tablet *tablets, size_t index);
/* A row of the tablet. */
struct edubba_bytes load_tablet_row(const struct edubba_tablet *tablet);
/* Further clients that open a scan of the table and take nothing of it. */
enum edubba_code load_place_idle(struct load_place *place, struct edubba_error *error);
enum edubba_code load_place_drop(struct load_place *place, struct edubba_error *error);
void load_place_close(struct load_place *place);

#endif /* CLIENT_LOAD_PLACE_H */
