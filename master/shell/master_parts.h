/*
 * What the files of the master's shell share: its state, and the mail that other threads send it.
 *
 *   master.c         opening, the loop, closing
 *   master_mail.c    nng, committer, console ---> [ mailbox ] ---> who answers
 *   master_reign.c   which reign is ours
 *   master_show.c    the status; what the console keeps
 *   master_alarms.c  what of the status needs a person
 *
 * Thread rule: the loop's, but for what says that it is called by other threads.
 */
#ifndef MASTER_SHELL_MASTER_PARTS_H
#define MASTER_SHELL_MASTER_PARTS_H

#include <stdatomic.h>

#include "common/io/mailbox.h"
#include "common/io/transport/transport.h"
#include "master/console/console.h"
#include "master/shell/elector.h"
#include "master/shell/master.h"
#include "master/shell/reign.h"
#include "master/shell/status_page.h"

#define ADDRESS_BYTES_MAX  256
#define EVENTS_ARENA_BYTES ((size_t)65536)
#define EVENTS_ARENA_MAX   ((size_t)64 << 20)
#define STOPPING           "the master is stopping"

enum mail_kind {
    MAIL_REQUEST,
    MAIL_COMMITTED,
    MAIL_QUESTION,
    MAIL_EVENTS,
};

struct mail {
    enum mail_kind kind;
    struct transport_request request; /* its body belongs to the reply */
    struct transport_reply *reply;
    uint64_t reign; /* COMMITTED: in which */
    struct committer_result result;
    struct question *question; /* QUESTION: the console's */
    struct buffer events;      /* EVENTS: of the active master; the mail's */
};

struct master {
    const struct master_settings *settings;
    struct mailbox *mailbox;
    struct transport_listener *listener;
    struct status_page *page;
    struct console *console;
    char address[ADDRESS_BYTES_MAX]; /* what others are told; "" = nothing */
    struct elector *elector;         /* NULL = the embedded coordinator */
    struct reign *reign;             /* NULL = standing by */
    struct event_log events;         /* standing by; else the reign has them */
    uint64_t events_told;            /* the last change that the console was given to keep */
    int64_t retold_ns;               /* when it was begun anew last, as some could not be kept */
    char followed[ETCD_LEADER_BYTES_MAX]; /* whom the console follows; "" = nobody */
    int64_t published_ns;                 /* when the status was last made public */
    atomic_bool stopping;
    struct error failure; /* why the loop must end; status OK = it need not */
};

/* --- mail (master_mail.c) ----------------------------------------------------------------------- */

/* From other threads; each pushes a mail. */
void mail_on_request(void *context,
                     const struct transport_request *request,
                     struct transport_reply *reply);
void mail_on_committed(void *context, uint64_t reign, const struct committer_result *result);
bool mail_on_question(void *context, struct question *question);
bool mail_on_events(void *context, struct buffer *events);

void mail_take(struct master *master, struct mail *mail);
/* All that is there, and all that still comes. */
void mail_refuse_all(struct master *master);

/* --- reigns (master_reign.c) -------------------------------------------------------------------- */

enum status master_begin_reign(struct master *master, uint64_t number, struct error *ret_error);
/* text: what those are told who wait for an answer. */
void master_end_reign(struct master *master, const char *text);
/* Be what the election says: active in its reign, or standing by. */
void master_follow_election(struct master *master);
/* The embedded coordinator's only reign: without it there is no master. */
void master_follow_reign(struct master *master);

bool master_may_act(const struct master *master);
/* Where the active master is, as far as we know; text has ETCD_LEADER_BYTES_MAX. */
void master_find_active(const struct master *master, char *text);

/* --- what is shown (master_show.c) -------------------------------------------------------------- */

void master_publish(struct master *master);
/* What METHOD_STATUS and /status show; counts: if it reigns. */
void master_status_json(struct master *master,
                        struct catalog_counts *ret_counts,
                        struct buffer *out);
/* The member "alarms" of that; and their metrics. */
void master_append_alarms(const struct master *master, struct buffer *out);
/* Events that are new go to the console, which keeps them. */
void master_keep_events(struct master *master);
/* Standing by: what the active one shows. */
void master_follow_active(struct master *master);

#endif /* MASTER_SHELL_MASTER_PARTS_H */
