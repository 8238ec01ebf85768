/*
 * The coordinator: where the catalog is kept, whatever keeps it.
 *
 *   embedded  one LMDB file in <folder>/catalog: one master, the default on one machine
 *   memory    for the simulator and tests; commits can be made to fail
 *   etcd      any number of masters, of which one leads: every commit is fenced by its leadership
 *
 * It holds records (master/core/record/record.h) and knows only the identity among them: a new coordinator
 * gives itself the cluster's number and a random generation; an old one is refused if it belongs to
 * another cluster or was written by a newer version.
 *
 * Thread rule: load, then commits, one thread at a time; the others must be ordered with it.
 */
#ifndef MASTER_COORDINATOR_COORDINATOR_H
#define MASTER_COORDINATOR_COORDINATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "master/core/catalog.h"

struct coordinator;

/* One record at a time; key and value are borrowed for the call.  An error ends the load. */
typedef enum status (*coordinator_take)(void *context,
                                        struct bytes key,
                                        struct bytes value,
                                        struct error *ret_error);

struct coordinator_identity {
    uint64_t cluster;    /* this cluster's number, from the configuration */
    uint64_t generation; /* for a new catalog: random, not 0 */
};

/*
 * Open <folder>/catalog, or make it there if there is none.  The folder is locked by the caller.
 * Errors: STATUS_FAILED_PRECONDITION (another cluster's: names both), STATUS_VERSION (a newer
 * format, by name), STATUS_CORRUPT, STATUS_NO_SPACE, STATUS_IO, STATUS_NO_MEMORY.
 */
enum status coordinator_open_embedded(const char *folder,
                                      const struct coordinator_identity *identity,
                                      struct coordinator **ret_coordinator,
                                      struct error *ret_error);

struct etcd_settings; /* etcd_client.h */

struct coordinator_etcd_options {
    const struct etcd_settings *settings; /* borrowed until close */
    uint64_t cluster;
    /* Of a catalog that is made anew: random, not 0.  0 = none is made and none is looked at, as an
     * import does both itself. */
    uint64_t generation;
    uint64_t reign;    /* the leadership under which everything is written (election.h) */
    uint32_t endpoint; /* of the settings', where to begin (etcd_client.h) */
};

/*
 * The catalog of a cluster in etcd, or a new one.  What an earlier reign has committed, and not come
 * to the end of, is brought there first.
 * Errors: those of coordinator_open_embedded(); STATUS_ABORTED (the reign is over), STATUS_UNAVAILABLE
 * (etcd does not answer), STATUS_CANCELLED, STATUS_PERMISSION_DENIED, STATUS_INVALID_ARGUMENT.
 */
enum status coordinator_open_etcd(const struct coordinator_etcd_options *options,
                                  struct coordinator **ret_coordinator,
                                  struct error *ret_error);

/* What waits for etcd, and will, ends within a second.  From any thread; other kinds never wait. */
void coordinator_cancel(struct coordinator *coordinator);

/* Empty but for identity and counters.  Errors: STATUS_NO_MEMORY. */
enum status coordinator_create_memory(const struct coordinator_identity *identity,
                                      struct coordinator **ret_coordinator,
                                      struct error *ret_error);

/* memory only: let `after` commits succeed, then fail count of them. */
void coordinator_memory_fail(struct coordinator *coordinator, uint64_t after, uint64_t count);

void coordinator_close(struct coordinator *coordinator); /* NULL is fine */

/* Hand out every record, in order of key.  Errors: as the coordinator's, or take's own; STATUS_ABORTED, on etcd: the reign
 * was over by the end, and what was handed out may be half of what another one has written. */
enum status coordinator_load(struct coordinator *coordinator,
                             coordinator_take take,
                             void *context,
                             struct error *ret_error);

/*
 * All puts or none, synced before it returns.
 * Errors: STATUS_NO_SPACE, STATUS_NO_MEMORY, STATUS_LIMIT: nothing of it is there, the coordinator
 * goes on.  STATUS_IO, STATUS_CORRUPT: whether it is there is unknown: end the process and load; on
 * etcd, end the reign and load in another.  STATUS_ABORTED, on etcd: the reign is over.
 */
enum status coordinator_commit(struct coordinator *coordinator,
                               const struct catalog_put *puts,
                               size_t put_count,
                               struct error *ret_error);

/* Of a commit's error: may the caller go on as if it had never been tried? */
bool coordinator_is_clean_failure(enum status status);

/* --- for implementations ---------------------------------------------------------------------- */

struct coordinator_methods {
    enum status (*load)(struct coordinator *coordinator,
                        coordinator_take take,
                        void *context,
                        struct error *ret_error);
    enum status (*commit)(struct coordinator *coordinator,
                          const struct catalog_put *puts,
                          size_t put_count,
                          struct error *ret_error);
    void (*cancel)(struct coordinator *coordinator); /* NULL = it never waits */
    void (*close)(struct coordinator *coordinator);
};

/* First member of every implementation. */
struct coordinator {
    const struct coordinator_methods *methods;
};

/* Commit identity and counters of a new catalog, or check the identity that is there. */
enum status coordinator_settle_identity(struct coordinator *coordinator,
                                        const struct coordinator_identity *identity,
                                        struct error *ret_error);

/* The same for one that has looked itself: the identity record's value, empty if there is none, and
 * whether there are others. */
enum status coordinator_settle_found(struct coordinator *coordinator,
                                     const struct coordinator_identity *identity,
                                     struct bytes value,
                                     bool has_other,
                                     struct error *ret_error);

#endif /* MASTER_COORDINATOR_COORDINATOR_H */
