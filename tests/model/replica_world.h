/*
 * A world for replicas: true time, servers whose clocks run at rates of their own, a network, disks,
 * a catalog.  Everything that happens is an event in one heap; all chance is of one seed.
 *
 * Each server has one store, with one replica of the one tablet, and the lease module of its process.
 */
#ifndef TESTS_MODEL_REPLICA_WORLD_H
#define TESTS_MODEL_REPLICA_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/prng.h"
#include "tabletserver/replica/lease.h"
#include "tabletserver/replica/replica.h"

#define MS         INT64_C(1000000)
#define SECOND     (1000 * MS)
#define SERVERS    5 /* at most */
#define SEQUENCES  600
#define TABLET     7
#define VERSIONS   4096
#define EVENTS_MAX 8192
#define QUEUE_MAX  64

/* Bugs that can be planted from outside: each breaks what the shell owes, or what a rule demands. */
enum planted {
    PLANTED_NOTHING,
    PLANTED_SYNCED_EARLY,           /* I7: told before it is durable */
    PLANTED_LEASE_FROM_RECEIPT,     /* rule 8 */
    PLANTED_CLOCKS_APART,           /* rule 8: further than is allowed */
    PLANTED_EXCEPTION_UNHEARD,      /* rules 8 and 10 */
    PLANTED_LEASE_NOT_LOOKED_AT,    /* rule 7 */
    PLANTED_OWN_GRANTS_FORGOTTEN,   /* rule 11, in a life */
    PLANTED_RESTART_FORGETS_GRANTS, /* rule 11, across lives */
    PLANTED_RESTARTED_GOES_ON,      /* rule 2 */
    PLANTED_DOUBT_FORGOTTEN,        /* rule 2, lone */
    PLANTED_LATE_OPEN_DROPS,        /* rule 4: that it was opened is forgotten */
    PLANTED_FEW_ACKNOWLEDGE,        /* rule 6 */
    PLANTED_NO_COMPARE,             /* rule 9: the catalog takes what is stale */
    PLANTED_OLD_MEMBERS_LEASES,     /* rule 9: leases of who is proposed are not looked at */
    PLANTED_JOINED_IS_LEARNER,      /* rule 16: that it counts is forgotten */
    PLANTED_TAUGHT_EARLY,           /* rule 9: whole before it is */
    PLANTED_SERVES_AFTER_YIELD,     /* rule 14 */
    PLANTED_NOBODY_REMOVED,         /* rule 13: progress */
    PLANTED_NO_RENEWAL,             /* rule 2: progress */
    PLANTED_ALONE_AT_ONCE,          /* rule 21 */
    PLANTED_UNFIT_LEASE_GIVEN,      /* rule 8: and taken */
    PLANTED_GRACE_UNNOTED,          /* rule 8: a former, longer one */
    PLANTED_COUNT,
};

/* --- a disk: the store's log ---------------------------------------------------------------------- */

/* What an entry is, wherever it lies.  id 0: nothing. */
struct cell {
    uint64_t version;
    uint64_t id;
};

enum record_kind {
    RECORD_ENTRY,
    RECORD_CONFIGURATION,
    RECORD_TAUGHT, /* the base as it was at a sequence, as a learner was taught it */
};

struct record {
    enum record_kind kind;
    uint64_t sequence; /* ENTRY, TAUGHT; CONFIGURATION: what is kept */
    struct cell cell;
    uint64_t committed; /* known when it was logged */
    struct replica_configuration configuration;
    enum replica_role role;
    struct replica_flags flags;
    struct cell *taught; /* up to sequence; the record's */
    uint64_t teacher;    /* incarnation of it */
    uint64_t teacher_version;
    uint64_t teacher_server;
};

/* What is durable, as a replay would find it. */
struct disk {
    struct record *records;
    uint32_t count;
    uint32_t capacity;
    uint32_t durable; /* so many of them */
    struct cell cells[SEQUENCES];
    uint64_t end;
    uint64_t committed;
    struct replica_configuration configuration;
    enum replica_role role;
    struct replica_flags flags;
};

