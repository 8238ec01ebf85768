/*
 * Replicas, with the real lease modules, in worlds by seed: messages are lost, doubled, late and
 * reordered, networks cut one way, processes killed and stopped, disks wiped and slow, clocks at rates
 * 5 % apart, proposals answered late or never.  After every step everything is looked at from outside
 * (replica_truth.h).  Then all is healed but perhaps one server, and a new write must be acknowledged
 * within a stated time, with all that ever was acknowledged before it.
 * One disk may be replaced by an earlier copy of itself (rules 19 to 21).
 *
 * And bugs are planted, one after the other; each must be found.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/forked.h"

#include "tests/model/replica_trouble.h"

#define FAULTS_NS (12 * SECOND)
#define HEALED_NS (40 * SECOND) /* within which a new write is acknowledged */
#define ROUND_NS  (25 * MS)

#define LEASES_SALT UINT64_C(0x6c6561736573)

/* --- running ------------------------------------------------------------------------------------ */

static int64_t wake_ns(const struct world *world, const struct server *server)
{
    if (!server->up) {
        return INT64_MAX;
    }
    int64_t clock_ns = lease_deadline_ns(server->lease);
    int64_t deadline_ns = replica_deadline_ns(server->replica);
    clock_ns = deadline_ns < clock_ns ? deadline_ns : clock_ns;
    for (uint32_t i = 0; i < world->server_count; i++) {
        if (server->held[i] && server->held_until_ns[i] < clock_ns) {
            clock_ns = server->held_until_ns[i];
        }
    }
    int64_t earliest_ns = is_paused(world, server) ? server->paused_until_ns : world->now_ns;
    if (clock_ns <= clock_at(server, earliest_ns)) {
        return earliest_ns;
    }
    return clock_ns == INT64_MAX ? INT64_MAX : true_time_of(server, clock_ns);
}

static void wake(struct world *world, struct server *server)
{
    int64_t clock_ns = clock_at(server, world->now_ns);
    for (uint32_t i = 0; i < world->server_count; i++) {
        if (server->held[i] && server->held_until_ns[i] <= clock_ns) {
            tell_held(world, server, i, false);
        }
    }
    if (lease_deadline_ns(server->lease) <= clock_ns) {
        step_lease(world, server, (struct lease_event){.type = LEASE_EVENT_TICK});
    }
    drain(world, server);
    if (replica_deadline_ns(server->replica) <= clock_ns) {
        tell(world, server, (struct replica_event){.type = REPLICA_EVENT_TICK});
    }
}

/* All that happens up to then; who wakes for ever at one time has a deadline that it does not meet. */
static void run_until(struct world *world, int64_t until_ns)
{
    uint64_t steps_at_once = 0;
    for (;;) {
        struct server *next = NULL;
        int64_t at_ns = world->heap_count > 0 ? world->heap[0].at_ns : INT64_MAX;
        for (uint32_t i = 0; i < world->server_count; i++) {
            int64_t server_ns = wake_ns(world, &world->servers[i]);
            if (server_ns < at_ns) {
                at_ns = server_ns;
                next = &world->servers[i];
            }
        }
        if (at_ns > until_ns) {
            world->now_ns = until_ns;
            return;
        }
        steps_at_once = at_ns > world->now_ns ? 0 : steps_at_once + 1;
        MUST(world, steps_at_once < 100000);
        world->now_ns = at_ns > world->now_ns ? at_ns : world->now_ns;
        if (next != NULL) {
            wake(world, next);
        } else {
            struct event event = take_soonest(world);
            arrive(world, &event);
        }
        check_world(world);
    }
}

static void tell_all(struct world *world)
{
    for (uint32_t i = 0; i < world->server_count; i++) {
        if (world->master_down_until_ns <= world->now_ns) {
            tell_newest(world, i);
        }
    }
}

