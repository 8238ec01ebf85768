/*
 * Balance against random clusters: servers of different size, zones, copies, loads, by seed.
 *
 * Promised, of every round: a split's rows ascend inside its tablet; nothing is decided twice, nor
 * about what is pinned or under way; a move makes the busier of its two servers less busy, never goes
 * where a copy is, and never takes a zone away; few are under way at once.  Of steady load: what is
 * decided ends, and the sum of squares of what servers use has fallen with every move.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <time.h>

#include "common/base/memory.h"
#include "common/base/prng.h"
#include "master/placement/balance.h"

#define SECOND_NS   INT64_C(1000000000)
#define SERVERS_MAX 12
#define TABLETS_MAX 120
#define STEADY      900

struct tablet {
    struct balance_tablet state;
    struct balance_detail detail;
    struct load_point points[LOAD_POINTS_MAX];
    char rows[LOAD_POINTS_MAX][24];
    char start[24];
    struct load_figures figures;
    uint32_t done_s; /* what is under way is done */
};

struct world {
    struct prng prng;
    struct balance_settings settings;
    struct balance_server_input servers[SERVERS_MAX];
    struct balance_server server_states[SERVERS_MAX];
    size_t server_count;
    struct balance_tablet_input inputs[TABLETS_MAX];
    struct tablet tablets[TABLETS_MAX];
    size_t tablet_count;
    struct arena arena;
    uint32_t second;
};

static void make_points(struct world *world, size_t index)
{
    struct tablet *tablet = &world->tablets[index];
    size_t count = prng_below(&world->prng, LOAD_POINTS_MAX + 1);
    uint64_t row = index * 1000;
    for (size_t i = 0; i < count;
         i++) { /* some of them outside: a report may be older than a split */
        row += 1 + prng_below(&world->prng, 60);
        snprintf(tablet->rows[i], sizeof tablet->rows[i], "%08lu", (unsigned long)row);
        tablet->points[i] = (struct load_point){
            bytes_of_text(tablet->rows[i]), prng_below(&world->prng, 1000),
            prng_below(&world->prng, 1000), prng_below(&world->prng, 900)};
    }
    tablet->detail = (struct balance_detail){
        .load = {.points = tablet->points,
                 .point_count = count,
                 .appended_permille = (uint32_t)prng_below(&world->prng, 1001)},
        .operations = 1000,
        .elapsed_ns = (uint64_t)SECOND_NS,
    };
}

static void make_load(struct world *world)
{
    for (size_t i = 0; i < world->tablet_count; i++) {
        uint64_t most = prng_chance(&world->prng, 10) ? 500000000 : 20000000;
        world->tablets[i].figures = (struct load_figures){
            .reads = 1000,
            .read_cpu_ns = prng_below(&world->prng, most),
            .write_cpu_ns = prng_below(&world->prng, most),
        };
    }
}

