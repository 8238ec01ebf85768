#include "tests/sim/placement/world.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

#define NOISE_PERCENT  3 /* of what is measured */
#define DETAIL_SHARE   0.02
#define SPLIT_SECONDS  1
#define LEAD_SECONDS   1
#define MOVE_SECONDS   2
#define MERGE_SECONDS  4
#define UNDONE_SECONDS 600

static void *grown(void *items, size_t count, size_t *capacity, size_t item_bytes)
{
    if (count < *capacity) {
        return items;
    }
    *capacity = *capacity == 0 ? 64 : *capacity * 2;
    items = memory_resize(items, *capacity * item_bytes);
    ASSERT(items != NULL);
    return items;
}

static uint8_t *copy_of(struct bytes row)
{
    uint8_t *copy = memory_allocate(row.size_bytes + 1);
    ASSERT(copy != NULL);
    if (row.size_bytes > 0) {
        memcpy(copy, row.data, row.size_bytes);
    }
    return copy;
}

static void fault(struct world *world, const char *text)
{
    if (world->report.faults++ == 0) {
        (void)snprintf(world->report.fault, sizeof world->report.fault, "second %u: %s",
                       world->report.seconds, text);
    }
}

/* --- load ----------------------------------------------------------------------------------------- */

void points_clear(struct world *world)
{
    arena_reset(&world->points.arena);
    world->points.count = 0;
}

void points_add(struct world *world,
                const char *row,
                double reads,
                double writes,
                double cost_ns,
                uint32_t stream)
{
    struct points *points = &world->points;
    points->items = grown(points->items, points->count, &points->capacity, sizeof *points->items);
    points->items[points->count++] = (struct point){
        .row = arena_copy(&points->arena, bytes_of_text(row)),
        .read_cost = reads * cost_ns,
        .write_cost = writes * cost_ns,
        .operations = reads + writes,
        .stream = stream,
    };
}

static int compare_points(const void *a, const void *b)
{
    return bytes_compare(((const struct point *)a)->row, ((const struct point *)b)->row);
}

void points_sort(struct world *world)
{
    qsort(world->points.items, world->points.count, sizeof *world->points.items, compare_points);
}

static struct bytes start_of(const struct world *world, size_t index)
{
    return index < world->tablet_count
               ? (struct bytes){world->tablets[index].start, world->tablets[index].start_bytes}
               : BYTES_EMPTY;
}

static struct row_range range_of(const struct world *world, size_t index)
{
    return (struct row_range){start_of(world, index), start_of(world, index + 1)};
}

static double noisy(struct world *world, double value)
{
    double percent = (double)prng_below(&world->prng, 2000 * NOISE_PERCENT + 1) / 1000;
    return value * (100 - NOISE_PERCENT + percent) / 100;
}

/* Which points are in which tablet, and what they ask of the servers. */
static void place_load(struct world *world)
{
    size_t at = 0;

    for (uint32_t i = 0; i < world->server_count; i++) {
        world->servers[i].demand_ns = 0;
    }
    for (size_t i = 0; i < world->tablet_count; i++) {
        struct tablet *tablet = &world->tablets[i];
        struct bytes end = start_of(world, i + 1);
        tablet->first = at;
        tablet->read_ns = 0;
        tablet->write_ns = 0;
        tablet->operations = 0;
        for (; at < world->points.count &&
               (end.size_bytes == 0 || bytes_compare(world->points.items[at].row, end) < 0);
             at++) {
            tablet->read_ns += world->points.items[at].read_cost;
            tablet->write_ns += world->points.items[at].write_cost;
            tablet->operations += world->points.items[at].operations;
        }
        tablet->count = at - tablet->first;
        for (uint32_t j = 0; j < tablet->now.count; j++) {
            world->servers[tablet->now.servers[j]].demand_ns += j == tablet->now.leader
                                                                    ? tablet->read_ns +
                                                                          tablet->write_ns
                                                                    : tablet->write_ns *
                                                                          BALANCE_SECONDARY_SHARE;
        }
    }
}

