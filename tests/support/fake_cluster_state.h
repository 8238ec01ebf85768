/*
 * What a fake cluster (fake_cluster.h) is made of: its rows, its tablets, the script of what goes
 * wrong, and the account of what happened.
 */
#ifndef TESTS_SUPPORT_FAKE_CLUSTER_STATE_H
#define TESTS_SUPPORT_FAKE_CLUSTER_STATE_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/prng.h"
#include "common/io/transport/transport.h"

#define FAKE_SERVERS        4 /* 0 is the master */
#define FAKE_TABLETS_MAX    64
#define FAKE_ROWS_MAX       4096
#define FAKE_KEY_MAX        64
#define FAKE_TABLE          7
#define FAKE_SEEN_MAX       65536
#define FAKE_HELD_MAX       64
#define FAKE_CLOCK_SHIFT_US INT64_C(3600000000) /* the cluster's clock goes an hour ahead */

struct fake_cluster;

struct fake_server {
    struct fake_cluster *cluster;
    int index;
    struct transport_listener *listener;
    char address[64];
};

struct fake_tablet {
    uint64_t number;
    uint64_t configuration;
    char start[FAKE_KEY_MAX];
    char end[FAKE_KEY_MAX];
    int server; /* 0 = not served */
    int other;  /* a member that does not lead; 0 = none */
};

struct fake_row {
    char key[FAKE_KEY_MAX];
    int64_t sum; /* what was added */
};

struct fake_seen {
    uint64_t client;
    uint64_t sequence;
    int64_t first_attempt_us;
};

struct fake_held {
    struct fake_server *server;
    struct transport_reply *reply;
    struct transport_request request;
};

struct fake_scan {
    struct fake_cluster *cluster;
    struct transport_reply *reply;
    struct arena arena;
    struct scan_request request;
    struct row_set rows;
    struct row_range tablet;
    size_t next; /* of the rows in reading order */
    uint64_t returned;
    bool is_parked;
};

struct fake_cluster {
    pthread_mutex_t lock;
    struct fake_server servers[FAKE_SERVERS];
    struct fake_tablet tablets[FAKE_TABLETS_MAX];
    int tablet_count;
    uint64_t tablet_number; /* the last one's that was given */
    uint64_t configuration;
    struct fake_row rows[FAKE_ROWS_MAX]; /* ascending */
    int row_count;
    struct fake_seen seen[FAKE_SEEN_MAX];
    int seen_count;
    uint64_t client;
    uint64_t guest; /* of identities that the caller gives; 0 = it gives none */
    uint64_t mark;  /* highest first_unfinished told */
    struct prng prng;

    /* The script. */
    bool table_is_gone;
    int64_t master_ahead_us;  /* its clock, as it tells it; from the next handshake on */
    const char *master_names; /* it stands by, and names this one; NULL = it is the active one */
    int active;               /* the server that is a master, too: the active one */
    bool is_frozen[FAKE_SERVERS];  /* it takes connections and requests, and says nothing */
    bool is_deposed[FAKE_SERVERS]; /* it refuses operations, and does not know who leads */
    bool is_behind[FAKE_SERVERS];  /* it does not know where tablets are */
    bool tells_location;           /* in wrong-server answers */
    int located_at_once; /* tablets in one answer to a locate; 0 = all that follow the row */
    bool answers_twice;
    bool answers_backward; /* of the last operation first */
    bool holds;            /* operations are not answered until fake_release() */
    int unavailable_left;
    int refusals_left;     /* messages: refused whole, nothing done */
    enum status refusal;   /* what those are refused with; OK: unavailable */
    int omissions_left;    /* messages: done, and of the last operation nothing is said */
    int drops_before_left; /* messages: the connection is closed, nothing done */
    int drops_after_left;  /* messages: done, and the connection is closed */
    uint32_t chaos_one_in; /* any of the above by chance; 0 = never */
    int scan_rows_per_message;
    int scan_rows_until_drop; /* 0 = never; armed again after each */
    bool scan_is_silent;
    bool scan_hides_rows;      /* as if a filter let none pass */
    bool scan_never_ends;      /* its rows seen, it waits until it is cancelled */
    bool scan_end_is_lost;     /* its rows sent, the connection goes before it says so */
    bool scan_finds_large_row; /* the first one that is asked for */
    bool sampling_joins;       /* whoever is sampled: afterwards all is one tablet */