/* --- servers ------------------------------------------------------------------------------------ */

struct server {
    uint32_t index;
    struct replica_member member;
    uint64_t incarnation;
    bool up;
    bool dead; /* for good */
    int64_t paused_until_ns;
    int64_t isolated_until_ns; /* from all, and the master */
    int64_t rate_ppm;
    int64_t offset_ns;
    struct replica *replica;
    struct lease *lease;
    const struct lease_settings *set; /* of this life */
    int64_t noted_grace_ns;           /* on its disk, as grace_note.h has it */
    int64_t free_from_ns;             /* what lives before this one have promised is over */
    int64_t held_until_ns[SERVERS];   /* by its clock */
    bool held[SERVERS];               /* as told to the replica */
    bool serving;
    struct replica_union serving_peers;
    bool leads;
    uint32_t told;     /* records whose sync was told to the replica */
    uint32_t teaching; /* number of the teaching that counts: the last one begun */
    bool syncing;
    bool stalled;
    struct disk disk;
    uint64_t old_store; /* one that has less than it had promised; 0 = none */
    uint64_t old_end;   /* how much it had had, and under which version of the catalog's */
    uint64_t old_version;
    struct replica_event queue[QUEUE_MAX]; /* for the replica, in order */
    uint32_t queued;
};

/* --- events ------------------------------------------------------------------------------------- */

enum event_kind {
    EVENT_MESSAGE, /* to a replica */
    EVENT_BEACON,
    EVENT_ACKNOWLEDGEMENT,
    EVENT_SYNC, /* the disk has its first `count` records */
    EVENT_STALL,
    EVENT_PROPOSED, /* at the master */
    EVENT_ASKED,
    EVENT_TOLD, /* by the master: configuration and goal */
    EVENT_READ, /* an entry from the log */
    EVENT_TEACH,
    EVENT_TAUGHT, /* at the primary */
};

#define EXCEPTIONS_MAX 16

struct event {
    int64_t at_ns;
    uint64_t order;
    enum event_kind kind;
    uint32_t from;
    uint32_t to;
    uint64_t incarnation; /* of the process that it is for; 0 = whoever */
    uint64_t from_incarnation;
    struct replica_member from_member;
    struct replica_member to_member;
    struct replica_message message;
    uint64_t id; /* of the entry that it carries */
    struct lease_beacon beacon;
    struct lease_acknowledgement acknowledgement;
    struct lease_exception exceptions[EXCEPTIONS_MAX];
    struct replica_proposal proposal;
    struct replica_configuration configuration;
    struct replica_union goal;
    uint64_t goal_leader;
    uint64_t sequence;
    uint64_t version;
    uint32_t count;
};

struct heap_item {
    int64_t at_ns;
    uint64_t order;
    uint32_t slot;
};

/* How bad this world is: drawn once, so that some never lose a message, and others most. */
struct weather {
    uint64_t lost_per_mille;
    uint64_t doubled_per_mille;
    uint64_t late_per_mille;
    int64_t late_ns;
    uint64_t proposal_late_per_mille;
    int64_t delay_ns;
    int64_t sync_ns;
    uint64_t stall_per_mille; /* of syncs */
    uint64_t fault_per_mille; /* of rounds */
    uint64_t crash_weight;
    uint64_t pause_weight;
    uint64_t cut_weight;
    uint64_t isolate_weight;
    uint64_t wipe_weight;
    uint64_t old_weight;
    uint64_t goal_weight;
    uint64_t master_weight;
    uint64_t answers_lost_per_mille;
    uint64_t log_kept; /* entries below the end that can be read */
};

/* --- the whole ---------------------------------------------------------------------------------- */

struct committed_entry {
    struct cell cell;
    bool acknowledged;
};

