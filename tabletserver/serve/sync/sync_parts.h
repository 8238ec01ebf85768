/*
 * What the files of sync share: the connection and its thread (sync.c), what is reported
 * (sync_report.c), whether the catalog is ours (sync_catalog.c), what is done about the answer
 * (sync_match.c).  The sync thread only.
 */
#ifndef TABLETSERVER_SERVE_SYNC_SYNC_PARTS_H
#define TABLETSERVER_SERVE_SYNC_SYNC_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/arena.h"
#include "common/base/buffer.h"
#include "common/io/mailbox.h"
#include "common/io/transport/transport.h"
#include "tabletserver/serve/load/load_meter.h"
#include "tabletserver/serve/sync/catalog_keeper.h"
#include "tabletserver/serve/sync/folder_keeper.h"
#include "tabletserver/serve/sync/served_map.h"
#include "tabletserver/serve/sync/sync.h"
#include "tabletserver/serve/sync/sync_missing.h"
#include "tabletserver/tablet/assignment.h"

#define SYNC_INTERVAL_DEFAULT_MS 250
#define SYNC_REDIRECTIONS_MAX    4 /* in a row; then with a pause, by turns */

/* Requests with proposals, by their numbers, from syncs. */
#define SYNC_PROPOSE_BIT (UINT64_C(1) << 63)

struct connection_context {
    struct sync *sync;
    uint64_t generation;
};

struct sync {
    struct server *server;
    struct mailbox *mailbox;
    pthread_t thread;
    atomic_bool stopping;
    atomic_bool hurry;
    atomic_bool leaving;
    atomic_bool look_again; /* what is assigned may fit what is held now */
    atomic_bool connected;
    atomic_bool barred;           /* refused, one by the other, when they last spoke */
    atomic_bool usurped;          /* another process has this server's number, said the master */
    bool admitted;                /* this process was let in, and not refused since */
    atomic_uint_fast64_t version; /* of the catalog, as known here */
    uint64_t catalog_generation;
    pthread_mutex_t masters_lock; /* this thread takes it to change them, others to look */
    struct sync_masters masters;
    bool redirected;             /* one that stands by has named the next to be dialled, at once */
    uint32_t redirected_to;      /* its index */
    uint32_t redirections;       /* followed in a row */
    uint32_t master_index;       /* the one dialled */
    atomic_uint master_answered; /* the one that answered last; the first until then */
    struct transport_connection *connection;
    struct connection_context connection_context;
    bool ready;
    bool asking; /* an answer is due */
    uint64_t request;
    int64_t interval_ns;
    int64_t next_ask_ns;
    int64_t answer_due_ns;
    int64_t next_metrics_ns;
    struct sync_missing missing;
    int64_t next_complaint_ns;      /* of a master that cannot be reached */
    int64_t next_bar_complaint_ns;  /* of being barred */
    int64_t next_note_complaint_ns; /* of a store that cannot note its catalog */
    size_t next_middle;             /* the tablet to begin with in the search for cuts */
    bool started;
    struct catalog_keeper **keepers; /* of the stores, in the order of the loops */
    uint32_t keeper_count;
    struct folder_keeper *folder; /* of the server's own */
    atomic_bool folder_is_stuck;  /* as of a second ago */
    struct assignment_list *assignments;
    struct arena arena; /* of one round */
    struct proposals *proposals;
    int64_t next_retell_ns; /* when the loops are told everything again */
    struct load_meter *meter;
    uint64_t load_asked; /* number of the load report that goes along with the question */
};

/* The whole request; check message->failed. */
void sync_encode_request(struct sync *sync, struct buffer *message);

/* Take in a master's answer.  Errors: the master's, STATUS_MALFORMED, STATUS_NO_MEMORY; then it is
 * asked for again. */
enum status sync_take_answer(struct sync *sync, struct bytes message, struct error *ret_error);

/* Refuse another catalog, or an older copy; of ours, have every store keep how far it is.  Errors:
 * STATUS_FAILED_PRECONDITION: nothing of the response may be done. */
enum status sync_settle_catalog(struct sync *sync,
                                const struct sync_response *response,
                                struct error *ret_error);

/* Make the server match what is assigned to it. */
void sync_match_assignments(struct sync *sync);

/* --- proposals (sync_propose.c) ------------------------------------------------------------------- */

/* Errors: STATUS_NO_MEMORY. */
enum status proposals_create(struct proposals **ret_proposals);
void proposals_destroy(struct proposals *proposals); /* NULL is fine */

/* Put those that wait into a message; false: there are none, or no memory for it. */
bool proposals_encode(struct sync *sync, struct buffer *message);
/* A master's answer: the loops are told. */
void proposals_take_answer(struct sync *sync, struct bytes message);
/* Tablets of which something newer is known to be: the loops are told again. */
void proposals_take_asked(struct sync *sync);

#endif /* TABLETSERVER_SERVE_SYNC_SYNC_PARTS_H */
