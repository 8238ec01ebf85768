/*
 * Several masters and one etcd, in simulated time: clocks that run at different rates, questions and
 * answers that are lost, late, or carried out long after nobody waits for them, machines that stand
 * still.  At no moment may two of them act; a reign never comes back; when the trouble is over, one
 * leads and goes on leading.
 */
#include <criterion/criterion.h>

#include <stdio.h>

#include "common/base/prng.h"
#include "master/coordinator/election.h"

#define MS         INT64_C(1000000)
#define MASTERS    4
#define EVENTS_MAX 64
#define LEASES_MAX 4096
#define TIMEOUT_NS (500 * MS)
#define NEVER      INT64_MAX

struct lease {
    int64_t until_ns; /* etcd's clock is the true one */
};

struct etcd {
    struct lease leases[LEASES_MAX];
    int64_t lease_count;
    int64_t revision;
    uint64_t leader; /* 0 = nobody */
    int64_t leader_lease;
};

enum event_type {
    ARRIVE, /* a question, at etcd */
    ANSWER, /* back at its master */
    WAKE,   /* the master has waited long enough, for an answer or as it wished */
};

struct event {
    enum event_type type;
    int64_t at_ns; /* NEVER = free */
    int master;
    uint64_t question; /* its number */
    struct election_question asked;
    struct election_answer answer;
};

struct master {
    struct election election;
    int64_t rate_permille; /* of its clock, against the true one */
    int64_t offset_ns;
    uint64_t question; /* that is out; answers to others come too late */
    bool asking;
    int64_t frozen_until_ns;
    uint64_t reign_last;
};

struct world {
    struct prng prng;
    int64_t now_ns;
    struct etcd etcd;
    struct master masters[MASTERS];
    struct event events[EVENTS_MAX];
    bool calm;
    int overlaps;
    int reigns;
    int suspended;
};

static int64_t clock_of(const struct master *master, int64_t true_ns)
{
    return true_ns / 1000 * (1000 + master->rate_permille) + master->offset_ns;
}

static int64_t true_time_of(const struct master *master, int64_t clock_ns)
{
    return (clock_ns - master->offset_ns) / (1000 + master->rate_permille) * 1000 + 1000;
}

/* Where there is no room the event is lost, like a packet. */
static void schedule(struct world *world, const struct event *event)
{
    for (int i = 0; i < EVENTS_MAX; i++) {
        if (world->events[i].at_ns == NEVER) {
            world->events[i] = *event;
            return;
        }
    }
    cr_assert_eq(event->type, ARRIVE, "a master would sleep for ever");
}

/* How long a question or an answer takes; below 0: it is lost. */
static int64_t delay(struct world *world)
{
    if (world->calm) {
        return (int64_t)(1 + prng_below(&world->prng, 5)) * MS;
    }
    switch (prng_below(&world->prng, 10)) {
    case 0:
        return -1;
    case 1:
        return (int64_t)prng_below(&world->prng, 4000) * MS;
    case 2:
    case 3:
        return (int64_t)prng_below(&world->prng, 600) * MS;
    default:
        return (int64_t)prng_below(&world->prng, 20) * MS;
    }
}

/* --- etcd --------------------------------------------------------------------------------------- */

static bool lease_lives(const struct world *world, int64_t lease)
{
    return lease > 0 && world->now_ns < world->etcd.leases[lease].until_ns;
}

static struct election_answer carry_out(struct world *world, const struct election_question *asked)
{
    struct etcd *etcd = &world->etcd;
    struct election_answer answer = {.answered = true};
    const int64_t ttl_ns = 2000 * MS;

    if (etcd->leader != 0 && !lease_lives(world, etcd->leader_lease)) {
        etcd->leader = 0;
        etcd->revision++;
    }
    if (asked->type == ELECTION_GRANT) {
        cr_assert_lt(etcd->lease_count, LEASES_MAX - 1);
        answer.lease = ++etcd->lease_count;
        answer.ttl_ns = ttl_ns;
        etcd->leases[answer.lease].until_ns = world->now_ns + ttl_ns;
    } else if (asked->type == ELECTION_RENEW && lease_lives(world, asked->lease)) {
        answer.ttl_ns = ttl_ns;
        etcd->leases[asked->lease].until_ns = world->now_ns + ttl_ns;
    } else if (asked->type == ELECTION_REVOKE) {
        etcd->leases[asked->lease].until_ns = 0;
        etcd->leader = etcd->leader_lease == asked->lease ? 0 : etcd->leader;
    } else if (asked->type == ELECTION_CAMPAIGN && etcd->leader == 0 &&
               lease_lives(world, asked->lease)) {
        etcd->leader = (uint64_t)++etcd->revision;
        etcd->leader_lease = asked->lease;
    }
    answer.leader = etcd->leader;
    answer.leader_lease = etcd->leader == 0 ? 0 : etcd->leader_lease;
    return answer;
}

/* --- masters ------------------------------------------------------------------------------------ */

static void check(struct world *world)
{
    int acting = 0;
    for (int i = 0; i < MASTERS; i++) {
        struct master *master = &world->masters[i];
        const struct election *election = &master->election;
        election_check(election);
        acting += election_may_act(election, clock_of(master, world->now_ns));
        world->suspended += election->reign != 0 &&
                            !election_may_act(election, clock_of(master, world->now_ns));
        if (election->reign != 0 && election->reign != master->reign_last) {
            cr_assert_gt(election->reign, master->reign_last, "a reign has come back");
            master->reign_last = election->reign;
            world->reigns++;
        }
    }
    world->overlaps += acting > 1;
}