static void make_world(struct world *world, uint64_t seed)
{
    memset(world, 0, sizeof *world);
    world->prng = prng_of_seed(seed);
    balance_settings_default(&world->settings);
    world->server_count = 2 + prng_below(&world->prng, SERVERS_MAX - 1);
    world->tablet_count = 1 + prng_below(&world->prng, TABLETS_MAX);
    for (size_t i = 0; i < world->server_count; i++) {
        world->servers[i] = (struct balance_server_input){
            100 + i, &world->server_states[i], 1e9 * (double)(1 + prng_below(&world->prng, 4)),
            (uint32_t)prng_below(&world->prng, 3), !prng_chance(&world->prng, 12)};
    }
    for (size_t i = 0; i < world->tablet_count; i++) {
        struct balance_tablet_input *input = &world->inputs[i];
        if (i > 0) {
            snprintf(world->tablets[i].start, sizeof world->tablets[i].start, "%08lu",
                     (unsigned long)i * 1000);
        }
        *input = (struct balance_tablet_input){
            .tablet = i + 1,
            .table = 1 + i / 50,
            .range = {bytes_of_text(world->tablets[i].start), BYTES_EMPTY},
            .soft_limit_bytes = UINT64_C(1) << 29,
            .state = &world->tablets[i].state,
            .pinned = prng_chance(&world->prng, 20),
            .settled = true,
            .may_split = true,
            .may_merge = true,
            .may_move = !prng_chance(&world->prng, 20),
        };
        if (i > 0) {
            world->inputs[i - 1].range.end = input->range.start;
        }
        uint32_t copies = 1 + (uint32_t)prng_below(&world->prng, 3);
        copies = copies > world->server_count ? (uint32_t)world->server_count : copies;
        uint32_t first = (uint32_t)prng_below(&world->prng, world->server_count);
        for (uint32_t j = 0; j < copies; j++) {
            input->wanted.servers[j] = (first + j) % (uint32_t)world->server_count;
        }
        input->wanted.count = copies;
        input->wanted.leader = (uint32_t)prng_below(&world->prng, copies);
        input->now = input->wanted;
        make_points(world, i);
        input->detail = prng_chance(&world->prng, 8) ? NULL : &world->tablets[i].detail;
    }
    make_load(world);
    arena_init(&world->arena, 65536, SIZE_MAX);
}

/* --- what is promised -------------------------------------------------------------------------------- */

static double use_of(const struct world *world, uint32_t server)
{
    double load = 0;
    for (size_t i = 0; i < world->tablet_count; i++) {
        const struct balance_members *wanted = &world->inputs[i].wanted;
        const struct balance_rate *slow = &world->tablets[i].state.slow;
        for (uint32_t j = 0; j < wanted->count; j++) {
            if (wanted->servers[j] == server) {
                load += j == wanted->leader ? balance_cost(slow)
                                            : slow->write_cost * BALANCE_SECONDARY_SHARE;
            }
        }
    }
    return load / world->servers[server].capacity_ns;
}

static unsigned zones_of(const struct world *world, const struct balance_members *members)
{
    unsigned seen = 0;
    for (uint32_t i = 0; i < members->count; i++) {
        seen |= 1U << world->servers[members->servers[i]].zone;
    }
    return (unsigned)__builtin_popcount(seen);
}

static bool names(const struct balance_members *members, uint32_t server)
{
    for (uint32_t i = 0; i < members->count; i++) {
        if (members->servers[i] == server) {
            return true;
        }
    }
    return false;
}

static void check_split(const struct balance_tablet_input *input,
                        const struct balance_decision *decision)
{
    struct bytes before = input->range.start;
    cr_assert_geq(decision->row_count, 1);
    cr_assert_lt(decision->row_count, BALANCE_PIECES_MAX);
    for (size_t i = 0; i < decision->row_count; i++) {
        cr_assert_lt(bytes_compare(before, decision->rows[i]), 0);
        before = decision->rows[i];
    }
    cr_assert(input->range.end.size_bytes == 0 || bytes_compare(before, input->range.end) < 0);
}

static void check_move(struct world *world,
                       struct balance_tablet_input *input,
                       const struct balance_decision *decision)
{
    uint32_t from = (uint32_t)(decision->from - 100);
    uint32_t to = (uint32_t)(decision->to - 100);
    double from_before = use_of(world, from);
    double to_before = use_of(world, to);
    unsigned zones = zones_of(world, &input->wanted);

    cr_assert(world->servers[to].usable);
    cr_assert(names(&input->wanted, from));
    cr_assert_eq(names(&input->wanted, to), decision->kind == BALANCE_LEAD);
    for (uint32_t i = 0; i < input->wanted.count; i++) {
        if (decision->kind == BALANCE_LEAD && input->wanted.servers[i] == to) {
            input->wanted.leader = i;
        } else if (decision->kind == BALANCE_MOVE && input->wanted.servers[i] == from) {
            input->wanted.servers[i] = to;
        }
    }
    cr_assert_geq(zones_of(world, &input->wanted), zones);
    if (decision->reason == BALANCE_IMBALANCE) {
        cr_assert_lt(use_of(world, from), from_before);
        cr_assert_lt(use_of(world, to), from_before);
    } else {
        cr_assert_lt(to_before, from_before);
    }
}