    /* What happened. */
    int locates[FAKE_SERVERS];
    int messages;
    int operations;
    int applied;
    int duplicates;
    int violations;
    int scans;
    int merges;
    int64_t scan_bytes;
    char violation[256];
    struct bytes status_body;             /* what METHOD_STATUS answers */
    const struct hot_tablet *hot_tablets; /* what LIST_HOT_TABLETS does, one a page */
    size_t hot_tablet_count;
    bool hot_pages_end_nowhere;
    const struct list_hot_keys_response *hot_keys; /* what LIST_HOT_KEYS answers */
    const struct advise_response *advice;          /* and ADVISE */
    const struct event *events;                    /* what LIST_EVENTS does, one a page */
    size_t event_count;
    bool event_pages_end_nowhere;
    struct fake_held held[FAKE_HELD_MAX];
    int held_count;
    struct transport_reply *frozen[FAKE_HELD_MAX];
    int frozen_count;
};

static inline void fake_violation(struct fake_cluster *cluster, const char *text, uint64_t sequence)
{
    cluster->violations++;
    (void)snprintf(cluster->violation, sizeof cluster->violation, "%s (sequence %lu)", text,
                   (unsigned long)sequence);
}

/* --- rows and tablets ------------------------------------------------------------------------- */

static inline int fake_row_position(const struct fake_cluster *cluster, struct bytes key)
{
    int low = 0;
    int high = cluster->row_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (bytes_compare(bytes_of_text(cluster->rows[middle].key), key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static inline struct fake_row *fake_row_find(struct fake_cluster *cluster, struct bytes key)
{
    int at = fake_row_position(cluster, key);
    bool found = at < cluster->row_count && bytes_equal(bytes_of_text(cluster->rows[at].key), key);
    return found ? &cluster->rows[at] : NULL;
}

static inline struct fake_row *fake_row_make(struct fake_cluster *cluster, struct bytes key)
{
    struct fake_row *row = fake_row_find(cluster, key);
    if (row != NULL) {
        return row;
    }
    ASSERT(cluster->row_count < FAKE_ROWS_MAX && key.size_bytes < FAKE_KEY_MAX);
    row = &cluster->rows[fake_row_position(cluster, key)];
    memmove(row + 1, row, (size_t)(&cluster->rows[cluster->row_count] - row) * sizeof *row);
    memset(row, 0, sizeof *row);
    memcpy(row->key, key.data, key.size_bytes);
    cluster->row_count++;
    return row;
}

static inline void fake_fill(struct fake_cluster *cluster, int count)
{
    for (int i = 0; i < count; i++) {
        char key[FAKE_KEY_MAX];
        (void)snprintf(key, sizeof key, "row%05d", i);
        fake_row_make(cluster, bytes_of_text(key))->sum = i;
    }
}

static inline struct row_range fake_range(const struct fake_tablet *tablet)
{
    return (struct row_range){bytes_of_text(tablet->start), bytes_of_text(tablet->end)};
}

static inline struct fake_tablet *fake_tablet_of(struct fake_cluster *cluster, struct bytes row)
{
    for (int i = 0; i < cluster->tablet_count; i++) {
        struct row_range range = fake_range(&cluster->tablets[i]);
        if (row_range_contains(&range, row)) {
            return &cluster->tablets[i];
        }
    }
    UNREACHABLE();
}

/* The addresses of its other members; in the arena. */
static inline void fake_others(struct fake_cluster *cluster,
                               const struct fake_tablet *tablet,
                               struct arena *arena,
                               struct location *location)
{
    struct bytes *others = arena_allocate_array(arena, 1, sizeof *others);
    if (tablet->other != 0) {
        others[0] = bytes_of_text(cluster->servers[tablet->other].address);
        location->others = others;
        location->other_count = 1;
    }
}

static inline struct location fake_location(struct fake_cluster *cluster,
                                            const struct fake_tablet *tablet)
{
    return (struct location){
        .tablet = tablet->number,
        .table = FAKE_TABLE,
        .configuration = tablet->configuration,
        .range = fake_range(tablet),
        .server = (uint64_t)tablet->server,
        .address = bytes_of_text(tablet->server == 0 ? ""
                                                     : cluster->servers[tablet->server].address),
        .state = tablet->server == 0 ? TABLET_UNAVAILABLE : TABLET_SERVING,
    };
}

static inline void fake_move_locked(struct fake_cluster *cluster, const char *row, int server)
{
    struct fake_tablet *tablet = fake_tablet_of(cluster, bytes_of_text(row));
    tablet->server = server;
    tablet->configuration = ++cluster->configuration;
}

static inline void fake_split_locked(struct fake_cluster *cluster, const char *row, int server)
{
    struct fake_tablet *left = fake_tablet_of(cluster, bytes_of_text(row));
    if (strcmp(left->start, row) == 0) {
        return;
    }
    int at = (int)(left - cluster->tablets);
    ASSERT(cluster->tablet_count < FAKE_TABLETS_MAX);
    memmove(left + 1, left, (size_t)(cluster->tablet_count - at) * sizeof *left);
    cluster->tablet_count++;
    (void)snprintf(left->end, sizeof left->end, "%s", row);
    (void)snprintf(left[1].start, sizeof left[1].start, "%s", row);
    left[1].server = server;
    left->number = ++cluster->tablet_number;
    left[1].number = ++cluster->tablet_number;
    left->configuration = left[1].configuration = ++cluster->configuration;
}

/* The tablet that begins with row and the one before it are one, where that is. */
static inline void fake_join_locked(struct fake_cluster *cluster, const char *row)
{
    struct fake_tablet *right = fake_tablet_of(cluster, bytes_of_text(row));
    int at = (int)(right - cluster->tablets);
    struct fake_tablet *left = right - 1;
    ASSERT(at > 0 && strcmp(right->start, row) == 0);
    memcpy(left->end, right->end, sizeof left->end);
    left->number = ++cluster->tablet_number;
    left->configuration = ++cluster->configuration;
    memmove(right, right + 1, (size_t)(cluster->tablet_count - at - 1) * sizeof *right);
    cluster->tablet_count--;
}

static inline void fake_move(struct fake_cluster *cluster, const char *row, int server)
{
    pthread_mutex_lock(&cluster->lock);
    fake_move_locked(cluster, row, server);
    pthread_mutex_unlock(&cluster->lock);
}

/* The other member leads now; what led is the other, if it lives. */
static inline void fake_fail_over(struct fake_cluster *cluster)
{
    pthread_mutex_lock(&cluster->lock);
    for (int i = 0; i < cluster->tablet_count; i++) {
        struct fake_tablet *tablet = &cluster->tablets[i];
        int was = tablet->server;
        tablet->server = tablet->other;
        tablet->other = was;
        tablet->configuration = ++cluster->configuration;
    }
    pthread_mutex_unlock(&cluster->lock);
}

static inline void fake_split(struct fake_cluster *cluster, const char *row, int server)
{
    pthread_mutex_lock(&cluster->lock);
    fake_split_locked(cluster, row, server);
    pthread_mutex_unlock(&cluster->lock);
}

#endif /* TESTS_SUPPORT_FAKE_CLUSTER_STATE_H */
