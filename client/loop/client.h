/*
 * The client's own state, and what its parts ask of one another.
 *
 *   edubba_submit --> submission --> route (where is the row?) --> lane (batches) --> server
 *   admin, locate --> request ----> masters, or a tablet server ------^
 *   edubba_scan_* --> scan -------> route ----------------------------^
 *
 * Everything under "the loop" is touched by whoever holds the loop only; what is under "lock" by any
 * thread that holds it; the rest does not change after edubba_client_open.
 */
#ifndef CLIENT_LOOP_CLIENT_H
#define CLIENT_LOOP_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>

#include "client/core/location_cache.h"
#include "client/core/retry.h"
#include "client/core/sequence_window.h"
#include "client/include/edubba_masters.h"
#include "client/loop/list.h"
#include "client/loop/loop.h"

struct server_lane;

/* What is known of so many tables is kept when nobody has them open any more: most are opened again. */
#define CLIENT_CLOSED_TABLES 64

struct edubba_client {
    uint64_t process; /* who this client is in exactly-once identities; random */
    char *agent;
    char *masters_text;
    uint32_t deadline_ms;
    uint32_t unreachable_ms;
    uint32_t in_flight_max;
    uint64_t in_flight_bytes_max;
    uint32_t messages_per_lane;
    uint32_t connections; /* to one server for operations of one kind */
    void (*on_trouble)(void *context,
                       uint32_t waited_ms,
                       const char *text); /* NULL = nobody asks */
    void *trouble_context;
    uint32_t given_count; /* addresses that it was given: the first in locations */
    struct loop loop;

    /* A server's clock (microseconds) less clock_monotonic_ns() / 1000. */
    _Atomic int64_t server_clock_offset_us;

    pthread_mutex_t lock;
    pthread_cond_t room; /* something completed */
    struct sequence_window identities;
    struct sequence_window tickets; /* of all submissions, reads too: for drain */
    uint32_t in_flight;
    uint64_t in_flight_bytes;
    uint32_t waiting;                      /* for room */
    struct list_link tables;               /* that are open */
    uint64_t closed[CLIENT_CLOSED_TABLES]; /* numbers of those that were closed; 0 = none */
    uint32_t closed_next;                  /* the place that is taken next */

    /* The loop. */
    struct location_cache locations;
    uint32_t addresses_max;       /* with more of them in locations they are thinned out */
    int64_t addresses_thinned_ns; /* when they were last; at first, when it was opened */
    struct prng prng;
    struct retry_budget budget;
    struct server_lane **lanes; /* (address * LANE_KINDS + kind) * connections + connection */
    uint32_t lane_capacity;
    uint32_t connection_next;     /* whose turn it is */
    struct list_link dirty_lanes; /* something was queued */
    struct list_link routes;
    struct list_link requests;            /* that are under way */
    uint32_t masters[EDUBBA_MASTERS_MAX]; /* numbers of their addresses: given, then learned */
    uint32_t master_count;
    uint32_t master_replaced; /* of those that were learned, the last whose place another got */
    uint32_t master_current;  /* index in masters */
    bool is_master[EDUBBA_MASTERS_MAX]; /* has answered as one; others may be tablet servers */
    /* It did not answer: others go first until then. */
    int64_t master_silent_until_ns[EDUBBA_MASTERS_MAX];
};

/* As edubba_client_open(), but for the first word with a master. */
enum edubba_code client_open_unreached(const struct edubba_options *options,
                                       struct edubba_client **ret_client,
                                       struct edubba_error *error);

/* "EDUBBA_..." of ours; statuses that only we know become the nearest that clients know. */
enum edubba_code client_code(enum status status);

/* The status a server sent as a number; STATUS_UNKNOWN for one that this version does not know. */
enum status client_status_of_number(uint32_t number);

/* Fill *error, which may be NULL; returns its code. */
enum edubba_code client_error(struct edubba_error *error,
                              enum status status,
                              const char *format,
                              ...) __attribute__((format(printf, 3, 4)));
enum edubba_code client_error_of(struct edubba_error *error, const struct error *from);
enum edubba_code client_success(struct edubba_error *error);
enum edubba_code client_no_memory(struct edubba_error *error);
/* The same where it is still a status of ours; ret_error may be NULL. */
enum status client_status_no_memory(struct error *ret_error);

/* Behind the text of a deadline that has passed: whom it waited for, by the number of its address
 * (LOCATION_NOT_SERVED: nobody), and what the last attempt met ("" = nothing).  Loop. */
void client_append_waited_for(const struct edubba_client *client,
                              uint32_t address,
                              const char *trouble,
                              struct error *error);

/* To whoever asked to be told: what a call met (NULL = it is not known) that was begun then and is
 * tried again.  Loop. */
void client_tell_trouble(const struct edubba_client *client, int64_t begun_ns, const char *trouble);

/* Refuses a blocking call made in a completion.  Errors: EDUBBA_FAILED_PRECONDITION. */
enum edubba_code client_check_may_block(struct edubba_client *client, struct edubba_error *error);

/* Does what this thread submits wait for edubba_client_go()? */
bool client_thread_gathers(void);

/* How long blocking calls of this thread wait (edubba_thread_deadline). */
uint32_t client_blocking_deadline_ms(const struct edubba_client *client);

static inline struct bytes client_bytes(struct edubba_bytes bytes)
{
    return bytes_of(bytes.data, bytes.size);
}

static inline struct edubba_bytes client_public_bytes(struct bytes bytes)
{
    return edubba_bytes_of(bytes.data, bytes.size_bytes);
}

#endif /* CLIENT_LOOP_CLIENT_H */