static void measure(struct world *world, int64_t now_ns)
{
    for (size_t i = 0; i < world->tablet_count; i++) {
        struct tablet *tablet = &world->tablets[i];
        const struct server *server = &world->servers[tablet->now.servers[tablet->now.leader]];
        if (tablet->count == 0) {
            continue;
        }
        double part = server->demand_ns > server->capacity_ns
                          ? server->capacity_ns / server->demand_ns
                          : 1;
        double busy = (tablet->read_ns + tablet->write_ns) * part / server->capacity_ns;
        const struct load_figures figures = {
            .reads = (uint64_t)(tablet->operations * part),
            .read_cpu_ns = (uint64_t)noisy(world, tablet->read_ns * part),
            .write_cpu_ns = (uint64_t)noisy(world, tablet->write_ns * part),
        };
        balance_tablet_measure(&tablet->state, &figures, busy > DETAIL_SHARE ? 200 : 0, SECOND_NS,
                               now_ns);
    }
}

/* --- what a report would say of where its load is -------------------------------------------------- */

static void put_point(struct world *world, struct load_point *point, const struct point *of)
{
    if (point->row.size_bytes == 0) {
        point->row = of->row;
    }
    point->reads += (uint64_t)(of->read_cost / 1000);
    point->writes += (uint64_t)(of->write_cost / 1000);
    point->crossing = (uint64_t)(world->scenario->crossing * 1e6);
}

static uint32_t appended_permille(const struct world *world, const struct tablet *tablet)
{
    const struct point *items = world->points.items;
    uint32_t stream = items[tablet->first + tablet->count - 1].stream;
    double appended = 0;

    for (size_t i = tablet->first; stream != 0 && i < tablet->first + tablet->count; i++) {
        appended += items[i].stream == stream ? items[i].write_cost : 0;
    }
    return tablet->write_ns > 0 ? (uint32_t)(appended / tablet->write_ns * 1000) : 0;
}

static const struct balance_detail *detail_of(struct world *world, const struct tablet *tablet)
{
    struct balance_detail *detail = arena_allocate_array(&world->arena, 1, sizeof *detail);
    struct load_point *points = arena_allocate_array(&world->arena, LOAD_POINTS_MAX,
                                                     sizeof *points);
    struct load_key *keys = arena_allocate_array(&world->arena, 1, sizeof *keys);
    const struct point *items = world->points.items + tablet->first;
    double all = tablet->read_ns + tablet->write_ns;
    double so_far = 0;
    size_t popular = 0;
    size_t count = 0;

    ASSERT(detail != NULL && points != NULL && keys != NULL);
    memset(points, 0, LOAD_POINTS_MAX * sizeof *points);
    for (size_t i = 0; i < tablet->count; i++) {
        double cost = items[i].read_cost + items[i].write_cost;
        if (count == 0 ||
            (so_far >= all * (double)count / LOAD_POINTS_MAX && count < LOAD_POINTS_MAX)) {
            count++;
        }
        put_point(world, &points[count - 1], &items[i]);
        so_far += cost;
        popular = cost > items[popular].read_cost + items[popular].write_cost ? i : popular;
    }
    keys[0] = (struct load_key){items[popular].row, (uint64_t)(items[popular].read_cost / 1000),
                                (uint64_t)(items[popular].write_cost / 1000)};
    *detail = (struct balance_detail){
        .load = {points, count, keys, 1, 200, appended_permille(world, tablet)},
        .operations = 1000000,
        .elapsed_ns = SECOND_NS,
    };
    return detail;
}

/* --- what is under way ------------------------------------------------------------------------------ */

static void split(struct world *world, size_t index, struct bytes row, bool ahead, int64_t now_ns)
{
    double reads = 0.5;
    double writes = 0.5;
    struct row_range range = range_of(world, index);

    if (bytes_compare(row, range.start) <= 0 ||
        (range.end.size_bytes > 0 && bytes_compare(row, range.end) >= 0)) {
        fault(world, "a split at a row outside");
        return;
    }
    world->tablets = grown(world->tablets, world->tablet_count + 1, &world->tablet_capacity,
                           sizeof *world->tablets);
    struct tablet *left = &world->tablets[index];
    if (left->count > 0) {
        cut_shares_before(detail_of(world, left), row, &reads, &writes);
    }
    memmove(left + 2, left + 1, (world->tablet_count - index - 1) * sizeof *left);
    world->tablet_count++;
    const struct balance_tablet parent = left->state;
    left[1] = *left;
    left[1].number = ++world->last_number;
    left[1].start = copy_of(row);
    left[1].start_bytes = row.size_bytes;
    left->number = ++world->last_number;
    left->count = 0; /* until load is placed again */
    left[1].count = 0;
    balance_tablet_split(&parent, reads, writes, ahead, now_ns, &left->state, &left[1].state);
}

