/*
 * A few servers and tablets with a load that the test says, and rounds of balance_round() a second
 * apart; LEAD and MOVE are done at once, or never (slow).  Splits and merges are counted only.
 */
#ifndef TESTS_SUPPORT_BALANCE_FIXTURE_H
#define TESTS_SUPPORT_BALANCE_FIXTURE_H

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "master/placement/balance.h"

#define FIXTURE_SECOND_NS   INT64_C(1000000000)
#define FIXTURE_TABLETS_MAX 64
#define FIXTURE_SERVERS_MAX 16

struct fixture_detail {
    struct balance_detail detail;
    struct load_point points[LOAD_POINTS_MAX];
    struct load_key keys[LOAD_KEYS_MAX];
    char rows[LOAD_POINTS_MAX][24];
};

struct fixture {
    struct balance_settings settings;
    struct balance_server_input servers[FIXTURE_SERVERS_MAX];
    struct balance_server server_states[FIXTURE_SERVERS_MAX];
    size_t server_count;
    struct balance_tablet_input tablets[FIXTURE_TABLETS_MAX];
    struct balance_tablet states[FIXTURE_TABLETS_MAX];
    struct fixture_detail details[FIXTURE_TABLETS_MAX];
    double costs[FIXTURE_TABLETS_MAX];  /* reads, in percent of a server's time */
    double writes[FIXTURE_TABLETS_MAX]; /* the same */
    char starts[FIXTURE_TABLETS_MAX][16];
    size_t tablet_count;
    size_t tablets_max;    /* 0 = more than a test has */
    uint64_t observations; /* a second */
    int64_t now_s;
    bool slow;
    struct arena arena;
    struct balance_decision last; /* but a refusal is last only when there was nothing else */
    char last_rows[BALANCE_PIECES_MAX][64];
    uint32_t refusals[BALANCE_REASON_LAST + 1];
    uint32_t splits, merges, leads, moves;
};

static inline void fixture_init(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    balance_settings_default(&fixture->settings);
    arena_init(&fixture->arena, 65536, SIZE_MAX);
    fixture->observations = 100;
    fixture->now_s = 100;
}

static inline void fixture_deinit(struct fixture *fixture)
{
    arena_deinit(&fixture->arena);
}

/* Numbered from 1; each of one processor, in a zone of its own number. */
static inline void fixture_servers(struct fixture *fixture, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fixture->servers[i] = (struct balance_server_input){
            i + 1, &fixture->server_states[i], 1e9, (uint32_t)i, true, false};
    }
    fixture->server_count = count;
}

static inline void fixture_tablet(
    struct fixture *fixture, const char *start, uint32_t server, double cost, double writes)
{
    size_t at = fixture->tablet_count++;
    cr_assert_lt(at, FIXTURE_TABLETS_MAX);
    snprintf(fixture->starts[at], sizeof fixture->starts[at], "%s", start);
    fixture->costs[at] = cost;
    fixture->writes[at] = writes;
    fixture->tablets[at] = (struct balance_tablet_input){
        .tablet = at + 1,
        .table = 1,
        .range = {bytes_of_text(fixture->starts[at]), BYTES_EMPTY},
        .soft_limit_bytes = UINT64_C(1) << 29,
        .state = &fixture->states[at],
        .wanted = {.servers = {server}, .count = 1},
        .now = {.servers = {server}, .count = 1},
        .settled = true,
        .may_split = true,
        .may_merge = true,
        .may_move = true,
    };
    if (at > 0) {
        fixture->tablets[at - 1].range.end = fixture->tablets[at].range.start;
    }
}

static inline void fixture_member(struct fixture *fixture, size_t tablet, uint32_t server)
{
    struct balance_members *wanted = &fixture->tablets[tablet].wanted;
    wanted->servers[wanted->count++] = server;
    fixture->tablets[tablet].now = *wanted;
}

/* Points "row00", "row01" ... of equal load; `crossing` of a thousand operations cross each. */
static inline void fixture_points(struct fixture *fixture,
                                  size_t tablet,
                                  size_t count,
                                  uint64_t crossing)
{
    struct fixture_detail *detail = &fixture->details[tablet];
    for (size_t i = 0; i < count; i++) {
        snprintf(detail->rows[i], sizeof detail->rows[i], "row%02zu", i);
        detail->points[i] = (struct load_point){bytes_of_text(detail->rows[i]), 100, 100, crossing};
    }
    detail->detail = (struct balance_detail){
        .load = {.points = detail->points, .point_count = count, .keys = detail->keys},
        .operations = 1000,
        .elapsed_ns = 1000000000,
    };
    fixture->tablets[tablet].detail = &detail->detail;
}