static void run_faults(struct world *world)
{
    for (uint32_t round = 0; world->now_ns < FAULTS_NS; round++) {
        if (round % 12 == 0) {
            tell_all(world);
        }
        if (chance(world, world->weather.fault_per_mille)) {
            cause_trouble(world);
        }
        for (uint32_t i = 0; i < world->server_count; i++) {
            if (chance(world, 150)) {
                (void)write_at(world, &world->servers[i]);
            }
        }
        retry_at(world, some_server(world));
        check_world(world);
        run_until(world, world->now_ns + ROUND_NS);
    }
}

/* Whoever has the setting that is to go is started with the one that stays. */
static void put_right(struct world *world)
{
    world->lease_other = world->lease_stays;
    for (uint32_t i = 0; i < world->server_count; i++) {
        struct server *server = &world->servers[i];
        if (server->up && server->set != world->lease_stays) {
            stop(world, server);
            start(world, server);
        }
    }
}

/* Nothing fails any more, but a server that the others can do without may stay dead. */
static void heal(struct world *world)
{
    world->weather = (struct weather){
        .delay_ns = 2 * MS, .sync_ns = 2 * MS, .log_kept = world->weather.log_kept};
    memset(world->cut, 0, sizeof world->cut);
    world->master_down_until_ns = 0;
    put_right(world);
    if (world->newest.member_count >= 3 && !one_is_lost(world) && world->gone_back == 0 &&
        prng_chance(&world->prng, 2)) {
        struct server *server = some_server(world);
        server->dead = true;
        if (server->up) {
            stop(world, server);
        }
    }
    for (uint32_t i = 0; i < world->server_count; i++) {
        struct server *server = &world->servers[i];
        server->paused_until_ns = 0;
        server->isolated_until_ns = 0;
        if (!server->up && !server->dead) {
            start(world, server);
        }
    }
    wish(world);
}

static void check_healed(struct world *world, const struct server *server)
{
    uint64_t committed = replica_look(server->replica).committed;
    for (uint64_t at = 1; at <= world->committed_end; at++) {
        MUST(world, !world->committed[at].acknowledged || at <= committed);
        MUST(world, disk_has(&server->disk, at, world->committed[at].cell));
    }
}

/* Section 5, what cannot be known: a removal that it had proposed in its former life was taken, so the disk that
 * went back is the only member.  It knows that it lacks something, and serves nobody. */
static bool is_left_to_the_doubtful(const struct world *world)
{
    const struct server *server = &world->servers[world->newest.members[0].server - 1];
    return world->newest.member_count == 1 && is_old(server) && server->up &&
           replica_look(server->replica).trouble == REPLICA_IS_DOUBTFUL;
}

static void run_healed(struct world *world)
{
    int64_t begun_ns = world->now_ns;
    int64_t until_ns = begun_ns + HEALED_NS;
    for (uint32_t round = 0; world->now_ns < until_ns; round++) {
        if (round % 10 == 0) {
            tell_all(world);
        }
        for (uint32_t i = 0; i < world->server_count; i++) {
            struct server *server = &world->servers[i];
            uint64_t id = write_at(world, server);
            run_until(world, world->now_ns + (id != 0 ? 30 * MS : MS));
            struct committed_entry *last = &world->committed[world->committed_end];
            if (id != 0 && last->cell.id == id && last->acknowledged) {
                world->healed_ns = (uint64_t)(world->now_ns - begun_ns);
                check_healed(world, server);
                return;
            }
        }
        run_until(world, world->now_ns + ROUND_NS);
    }
    if (is_left_to_the_doubtful(world)) {
        world->forsaken++;
        return;
    }
    fail(world, "healed, and no new write is acknowledged in time");
}

/* --- making ------------------------------------------------------------------------------------- */