static void go_on(struct world *world, int number)
{
    struct master *master = &world->masters[number];
    struct election_question asked;
    int64_t clock_ns = clock_of(master, world->now_ns);

    if (!world->calm && prng_chance(&world->prng, 200)) {
        election_resign(&master->election, clock_ns);
    }
    election_next(&master->election, clock_ns, &asked);
    struct event wake = {WAKE, 0, number, ++master->question, asked, {0}};
    master->asking = asked.type != ELECTION_WAIT;
    wake.at_ns = master->asking ? world->now_ns + TIMEOUT_NS : true_time_of(master, asked.until_ns);
    schedule(world, &wake);
    int64_t way_ns = delay(world);
    if (master->asking && way_ns >= 0) {
        struct event arrive = wake;
        arrive.type = ARRIVE;
        arrive.at_ns = world->now_ns + way_ns;
        schedule(world, &arrive);
    }
}

/* It stands still, and finds everything later. */
static bool postpone(struct world *world, struct event *event)
{
    struct master *master = &world->masters[event->master];
    if (!world->calm && prng_chance(&world->prng, 100)) {
        master->frozen_until_ns = world->now_ns + (int64_t)prng_below(&world->prng, 5000) * MS;
    }
    if (event->type == ARRIVE || world->now_ns >= master->frozen_until_ns) {
        return false;
    }
    event->at_ns = master->frozen_until_ns;
    return true;
}

static void handle(struct world *world, const struct event *event)
{
    struct master *master = &world->masters[event->master];
    const struct election_answer none = {0};

    if (event->type == ARRIVE) {
        struct event back = *event;
        int64_t way_ns = delay(world);
        back.type = ANSWER;
        back.answer = carry_out(world, &event->asked);
        back.at_ns = world->now_ns + way_ns;
        if (way_ns >= 0) {
            schedule(world, &back);
        }
        return;
    }
    if (event->question != master->question) {
        return; /* nobody waits for it any more */
    }
    if (master->asking) {
        election_answer(&master->election, clock_of(master, world->now_ns),
                        event->type == ANSWER ? &event->answer : &none);
    }
    go_on(world, event->master);
}

static void run_until(struct world *world, int64_t end_ns)
{
    for (;;) {
        struct event *first = &world->events[0];
        for (int i = 1; i < EVENTS_MAX; i++) {
            first = world->events[i].at_ns < first->at_ns ? &world->events[i] : first;
        }
        if (first->at_ns > end_ns) {
            world->now_ns = end_ns;
            return;
        }
        world->now_ns = first->at_ns > world->now_ns ? first->at_ns : world->now_ns;
        check(world); /* before it is changed, too: somebody's time may just have begun */
        if (!postpone(world, first)) {
            struct event event = *first;
            first->at_ns = NEVER;
            handle(world, &event);
            check(world);
        }
    }
}

static void begin(struct world *world, uint64_t seed, uint32_t rate_error_permille)
{
    struct election_settings settings;
    *world = (struct world){.prng = prng_of_seed(seed), .now_ns = 10000 * MS};
    election_settings_default(&settings);
    settings.rate_error_permille = rate_error_permille;
    for (int i = 0; i < EVENTS_MAX; i++) {
        world->events[i].at_ns = NEVER;
    }
    for (int i = 0; i < MASTERS; i++) {
        struct master *master = &world->masters[i];
        election_init(&master->election, &settings);
        master->rate_permille = (int64_t)prng_below(&world->prng, 91) - 45;
        master->offset_ns = (int64_t)prng_below(&world->prng, 1000) * 1000 * MS;
        go_on(world, i);
    }
}

static int acting_now(const struct world *world)
{
    for (int i = 0; i < MASTERS; i++) {
        if (election_may_act(&world->masters[i].election,
                             clock_of(&world->masters[i], world->now_ns))) {
            return i;
        }
    }
    return -1;
}

static struct world world;

Test(election_model, one_acts_at_a_time_and_in_the_end_one_does, .timeout = 300)
{
    int reigns = 0;
    int suspended = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        begin(&world, seed, 50);
        run_until(&world, 70000 * MS);
        world.calm = true;
        run_until(&world, world.now_ns + 10000 * MS);
        int leader = acting_now(&world);
        cr_assert_neq(leader, -1, "seed %d: nobody leads", (int)seed);
        for (int i = 0; i < 100; i++) {
            run_until(&world, world.now_ns + 50 * MS);
            cr_assert_eq(acting_now(&world), leader, "seed %d: it does not last", (int)seed);
        }
        cr_assert_eq(world.overlaps, 0, "seed %d: two act at once", (int)seed);
        reigns += world.reigns;
        suspended += world.suspended;
    }
    cr_assert_gt(reigns, 2000, "too few changes to show anything: %d", reigns);
    cr_assert_gt(suspended, 400, "nobody was ever suspended");
}

/* The same, had we taken clocks for equally fast: the model must find two who act at once. */
Test(election_model, without_regard_for_rates_it_would_be_found, .timeout = 300)
{
    int overlaps = 0;
    for (uint64_t seed = 0; seed < 400 && overlaps == 0; seed++) {
        begin(&world, seed, 0);
        run_until(&world, 70000 * MS);
        overlaps += world.overlaps;
    }
    cr_assert_gt(overlaps, 0);
}