static void check_under_way(const struct world *world)
{
    uint32_t moving[SERVERS_MAX] = {0};
    for (size_t i = 0; i < world->tablet_count; i++) {
        const struct balance_tablet_input *input = &world->inputs[i];
        for (uint32_t server = 0; server < world->server_count; server++) {
            bool leads = input->now.servers[input->now.leader] == server;
            bool shall = input->wanted.servers[input->wanted.leader] == server;
            moving[server] += names(&input->now, server) != names(&input->wanted, server) ||
                              leads != shall;
        }
    }
    for (uint32_t server = 0; server < world->server_count; server++) {
        cr_assert_leq(moving[server], 2 * world->settings.moves_per_server);
    }
}

static void check(struct world *world, const struct balance_decisions *decisions)
{
    bool decided[TABLETS_MAX + 1] = {false};
    for (size_t i = 0; i < decisions->count; i++) {
        const struct balance_decision *decision = &decisions->items[i];
        struct balance_tablet_input *input = &world->inputs[decision->tablet - 1];
        cr_assert_gt(strlen(decision->text), 10);
        cr_assert_not(input->pinned);
        cr_assert(input->settled);
        if (decision->kind == BALANCE_REFUSE) {
            continue;
        }
        cr_assert_not(decided[decision->tablet]);
        decided[decision->tablet] = true;
        if (decision->kind == BALANCE_SPLIT) {
            check_split(input, decision);
        } else if (decision->kind == BALANCE_MERGE) {
            cr_assert_eq(decision->right, decision->tablet + 1);
            cr_assert_eq(input[1].table, input->table);
            cr_assert_not(input[1].pinned);
            cr_assert_not(decided[decision->right]);
            decided[decision->right] = true;
        } else {
            check_move(world, input, decision);
        }
    }
    for (size_t i = 0; i < decisions->count; i++) {
        struct balance_tablet_input *input = &world->inputs[decisions->items[i].tablet - 1];
        if (decisions->items[i].kind != BALANCE_REFUSE) {
            input->settled = false;
            world->tablets[input - world->inputs].done_s = world->second + 1 +
                                                           (uint32_t)prng_below(&world->prng, 4);
        }
    }
    check_under_way(world);
}

/* --- the run ------------------------------------------------------------------------------------------ */

/* The number of decisions that were no refusals. */
static size_t step(struct world *world)
{
    struct balance_decisions decisions;
    size_t count = 0;
    int64_t now_ns = (int64_t)++world->second * SECOND_NS;

    for (size_t i = 0; i < world->tablet_count; i++) {
        struct tablet *tablet = &world->tablets[i];
        balance_tablet_measure(&tablet->state, &tablet->figures, 50, (uint64_t)SECOND_NS, now_ns);
        if (!world->inputs[i].settled && tablet->done_s <= world->second) {
            world->inputs[i].now = world->inputs[i].wanted;
            world->inputs[i].settled = true;
        }
    }
    arena_reset(&world->arena);
    const struct balance_snapshot snapshot = {
        world->servers, world->server_count, world->inputs, world->tablet_count, 1000, now_ns};
    cr_assert_eq(balance_round(&world->settings, &snapshot, &world->arena, &decisions), STATUS_OK);
    check(world, &decisions);
    for (size_t i = 0; i < decisions.count; i++) {
        count += decisions.items[i].kind == BALANCE_LEAD || decisions.items[i].kind == BALANCE_MOVE;
    }
    return count;
}