/* Swarm: each kind of trouble is left out in some worlds, and rules in others. */
static struct weather draw_weather(struct prng *prng)
{
    static const uint64_t LOST[] = {0, 0, 10, 100, 300};
    static const uint64_t RARE[] = {0, 20, 300};
    static const uint64_t LATE[] = {0, 0, 200, 700};
    static const uint64_t FAULTS[] = {10, 30, 80, 200};
    return (struct weather){
        .lost_per_mille = LOST[prng_below(prng, 5)],
        .doubled_per_mille = LOST[prng_below(prng, 5)],
        .late_per_mille = RARE[prng_below(prng, 3)],
        .proposal_late_per_mille = LATE[prng_below(prng, 4)],
        .late_ns = (1 + (int64_t)prng_below(prng, 5)) * SECOND,
        .delay_ns = prng_chance(prng, 3) ? 80 * MS : 2 * MS,
        .sync_ns = prng_chance(prng, 4) ? 300 * MS : 4 * MS,
        .stall_per_mille = prng_chance(prng, 3) ? 10 : 0,
        .fault_per_mille = FAULTS[prng_below(prng, 4)],
        .crash_weight = prng_below(prng, 4) * 2,
        .pause_weight = prng_below(prng, 4) * 2,
        .cut_weight = prng_below(prng, 4) * 2,
        .isolate_weight = prng_below(prng, 4) * 2,
        .wipe_weight = prng_chance(prng, 3) ? 1 : 0,
        .old_weight = prng_chance(prng, 3) ? 4 : 0,
        .goal_weight = prng_below(prng, 4),
        .master_weight = prng_below(prng, 3),
        .answers_lost_per_mille = LOST[prng_below(prng, 5)],
        .log_kept = prng_chance(prng, 2) ? 20 : SEQUENCES,
    };
}

/* In half of the worlds all are as they come; in a quarter lives differ.  Of a generator of its own. */
static void draw_leases(struct world *world)
{
    static const struct lease_settings ALL[] = {
        {.beacon_ns = 250 * MS, .lease_ns = 1400 * MS, .grace_ns = 2000 * MS, .drift_ppm = 50000},
        {.beacon_ns = 100 * MS, .lease_ns = 500 * MS, .grace_ns = 700 * MS, .drift_ppm = 50000},
        {.beacon_ns = 500 * MS, .lease_ns = 2500 * MS, .grace_ns = 3500 * MS, .drift_ppm = 50000},
    };
    struct prng *prng = &world->lease_prng;
    *prng = prng_of_seed(world->seed ^ LEASES_SALT);
    world->lease_stays = &ALL[prng_chance(prng, 2) ? 0 : prng_below(prng, 3)];
    world->lease_other = prng_chance(prng, 3) ? &ALL[prng_below(prng, 3)] : world->lease_stays;
}

static struct world *make_world(uint64_t seed, enum planted planted)
{
    struct world *world = calloc(1, sizeof *world);
    world->seed = seed;
    world->planted = planted;
    world->prng = prng_of_seed(seed);
    world->weather = draw_weather(&world->prng);
    world->server_count = 3 + (uint32_t)prng_below(&world->prng, 3);
    world->replicas = prng_chance(&world->prng, 6) ? 1 : 2 + (uint32_t)prng_below(&world->prng, 2);
    world->settings = (struct replica_settings){
        .resend_ns = 200 * MS,
        .commit_idle_ns = 20 * MS,
        .open_timeout_ns = 500 * MS,
        .prepare_timeout_ns = 3 * SECOND,
        .last_ns = seed % 4 == 0 ? 10 * SECOND : 0,
        .propose_ns = SECOND,
        .stagger_ns = 500 * MS,
        .alone_ns = planted == PLANTED_ALONE_AT_ONCE ? 0 : 20 * SECOND,
        .window_bytes_max = prng_chance(&world->prng, 3) ? 600 : 65536,
        .min_in_sync = world->replicas < 2 ? 1 : 2,
    };
    draw_leases(world);
    for (uint32_t i = EVENTS_MAX; i > 0; i--) {
        world->free_slots[world->free_count++] = i - 1;
    }
    int64_t apart_ppm = planted == PLANTED_CLOCKS_APART ? 400000 : 49000;
    for (uint32_t i = 0; i < world->server_count; i++) {
        struct server *server = &world->servers[i];
        server->index = i;
        server->member = (struct replica_member){i + 1, 101 + 100 * i};
        server->incarnation = prng_below(&world->prng, 100);
        server->rate_ppm = some_ns(world, 2 * apart_ppm) - apart_ppm;
        server->offset_ns = some_ns(world, 1000 * SECOND);
        if (i < world->replicas) {
            world->newest.members[world->newest.member_count++] = server->member;
        }
    }
    world->newest.version = 1;
    world->lone[1] = world->replicas == 1;
    wish(world);
    for (uint32_t i = 0; i < world->server_count; i++) {
        start(world, &world->servers[i]);
    }
    return world;
}