static void finish_split(struct world *world, size_t index, int64_t now_ns)
{
    struct tablet tablet = world->tablets[index];

    world->tablets[index].doing = 0;
    world->tablets[index].row_count = 0;
    for (size_t i = tablet.row_count; i > 0;
         i--) { /* from the right: the left one keeps its place */
        split(world, index, tablet.rows[i - 1], tablet.ahead, now_ns);
        memory_free((void *)(uintptr_t)tablet.rows[i - 1].data);
        place_load(world);
    }
}

static void finish_merge(struct world *world, size_t index)
{
    struct tablet *left = &world->tablets[index];
    struct balance_tablet merged;

    balance_tablet_merge(&left->state, &left[1].state, &merged);
    left->state = merged;
    left->number = ++world->last_number;
    left->doing = 0;
    memory_free(left[1].start);
    memmove(left + 1, left + 2, (world->tablet_count - index - 2) * sizeof *left);
    world->tablet_count--;
}

static void finish(struct world *world, uint32_t second, int64_t now_ns)
{
    bool changed = false;
    for (size_t i = 0; i < world->tablet_count; i++) {
        struct tablet *tablet = &world->tablets[i];
        if (tablet->doing == 0 || tablet->done > second) {
            continue;
        }
        if (tablet->doing == BALANCE_SPLIT) {
            finish_split(world, i, now_ns);
        } else if (tablet->doing == BALANCE_MERGE) {
            finish_merge(world, i);
        } else {
            tablet->now = tablet->wanted;
            tablet->doing = 0;
        }
        changed = true;
    }
    if (changed) {
        place_load(world);
    }
}

/* --- deciding, and doing ---------------------------------------------------------------------------- */

static struct balance_snapshot snapshot_of(struct world *world, int64_t now_ns)
{
    struct balance_server_input *servers = arena_allocate_array(&world->arena, world->server_count,
                                                                sizeof *servers);
    struct balance_tablet_input *tablets = arena_allocate_array(&world->arena, world->tablet_count,
                                                                sizeof *tablets);
    ASSERT(servers != NULL && tablets != NULL);
    for (uint32_t i = 0; i < world->server_count; i++) {
        struct server *server = &world->servers[i];
        servers[i] = (struct balance_server_input){
            i + 1, &server->state, server->capacity_ns, server->zone, server->usable, false};
    }
    for (size_t i = 0; i < world->tablet_count; i++) {
        struct tablet *tablet = &world->tablets[i];
        double capacity_ns = world->servers[tablet->now.servers[tablet->now.leader]].capacity_ns;
        bool busy = tablet->count > 0 &&
                    balance_cost(&tablet->state.quick) > capacity_ns * DETAIL_SHARE;
        tablets[i] = (struct balance_tablet_input){
            .tablet = tablet->number,
            .table = 1,
            .range = range_of(world, i),
            .size_bytes = 1,
            .soft_limit_bytes = UINT64_C(1) << 29,
            .state = &tablet->state,
            .detail = busy ? detail_of(world, tablet) : NULL,
            .now = tablet->now,
            .wanted = tablet->wanted,
            .settled = tablet->doing == 0,
            .may_split = true,
            .may_merge = true,
            .may_move = true,
        };
    }
    return (struct balance_snapshot){
        servers, world->server_count, tablets, world->tablet_count, 1000000, now_ns};
}

static size_t find(const struct world *world, uint64_t number)
{
    for (size_t i = 0; i < world->tablet_count; i++) {
        if (world->tablets[i].number == number) {
            return i;
        }
    }
    return world->tablet_count;
}

static void note_moved(
    struct world *world, const struct tablet *tablet, uint32_t from, uint32_t to, uint32_t second)
{
    struct bytes start = {tablet->start, tablet->start_bytes};

