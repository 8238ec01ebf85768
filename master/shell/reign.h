/*
 * A reign: the time in which this master is the active one, from loading the catalog to letting it go.
 * With the embedded coordinator there is one, as long as the process; on etcd one for each time that
 * it was elected.
 *
 *   requests, commits, ticks ---> catalog_step ---> effects: committer, replies, log
 *
 * What a reign does not hold is kept by master.h: the mailbox, the network, the election.
 *
 * A reign that is suspended (its lease may have run out) neither takes requests nor plans anything. It
 * does hear how commits have ended, and may begin one that waits: they are fenced, so what was acknowledged is true.
 * For its catalog no time passes meanwhile (reign_clock.h).
 *
 * Thread rule: the loop's.
 */
#ifndef MASTER_SHELL_REIGN_H
#define MASTER_SHELL_REIGN_H

#include <stdatomic.h>

#include "common/io/transport/transport.h"
#include "master/console/question.h"
#include "master/core/load/event_log.h"
#include "master/shell/committer.h"
#include "master/shell/elector.h"
#include "master/shell/settings.h"

struct reign;

struct reign_options {
    const struct master_settings *settings; /* borrowed until close */
    struct elector *elector;                /* likewise; NULL = the embedded coordinator */
    uint64_t number;                        /* of the election; 0 without one */
    const atomic_bool *stopping;            /* a load ends early when it is set */
    void *context;
    /* On the committer's thread: hand the result over to reign_take_committed(). */
    void (*on_committed)(void *context, uint64_t reign, const struct committer_result *result);
    /* From the loop: a report of load that was taken; takes it over. */
    void (*on_load)(void *context, struct located_report *load);
};

/*
 * Open the coordinator, load the catalog.
 * Errors: the coordinator's and the catalog's; STATUS_CANCELLED (stopping, or the reign is over).
 */
enum status reign_open(const struct reign_options *options,
                       struct reign **ret_reign,
                       struct error *ret_error);

/* Refuse with text what is not answered, let everything go: changes, which may have been made, with STATUS_CLOSED,
 * all else with STATUS_UNAVAILABLE.  NULL is fine. */
void reign_close(struct reign *reign, const char *text);

uint64_t reign_number(const struct reign *reign);

/* Is it sure that nobody else leads? */
bool reign_may_act(const struct reign *reign);

/* Requires: it may act. */
void reign_take_request(struct reign *reign,
                        const struct transport_request *request,
                        struct transport_reply *reply);
/* It is answered before or after this returns. */
void reign_take_question(struct reign *reign, struct question *question);
void reign_take_committed(struct reign *reign, const struct committer_result *result);

/* What was decided about load: of reigns before, moved in; and out again, before it is closed. */
void reign_take_events(struct reign *reign, struct event_log *events);
void reign_give_events(struct reign *reign, struct event_log *ret_events);
const struct event_log *reign_events(const struct reign *reign);

/* Do what is due, if it may act.  Call at reign_deadline_ns(), and twice a second at least (reign_clock.h). */
void reign_tick(struct reign *reign);
int64_t reign_deadline_ns(const struct reign *reign);

/* Why it must end; STATUS_OK = it need not. */
const struct error *reign_failure(const struct reign *reign);

/* Why the catalog cannot be changed just now, by the last commit, or by a trial since, or as one has been under way for
 * 10 s; STATUS_OK = it can. */
const struct error *reign_refusal(const struct reign *reign);

/* What the catalog has, in numbers and as the status's JSON. */
void reign_describe(struct reign *reign, struct catalog_counts *ret_counts, struct buffer *status);

#endif /* MASTER_SHELL_REIGN_H */