static void free_world(struct world *world)
{
    for (uint32_t i = 0; i < world->server_count; i++) {
        struct server *server = &world->servers[i];
        replica_destroy(server->replica);
        lease_destroy(server->lease);
        disk_wipe(&server->disk);
    }
    free(world);
}

/* --- many worlds, in a child, so that an assertion that fails leaves the seed -------------------- */

struct report {
    uint64_t seed; /* under way */
    uint64_t acknowledged;
    uint64_t refused;
    uint64_t promotions;
    uint64_t added;
    uint64_t removed;
    uint64_t yields;
    uint64_t taught;
    uint64_t gone_back;
    uint64_t forsaken;
    uint64_t healed_ns_max;
    uint64_t hash;
};

static void run_world(uint64_t seed, enum planted planted, struct report *report)
{
    report->seed = seed;
    struct world *world = make_world(seed, planted);
    run_faults(world);
    heal(world);
    run_healed(world);
    report->acknowledged += world->acknowledged;
    report->refused += world->refused;
    report->promotions += world->promotions;
    report->added += world->added;
    report->removed += world->removed;
    report->yields += world->yields;
    report->taught += world->taught;
    report->gone_back += world->gone_back;
    report->forsaken += world->forsaken;
    report->hash ^= world->hash * seed;
    if (world->healed_ns > report->healed_ns_max) {
        report->healed_ns_max = world->healed_ns;
    }
    free_world(world);
}