struct world {
    uint64_t seed;
    enum planted planted;
    struct prng prng;
    int64_t now_ns;
    struct weather weather;
    uint32_t server_count;
    uint32_t replicas;
    struct replica_settings settings;
    struct prng lease_prng;
    /* Which all servers have in the end; until then a life may have the other one. */
    const struct lease_settings *lease_stays;
    const struct lease_settings *lease_other;
    struct server servers[SERVERS];
    bool cut[SERVERS][SERVERS]; /* from, to */
    int64_t master_down_until_ns;
    uint32_t last_troubled;

    struct replica_configuration newest;
    struct replica_union goal;
    uint64_t goal_leader;

    struct event events[EVENTS_MAX];
    uint32_t free_slots[EVENTS_MAX];
    uint32_t free_count;
    struct heap_item heap[EVENTS_MAX];
    uint32_t heap_count;
    uint64_t order;

    /* what is known from outside */
    struct committed_entry committed[SEQUENCES];
    uint64_t committed_end;
    uint64_t acknowledged_end;
    struct cell given[SEQUENCES * 2]; /* (version, sequence) -> id, hashed */
    uint64_t given_sequence[SEQUENCES * 2];
    uint64_t next_id;
    bool founded;        /* somebody has served: it is not being created any more (rule 18) */
    bool lone[VERSIONS]; /* the version has one member */
    bool dirty;          /* a configuration or a disk has changed: look at all members */

    /* what has happened, so that a world in which nothing does is noticed */
    uint64_t acknowledged;
    uint64_t refused;
    uint64_t promotions;
    uint64_t added;
    uint64_t removed;
    uint64_t yields;
    uint64_t taught;
    uint64_t gone_back;
    uint64_t forsaken;
    uint64_t healed_ns; /* how long it took to commit a new write */
    uint64_t hash;
};

static inline void describe_members(const struct replica_configuration *configuration)
{
    (void)fprintf(stderr, "version %llu {", (unsigned long long)configuration->version);
    for (uint32_t i = 0; i < configuration->member_count; i++) {
        (void)fprintf(stderr, "%s%llu", i == configuration->leader ? " *" : " ",
                      (unsigned long long)configuration->members[i].store);
    }
    (void)fprintf(stderr, " }");
}

static inline void describe(const struct world *world)
{
    static const char *const ROLES[] = {"outsider", "learner", "secondary", "primary"};
    static const char *const TROUBLES[] = {"fine",        "few members", "in doubt", "inheriting",
                                           "turned away", "waiting",     "damaged",  "doubtful"};
    (void)fprintf(stderr, "catalog: ");
    describe_members(&world->newest);
    (void)fprintf(stderr, ", goal leader %llu, goal", (unsigned long long)world->goal_leader);
    for (uint32_t i = 0; i < world->goal.count; i++) {
        (void)fprintf(stderr, " %llu", (unsigned long long)world->goal.members[i].store);
    }
    (void)fprintf(stderr, "\n");
    for (uint32_t i = 0; i < world->server_count; i++) {
        const struct server *server = &world->servers[i];
        (void)fprintf(stderr,
                      "store %llu, process %llu: ", (unsigned long long)server->member.store,
                      (unsigned long long)server->incarnation);
        if (!server->up) {
            (void)fprintf(stderr, "down\n");
            continue;
        }
        struct replica_view view = replica_look(server->replica);
        (void)fprintf(stderr, "%s, %s%s, %llu/%llu/%llu, ", ROLES[view.role],
                      TROUBLES[view.trouble], view.serving ? ", serving" : "",
                      (unsigned long long)view.committed, (unsigned long long)view.synced,
                      (unsigned long long)view.appended);
        describe_members(&view.configuration);
        (void)fprintf(stderr, "\n");
    }
}

_Noreturn static void fail(const struct world *world, const char *what)
{
    describe(world);
    (void)fprintf(stderr, "seed %llu at %lld ms: %s\n", (unsigned long long)world->seed,
                  (long long)(world->now_ns / MS), what);
    abort();
}