/* Three servers, and one tablet on the first that is read for so many percent of its time, from `rows` rows alike. */
static inline void fixture_one_hot(struct fixture *fixture, double percent, size_t rows)
{
    fixture_servers(fixture, 3);
    fixture_tablet(fixture, "", 0, percent, 0);
    fixture_points(fixture, 0, rows, 0);
}

static inline struct balance_snapshot fixture_snapshot(const struct fixture *fixture)
{
    return (struct balance_snapshot){fixture->servers,
                                     fixture->server_count,
                                     fixture->tablets,
                                     fixture->tablet_count,
                                     fixture->tablets_max > 0 ? fixture->tablets_max : 1000,
                                     fixture->now_s * FIXTURE_SECOND_NS};
}

static inline void fixture_measure(struct fixture *fixture)
{
    for (size_t i = 0; i < fixture->tablet_count; i++) {
        const struct load_figures figures = {
            .reads = 10000,
            .read_cpu_ns = (uint64_t)(fixture->costs[i] * 1e7),
            .write_cpu_ns = (uint64_t)(fixture->writes[i] * 1e7),
        };
        if (fixture->costs[i] + fixture->writes[i] > 0) {
            balance_tablet_measure(&fixture->states[i], &figures, fixture->observations, 1000000000,
                                   fixture->now_s * FIXTURE_SECOND_NS);
        }
    }
}

static inline void fixture_do(struct fixture *fixture, const struct balance_decision *decision)
{
    struct balance_tablet_input *tablet = &fixture->tablets[decision->tablet - 1];
    fixture->splits += decision->kind == BALANCE_SPLIT;
    fixture->merges += decision->kind == BALANCE_MERGE;
    fixture->leads += decision->kind == BALANCE_LEAD;
    fixture->moves += decision->kind == BALANCE_MOVE;
    for (uint32_t i = 0; i < tablet->wanted.count; i++) {
        if (decision->kind == BALANCE_LEAD && tablet->wanted.servers[i] + 1 == decision->to) {
            tablet->wanted.leader = i;
        } else if (decision->kind == BALANCE_MOVE &&
                   tablet->wanted.servers[i] + 1 == decision->from) {
            tablet->wanted.servers[i] = (uint32_t)decision->to - 1;
        }
    }
    if (decision->kind == BALANCE_MERGE) {
        fixture->tablets[decision->right - 1].settled = false;
        tablet->settled = false;
    } else if (decision->kind == BALANCE_SPLIT) {
        tablet->state->split_ns = fixture->now_s * FIXTURE_SECOND_NS;
    } else if (fixture->slow &&
               (decision->kind == BALANCE_LEAD || decision->kind == BALANCE_MOVE)) {
        tablet->settled = false;
    } else {
        tablet->now = tablet->wanted;
    }
}

/* So many seconds; how many decisions were made in them. */
static inline size_t fixture_pass(struct fixture *fixture, int seconds)
{
    size_t count = 0;
    for (int second = 0; second < seconds; second++) {
        struct balance_decisions decisions;
        fixture->now_s++;
        fixture_measure(fixture);
        arena_reset(&fixture->arena);
        const struct balance_snapshot snapshot = fixture_snapshot(fixture);
        cr_assert_eq(balance_round(&fixture->settings, &snapshot, &fixture->arena, &decisions),
                     STATUS_OK);
        for (size_t i = 0; i < decisions.count; i++) {
            const struct balance_decision *decision = &decisions.items[i];
            fixture->last = *decision;
            for (size_t j = 0; j < decision->row_count; j++) {
                snprintf(fixture->last_rows[j], sizeof fixture->last_rows[j], "%.*s",
                         (int)decision->rows[j].size_bytes, (const char *)decision->rows[j].data);
            }
            if (decision->kind == BALANCE_REFUSE) {
                fixture->refusals[decision->reason]++;
            }
            fixture_do(fixture, decision);
        }
        count += decisions.count;
    }
    return count;
}

/* --- a test's own ------------------------------------------------------------------------------ */

__attribute__((unused)) static struct fixture fixture;

__attribute__((unused)) static void begin(void)
{
    fixture_init(&fixture);
}

__attribute__((unused)) static void end(void)
{
    fixture_deinit(&fixture);
}

#endif /* TESTS_SUPPORT_BALANCE_FIXTURE_H */