/* The seed that failed; 0: none did. */
static uint64_t run_worlds(uint64_t first,
                           uint64_t count,
                           enum planted planted,
                           struct report *ret_report)
{
    struct report *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(shared, MAP_FAILED);
    *shared = (struct report){0};
    pid_t child = fork();
    if (child == 0) {
        if (planted != PLANTED_NOTHING) {
            cr_assert_not_null(freopen("/dev/null", "w", stderr));
        }
        for (uint64_t seed = first; seed < first + count; seed++) {
            run_world(seed, planted, shared);
        }
        _exit(0);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    *ret_report = *shared;
    (void)munmap(shared, sizeof *shared);
    return failed ? ret_report->seed : 0;
}

#define WORLDS 6000

/* REPLICA_SEED=n REPLICA_WORLDS=m REPLICA_PLANTED=p: these worlds instead. */
static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

/* Seeds that have shown a bug.  165806: an exception was forgotten at the first beacon of the process
 * that it was for.  11729, the model's own: a disk that went back says that it has forgotten, before it has synced
 * the version of which it was told.  17931: see below.  21414, 33776, 78583: a disk went back to before a version under which
 * its members were opened, and led under that (rule 19).  126615: and removed both for a wish (rule 21).  92941 and 147194,
 * the model's own: a store was wiped while its addition was on its way, so two members were lost at once; a store that had
 * missed version 1 was not told that the tablet was being created still, when it was the last member (rule 18). */
Test(replica_model, seeds_that_have_failed)
{
    static const uint64_t SEEDS[] = {165806, 11729, 17931,  21414, 33776,
                                     78583,  92941, 126615, 147194};
    for (size_t i = 0; i < sizeof SEEDS / sizeof *SEEDS; i++) {
        struct report report;
        cr_assert_eq(run_worlds(SEEDS[i], 1, PLANTED_NOTHING, &report), 0, "seed %llu",
                     (unsigned long long)SEEDS[i]);
    }
}

Test(replica_model, promises_hold_in_many_worlds, .timeout = 300)
{
    struct report report;
    uint64_t first = from_environment("REPLICA_SEED", 1);
    uint64_t count = from_environment("REPLICA_WORLDS", WORLDS);
    uint64_t failed = run_worlds(first, count, from_environment("REPLICA_PLANTED", 0), &report);
    cr_assert_eq(failed, 0, "REPLICA_SEED=%llu REPLICA_WORLDS=1", (unsigned long long)failed);
    if (count < WORLDS) {
        return;
    }
    /* Worlds in which nothing happens prove nothing. */
    cr_assert_gt(report.acknowledged, 10 * count);
    cr_assert_gt(report.promotions, 2 * count);
    cr_assert_gt(report.added, count);
    cr_assert_gt(report.removed, count);
    cr_assert_gt(report.yields, count / 4);
    cr_assert_gt(report.taught, count);
    cr_assert_gt(report.gone_back, count / 20);
    cr_assert_lt(report.forsaken, 1 + count / 1000);
}

/* One seed is one run, whatever ran before it in the same process. */
Test(replica_model, a_seed_is_a_run)
{
    struct report alone;
    struct report among[2];
    cr_assert_eq(run_worlds(5, 1, PLANTED_NOTHING, &alone), 0);
    cr_assert_eq(run_worlds(1, 4, PLANTED_NOTHING, &among[0]), 0);
    cr_assert_eq(run_worlds(1, 5, PLANTED_NOTHING, &among[1]), 0);
    cr_assert_eq(among[0].hash ^ among[1].hash, alone.hash);
}

/*
 * Planted, and found: with how many worlds that takes at most.  Not found, and so left to unit tests
 * (rules 11 and 16): in 9 000 worlds PLANTED_OWN_GRANTS_FORGOTTEN, which needs a proposal that is taken
 * after its sender has restarted and granted again, and PLANTED_JOINED_IS_LEARNER, which needs an OPEN
 * that comes so late; in 60 000 PLANTED_RESTART_FORGETS_GRANTS, which world 365 met only as long as
 * leases forgot exceptions at a peer's first beacon; in 70 000 PLANTED_OLD_MEMBERS_LEASES and PLANTED_GRACE_UNNOTED
 * (the world in which both were thought to be found, 17931, failed without them: who taught a damaged learner that had
 * as much as itself took it for whole).  Spin finds the former, test_grace_note.c and lease-settings the latter.
 */
Test(replica_model, planted_bugs_are_found, .timeout = 300)
{
    static const struct {
        enum planted planted;
        uint64_t worlds;
        uint64_t first; /* 0 = 1 */
    } BUGS[] = {
        {PLANTED_SYNCED_EARLY, 10},         {PLANTED_LEASE_FROM_RECEIPT, 2000},
        {PLANTED_CLOCKS_APART, 1000},       {PLANTED_EXCEPTION_UNHEARD, 500},
        {PLANTED_LEASE_NOT_LOOKED_AT, 100}, {PLANTED_RESTARTED_GOES_ON, 1000},
        {PLANTED_DOUBT_FORGOTTEN, 3000},    {PLANTED_LATE_OPEN_DROPS, 2000},
        {PLANTED_FEW_ACKNOWLEDGE, 200},     {PLANTED_UNFIT_LEASE_GIVEN, 500, 3001},
        {PLANTED_NO_COMPARE, 50},           {PLANTED_TAUGHT_EARLY, 1000},
        {PLANTED_SERVES_AFTER_YIELD, 50},   {PLANTED_NOBODY_REMOVED, 10},
        {PLANTED_NO_RENEWAL, 100},          {PLANTED_ALONE_AT_ONCE, 500, 6001},
    };
    for (size_t i = 0; i < sizeof BUGS / sizeof *BUGS; i++) {
        struct report report;
        uint64_t first = BUGS[i].first == 0 ? 1 : BUGS[i].first;
        cr_assert_neq(run_worlds(first, BUGS[i].worlds, BUGS[i].planted, &report), 0, "%d",
                      (int)BUGS[i].planted);
    }
}