Test(balance_model, rounds_keep_what_is_promised_and_steady_load_comes_to_rest, .timeout = 300)
{
    size_t moves = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct world *world = memory_allocate_zeroed(1, sizeof *world);
        size_t late = 0;
        make_world(world, seed);
        for (int second = 0; second < STEADY; second++) {
            size_t count = step(world);
            moves += count;
            late += second >= STEADY - 300 ? count : 0;
        }
        cr_assert_eq(late, 0, "seed %lu: %zu moves under steady load", (unsigned long)seed, late);
        make_load(world);
        for (int second = 0; second < 100; second++) {
            moves += step(world);
        }
        arena_deinit(&world->arena);
        memory_free(world);
    }
    printf("%zu moves\n", moves);
    cr_assert_gt(moves, 1000);
}

/* --- how long it takes --------------------------------------------------------------------------------- */

#define MANY_SERVERS 1000
#define MANY_TABLETS 100000

Test(balance_model, a_round_of_a_thousand_servers_is_quick, .timeout = 300)
{
    struct balance_server_input *servers = memory_allocate_zeroed(MANY_SERVERS, sizeof *servers);
    struct balance_server *server_states = memory_allocate_zeroed(MANY_SERVERS,
                                                                  sizeof *server_states);
    struct balance_tablet_input *inputs = memory_allocate_zeroed(MANY_TABLETS, sizeof *inputs);
    struct balance_tablet *states = memory_allocate_zeroed(MANY_TABLETS, sizeof *states);
    struct prng prng = prng_of_seed(1);
    struct balance_settings settings;
    struct balance_decisions decisions;
    struct arena arena;
    double worst_ms = 0;
    size_t decided = 0;

    balance_settings_default(&settings);
    arena_init(&arena, 1 << 20, SIZE_MAX);
    for (uint32_t i = 0; i < MANY_SERVERS; i++) {
        servers[i] = (struct balance_server_input){i + 1, &server_states[i], 1e9, i % 3, true,
                                                   false};
    }
    for (uint32_t i = 0; i < MANY_TABLETS; i++) {
        inputs[i] = (struct balance_tablet_input){
            .tablet = i + 1,
            .table = i + 1, /* so nothing is merged */
            .state = &states[i],
            .now = {.servers = {i % MANY_SERVERS, (i + 1) % MANY_SERVERS, (i + 2) % MANY_SERVERS},
                    .count = 3},
            .wanted = {.servers = {i % MANY_SERVERS, (i + 1) % MANY_SERVERS,
                                   (i + 2) % MANY_SERVERS},
                       .count = 3},
            .settled = true,
            .may_split = true,
            .may_move = true,
        };
    }
    for (int64_t second = 1; second <= 20; second++) {
        for (uint32_t i = 0; i < MANY_TABLETS; i++) {
            const struct load_figures figures = {
                .reads = 100,
                .read_cpu_ns = prng_below(&prng, i % MANY_SERVERS < 50 ? 20000000 : 4000000)};
            balance_tablet_measure(&states[i], &figures, 10, (uint64_t)SECOND_NS,
                                   second * SECOND_NS);
        }
        const struct balance_snapshot snapshot = {servers,      MANY_SERVERS, inputs,
                                                  MANY_TABLETS, 1000000,      second * SECOND_NS};
        struct timespec begun;
        struct timespec ended;
        arena_reset(&arena);
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
        cr_assert_eq(balance_round(&settings, &snapshot, &arena, &decisions), STATUS_OK);
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
        double ms = (double)(ended.tv_sec - begun.tv_sec) * 1e3 +
                    (double)(ended.tv_nsec - begun.tv_nsec) / 1e6;
        worst_ms = ms > worst_ms ? ms : worst_ms;
        decided += decisions.count;
    }
    printf("%.1f ms a round, at most; %zu decisions\n", worst_ms, decided);
    cr_assert_gt(decided, 0);
    cr_assert_lt(worst_ms, 1000); /* 100 by itself: sanitizers, and other work, are slower */
    arena_deinit(&arena);
    memory_free(states);
    memory_free(inputs);
    memory_free(server_states);
    memory_free(servers);
}