#define MUST(world, condition)         \
    do {                               \
        if (!(condition)) {            \
            fail((world), #condition); \
        }                              \
    } while (0)

static inline bool chance(struct world *world, uint64_t per_mille)
{
    return prng_below(&world->prng, 1000) < per_mille;
}

static inline int64_t some_ns(struct world *world, int64_t below_ns)
{
    return 1 + (int64_t)prng_below(&world->prng, (uint64_t)below_ns);
}

/* --- time --------------------------------------------------------------------------------------- */

static inline int64_t clock_at(const struct server *server, int64_t true_ns)
{
    __int128 gained = (__int128)true_ns * server->rate_ppm / 1000000;
    return server->offset_ns + true_ns + (int64_t)gained;
}

/* The first true time at which its clock shows that. */
static inline int64_t true_time_of(const struct server *server, int64_t clock_ns)
{
    int64_t since_ns = clock_ns - server->offset_ns;
    int64_t true_ns = (int64_t)((__int128)since_ns * 1000000 / (1000000 + server->rate_ppm));
    while (clock_at(server, true_ns) < clock_ns) {
        true_ns++;
    }
    return true_ns;
}

static inline bool is_paused(const struct world *world, const struct server *server)
{
    return server->paused_until_ns > world->now_ns;
}

/* --- the heap ----------------------------------------------------------------------------------- */

static inline bool is_sooner(const struct heap_item *a, const struct heap_item *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static inline void heap_swap(struct world *world, uint32_t a, uint32_t b)
{
    struct heap_item item = world->heap[a];
    world->heap[a] = world->heap[b];
    world->heap[b] = item;
}

/* A slot to be filled by the caller. */
static inline struct event *schedule(struct world *world, int64_t at_ns, enum event_kind kind)
{
    MUST(world, world->free_count > 0);
    uint32_t slot = world->free_slots[--world->free_count];
    uint32_t at = world->heap_count++;
    world->heap[at] = (struct heap_item){at_ns, ++world->order, slot};
    while (at > 0 && is_sooner(&world->heap[at], &world->heap[(at - 1) / 2])) {
        heap_swap(world, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
    struct event *event = &world->events[slot];
    *event = (struct event){.at_ns = at_ns, .kind = kind};
    return event;
}

static inline struct event take_soonest(struct world *world)
{
    uint32_t slot = world->heap[0].slot;
    world->free_slots[world->free_count++] = slot;
    world->heap[0] = world->heap[--world->heap_count];
    for (uint32_t at = 0;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
            if (child < world->heap_count && is_sooner(&world->heap[child], &world->heap[least])) {
                least = child;
            }
        }
        if (least == at) {
            return world->events[slot];
        }
        heap_swap(world, at, least);
        at = least;
    }
}

/* --- the network -------------------------------------------------------------------------------- */

static inline int64_t travel_ns(struct world *world)
{
    bool late = chance(world, world->weather.late_per_mille);
    return some_ns(world, late ? world->weather.late_ns : world->weather.delay_ns);
}

static inline bool is_old(const struct server *server)
{
    return server->old_store == server->member.store;
}

static inline bool is_isolated(const struct world *world, uint32_t server)
{
    return world->servers[server].isolated_until_ns > world->now_ns;
}

/* Once, twice or never. */
static inline void transmit(struct world *world, const struct event *event)
{
    if (world->cut[event->from][event->to] || is_isolated(world, event->from) ||
        is_isolated(world, event->to) || chance(world, world->weather.lost_per_mille)) {
        return;
    }
    uint32_t copies = chance(world, world->weather.doubled_per_mille) ? 2 : 1;
    for (uint32_t i = 0; i < copies; i++) {
        int64_t at_ns = world->now_ns + travel_ns(world);
        struct event *copy = schedule(world, at_ns, event->kind);
        *copy = *event;
        copy->at_ns = at_ns;
    }
}

#endif /* TESTS_MODEL_REPLICA_WORLD_H */