    for (size_t i = world->moved_count; i > 0; i--) {
        const struct moved *before = &world->moved[i - 1];
        if (bytes_equal(before->start, start)) {
            world->report.undone += before->from == to && before->to == from &&
                                    second - before->second < UNDONE_SECONDS;
            break;
        }
    }
    world->moved = grown(world->moved, world->moved_count, &world->moved_capacity,
                         sizeof *world->moved);
    world->moved[world->moved_count++] = (struct moved){
        second, from, to, {copy_of(start), start.size_bytes}};
}

static void move(struct world *world,
                 struct tablet *tablet,
                 const struct balance_decision *decision)
{
    uint32_t from = (uint32_t)decision->from - 1;
    uint32_t to = (uint32_t)decision->to - 1;

    for (uint32_t i = 0; i < tablet->wanted.count; i++) {
        if (decision->kind == BALANCE_LEAD && tablet->wanted.servers[i] == to) {
            tablet->wanted.leader = i;
        } else if (decision->kind == BALANCE_MOVE && tablet->wanted.servers[i] == to) {
            fault(world, "a replica goes where there is one");
        } else if (decision->kind == BALANCE_MOVE && tablet->wanted.servers[i] == from) {
            tablet->wanted.servers[i] = to;
        }
    }
    note_moved(world, tablet, from, to, world->report.seconds);
}

static void perform(struct world *world, const struct balance_decision *decision, uint32_t second)
{
    struct world_report *report = &world->report;
    size_t index = find(world, decision->tablet);
    struct tablet *tablet = &world->tablets[index];

    if (decision->kind == BALANCE_REFUSE) {
        report->refusals++;
        report->refused[decision->reason]++;
        return;
    }
    ASSERT(index < world->tablet_count);
    if (tablet->doing != 0) {
        fault(world, "decided while something is under way");
        return;
    }
    report->last_decision = second;
    tablet->doing = decision->kind;
    if (decision->kind == BALANCE_SPLIT) {
        tablet->done = second + SPLIT_SECONDS + (uint32_t)decision->row_count / 4;
        tablet->ahead = decision->reason == BALANCE_AHEAD;
        tablet->row_count = decision->row_count;
        for (size_t i = 0; i < decision->row_count; i++) {
            tablet->rows[i] = (struct bytes){copy_of(decision->rows[i]),
                                             decision->rows[i].size_bytes};
        }
        report->splits += (uint32_t)decision->row_count;
        report->ahead += tablet->ahead;
        report->split_for[decision->reason]++;
    } else if (decision->kind == BALANCE_MERGE) {
        tablet->done = second + MERGE_SECONDS;
        tablet[1].doing = BALANCE_MERGE;
        tablet[1].done = UINT32_MAX;
        report->merges++;
    } else {
        tablet->done = second + (decision->kind == BALANCE_LEAD ? LEAD_SECONDS : MOVE_SECONDS);
        report->leads += decision->kind == BALANCE_LEAD;
        report->moves += decision->kind == BALANCE_MOVE;
        move(world, tablet, decision);
    }
}

/* --- how even it is ---------------------------------------------------------------------------------- */

static double square_root(double value)
{
    double root = value > 1 ? value : 1;
    for (int i = 0; i < 64 && value > 0; i++) {
        root = (root + value / root) / 2;
    }
    return value > 0 ? root : 0;
}

static void look(struct world *world, uint32_t second)
{
    struct world_report *report = &world->report;
    double sum = 0;
    double squares = 0;
    double busiest = 0;
    double count = 0;

    for (uint32_t i = 0; i < world->server_count; i++) {
        double use = world->servers[i].demand_ns / world->servers[i].capacity_ns;
        if (world->servers[i].usable) {
            sum += use;
            squares += use * use;
            busiest = use > busiest ? use : busiest;
            count++;
        }
    }
    double mean = sum / count;
    report->busiest = mean > 0 ? busiest / mean : 1;
    report->scatter = mean > 0 ? square_root(squares / count - mean * mean) / mean : 0;
    if (second == 1) {
        report->first_busiest = report->busiest;
        report->first_scatter = report->scatter;
    }
    if (report->busiest > UNEVEN) {
        report->last_uneven = second;
    }
    report->tablets = world->tablet_count;
}

