/*
 * The replicas of a simulated tablet server: production's tabletserver/host, unchanged, one for each of its stores, with what it needs
 * around it, as tabletserver/serve has it (replicas.c, store_loop.c, sync_match.c).
 *
 *   sync answers, batches, the store --> host --> sim_seam_store.c: the simulated store
 *                                             '-> sim_seam_peer.c: batches and beacons, really encoded
 *
 * The beacon thread is no thread here: what the host asks of it is put into a mailbox and taken out before
 * the step ends.  Time is the server's CLOCK_BOOTTIME.
 */
#ifndef TESTS_SIM_SERVER_SIM_HOST_H
#define TESTS_SIM_SERVER_SIM_HOST_H

#include "tabletserver/host/host.h"
#include "tabletserver/tablet/assignment.h"
#include "tests/sim/store/sim_store.h"

#define SIM_PROPOSES_MAX 64
#define SIM_MAILBOX_MAX  64

struct sim_server;
struct sim_loop;
struct sim_reading;
struct sim_awaited;

/* GRANT or EXCEPT, on its way to the lease module. */
struct sim_promise {
    bool except;
    uint64_t peer;
    uint64_t incarnation;
    uint64_t tablet;
    uint64_t version;
};

struct sim_peers {
    struct lease *lease;
    struct lease_end ends[SIM_SERVERS_MAX + 1]; /* by node */
    struct sim_promise mailbox[SIM_MAILBOX_MAX];
    uint32_t mailbox_count;
    struct buffer batches[SIM_SERVERS_MAX + 1];
    uint64_t batch_from[SIM_SERVERS_MAX + 1];   /* from which store it comes, */
    uint64_t batch_stores[SIM_SERVERS_MAX + 1]; /* and to which it goes */
    struct sim_reading *readings;               /* under way */
    uint64_t reading_next;
    uint64_t timer; /* the one that counts */
    int64_t timer_ns;
    int64_t retell_ns;
    uint64_t proposes[SIM_PROPOSES_MAX]; /* requests that were sent */
    uint32_t propose_next;
    uint64_t asked;              /* confirmations (sim_confirm.h), so often */
    struct sim_awaited *awaited; /* reads that wait for one */
};

void sim_host_start(struct sim_server *server);
void sim_host_destroy(struct sim_server *server);
/* What was decided is done, what gathered leaves; the timer is set. */
void sim_host_end_step(struct sim_server *server);
void sim_host_tick(struct sim_server *server);
/* From another server. */
void sim_host_take(struct sim_server *server, const struct sim_message *message);

/* The store has it: it has a replica from now on; is about to drop it. */
void sim_host_add(const struct sim_loop *loop, struct sim_tablet *tablet);
bool sim_host_may_remove(struct sim_tablet *tablet, uint64_t configuration);
void sim_host_remove(struct sim_tablet *tablet);
/* Tablets with others that its stores lead, or have proposed to. */
uint32_t sim_host_leads_count(const struct sim_server *server);
/* Nothing that is led here stands behind a barrier. */
bool sim_host_is_calm(const struct sim_server *server);
/* What each replica is, to the trace. */
void sim_host_trace(const struct sim_server *server);
/* The tables say something else now. */
void sim_host_refresh(struct sim_server *server);

/* Of this moment: reads after their snapshot; writes (rules 5 to 7): STATUS_OK, STATUS_NOT_OWNER or
 * STATUS_UNAVAILABLE. */
bool sim_host_may_serve(const struct sim_server *server, const struct sim_tablet *tablet);
enum status sim_host_may_answer(const struct sim_server *server, const struct sim_tablet *tablet);

/* --- the store's callbacks ---------------------------------------------------------------------- */

enum status sim_host_on_append(void *context,
                               struct sim_tablet *tablet,
                               const struct store_entry *entry);
void sim_host_on_appended(void *context,
                          struct sim_tablet *tablet,
                          const struct store_entry *entry);
void sim_host_on_synced(void *context, struct sim_tablet *tablet, uint64_t sequence);
void sim_host_on_configured(void *context, struct sim_tablet *tablet);
void sim_host_on_taught(void *context, struct sim_tablet *tablet);
void sim_host_on_commits(void *context, struct sim_tablet *tablet, uint64_t first, uint64_t last);

/* --- what the hosts call: sim_host_calls.c -------------------------------------------------------- */

struct host_options sim_host_options(struct sim_loop *loop, const struct lease_settings *leases);
/* The log or a slice was read. */
void sim_host_was_read(struct sim_server *server, uint64_t number);
void sim_host_discard_readings(struct sim_server *server);

/* --- the master's side: sim_host_sync.c --------------------------------------------------------- */

/* What it told last is handed to the replicas. */
void sim_host_tell(struct sim_server *server,
                   const struct assignment_held *held,
                   size_t held_count);
void sim_host_convert(struct sim_loop *loop, const struct assignment_action *action);
void sim_host_propose(void *context,
                      uint64_t tablet,
                      struct replica_member self,
                      const struct host_proposal *wanted);
/* True when it was an answer to a proposal. */
bool sim_host_proposed(struct sim_server *server, const struct sim_message *message);

/* --- what the host is linked with: sim_seam_peer.c ----------------------------------------------- */

/* Whose step it is: its clock counts. */
void sim_seam_enter(struct sim_server *server);
void sim_seam_step_lease(struct sim_server *server, const struct lease_event *event);
/* The beacon thread takes what was put into its mailbox. */
void sim_seam_take_mailbox(struct sim_server *server);
void sim_seam_flush_lanes(struct sim_server *server);

#endif /* TESTS_SIM_SERVER_SIM_HOST_H */