/* --- life -------------------------------------------------------------------------------------------- */

void world_add_servers(struct world *world, uint32_t count)
{
    world->servers = memory_resize(world->servers,
                                   (world->server_count + count) * sizeof *world->servers);
    ASSERT(world->servers != NULL);
    for (uint32_t i = 0; i < count; i++) {
        world->servers[world->server_count + i] = (struct server){
            .capacity_ns = 1e9, .zone = (world->server_count + i) % 3, .usable = true};
    }
    world->server_count += count;
}

void world_drain(struct world *world, uint32_t server)
{
    uint32_t next = server;
    world->servers[server].usable = false;
    for (size_t i = 0; i < world->tablet_count; i++) {
        struct tablet *tablet = &world->tablets[i];
        for (uint32_t j = 0; j < tablet->wanted.count; j++) {
            while (tablet->wanted.servers[j] == server) {
                next = (next + 1) % world->server_count;
                tablet->wanted.servers[j] = world->servers[next].usable ? next : server;
            }
        }
        if (tablet->doing != BALANCE_SPLIT && tablet->doing != BALANCE_MERGE) {
            tablet->now = tablet->wanted;
            tablet->doing = 0;
        }
    }
}

void world_init(struct world *world, const struct scenario *scenario, uint64_t seed)
{
    char row[128] = "";

    *world = (struct world){.scenario = scenario, .prng = prng_of_seed(seed)};
    balance_settings_default(&world->settings);
    arena_init(&world->points.arena, 1 << 20, SIZE_MAX);
    arena_init(&world->arena, 1 << 20, SIZE_MAX);
    world_add_servers(world, scenario->servers);
    world->tablet_capacity = scenario->tablets + 64;
    world->tablets = memory_allocate_zeroed(world->tablet_capacity, sizeof *world->tablets);
    ASSERT(world->tablets != NULL);
    for (uint32_t i = 0; i < scenario->tablets; i++) {
        struct tablet *tablet = &world->tablets[world->tablet_count++];
        if (i > 0) {
            scenario->start_row(i, scenario->tablets, row, sizeof row);
        }
        tablet->number = ++world->last_number;
        tablet->start = copy_of(bytes_of_text(row));
        tablet->start_bytes = strlen(row);
        tablet->now.count = scenario->replicas;
        for (uint32_t j = 0; j < scenario->replicas; j++) {
            tablet->now.servers[j] = (i + j) % scenario->servers;
        }
        tablet->wanted = tablet->now;
    }
}

void world_deinit(struct world *world)
{
    for (size_t i = 0; i < world->tablet_count; i++) {
        memory_free(world->tablets[i].start);
        for (size_t j = 0; j < world->tablets[i].row_count; j++) {
            memory_free((void *)(uintptr_t)world->tablets[i].rows[j].data);
        }
    }
    for (size_t i = 0; i < world->moved_count; i++) {
        memory_free((void *)(uintptr_t)world->moved[i].start.data);
    }
    memory_free(world->moved);
    memory_free(world->tablets);
    memory_free(world->servers);
    memory_free(world->points.items);
    arena_deinit(&world->points.arena);
    arena_deinit(&world->arena);
}

void world_step(struct world *world, uint32_t second)
{
    int64_t now_ns = (int64_t)second * SECOND_NS;
    struct balance_decisions decisions;

    arena_reset(&world->arena);
    world->report.seconds = second;
    world->scenario->load(world, second);
    if (world->scenario->event != NULL) {
        world->scenario->event(world, second);
    }
    place_load(world);
    finish(world, second, now_ns);
    measure(world, now_ns);
    const struct balance_snapshot snapshot = snapshot_of(world, now_ns);
    double begun_ms = world->clock_ms();
    ASSERT(balance_round(&world->settings, &snapshot, &world->arena, &decisions) == STATUS_OK);
    double round_ms = world->clock_ms() - begun_ms;
    world->report.round_ms_max = round_ms > world->report.round_ms_max ? round_ms
                                                                       : world->report.round_ms_max;
    world->report.round_ms_sum += round_ms;
    look(world, second);
    for (size_t i = 0; i < decisions.count; i++) {
        perform(world, &decisions.items[i], second);
    }
}
