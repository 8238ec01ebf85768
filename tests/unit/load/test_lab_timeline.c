/* The lab's maps of tablets, what becomes of them, the shares they take, and what is frequent. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/load/core/random.h"
#include "client/load/lab/core/frequent.h"
#include "client/load/lab/core/timeline.h"

enum {
    TABLETS_MAX = 64
};

/* A table that is changed step by step: tablets between letters of keys "0000" to "9999". */
struct model {
    size_t count;
    uint64_t next;
    uint64_t numbers[TABLETS_MAX];
    uint64_t servers[TABLETS_MAX];
    uint64_t others[TABLETS_MAX]; /* 0, or a server that has a second copy */
    unsigned starts[TABLETS_MAX]; /* the first is 0, written as "" */
};

static void key_text(unsigned start, char out[8])
{
    (void)snprintf(out, 8, start == 0 ? "" : "%04u", start);
}

static struct lab_map *map_of(const struct model *model)
{
    struct edubba_tablet_replicas tablets[TABLETS_MAX] = {0};
    struct edubba_replica copies[TABLETS_MAX][2];
    char keys[TABLETS_MAX + 1][8] = {{0}};
    for (size_t i = 0; i < model->count; i++) {
        key_text(model->starts[i], keys[i]);
    }
    for (size_t i = 0; i < model->count; i++) {
        tablets[i].number = model->numbers[i];
        copies[i][0] = (struct edubba_replica){
            .server = model->servers[i], .is_member = true, .is_primary = true, .is_wanted = true};
        copies[i][1] = (struct edubba_replica){
            .server = model->others[i], .is_member = true, .is_wanted = true};
        tablets[i].state = "serving";
        tablets[i].replicas = copies[i];
        tablets[i].replica_count = model->others[i] == 0 ? 1 : 2;
        tablets[i].start = edubba_bytes_of_text(keys[i]);
        tablets[i].end = edubba_bytes_of_text(i + 1 < model->count ? keys[i + 1] : "");
    }
    struct lab_map *map = lab_map_create(tablets, model->count);
    cr_assert_not_null(map);
    return map;
}

static struct model model_of(size_t count)
{
    struct model model = {.count = count, .next = 100};
    for (size_t i = 0; i < count; i++) {
        model.numbers[i] = i + 1;
        model.servers[i] = i % 3 + 1;
        model.starts[i] = (unsigned)(i * 1000);
    }
    return model;
}

static void split(struct model *model, size_t at, unsigned start)
{
    for (size_t i = model->count; i > at + 1; i--) {
        model->numbers[i] = model->numbers[i - 1];
        model->servers[i] = model->servers[i - 1];
        model->starts[i] = model->starts[i - 1];
    }
    model->numbers[at] = model->next++;
    model->numbers[at + 1] = model->next++;
    model->servers[at + 1] = model->servers[at];
    model->starts[at + 1] = start;
    model->count++;
}

static void merge(struct model *model, size_t at)
{
    model->numbers[at] = model->next++;
    for (size_t i = at + 1; i + 1 < model->count; i++) {
        model->numbers[i] = model->numbers[i + 1];
        model->servers[i] = model->servers[i + 1];
        model->starts[i] = model->starts[i + 1];
    }
    model->count--;
}

/* --- maps ------------------------------------------------------------------------------------- */

Test(lab_map, finds_the_tablet_of_a_row)
{
    struct model model = model_of(10);
    struct lab_map *map = map_of(&model);
    cr_assert_eq(lab_map_find(map, "", 0), 0);
    cr_assert_eq(lab_map_find(map, "0999", 4), 0);
    cr_assert_eq(lab_map_find(map, "1000", 4), 1);
    cr_assert_eq(lab_map_find(map, "1000\0", 5), 1);
    cr_assert_eq(lab_map_find(map, "100", 3), 0);
    cr_assert_eq(lab_map_find(map, "8999zz", 6), 8);
    cr_assert_eq(lab_map_find(map, "zz", 2), 9);
    lab_map_destroy(map);
}

Test(lab_map, of_no_tablets_or_too_many_is_none)
{
    struct edubba_tablet_replicas none = {0};
    cr_assert_null(lab_map_create(&none, 0));
    cr_assert_null(lab_map_create(&none, LAB_TABLETS_MAX + 1));
}

Test(lab_map, a_tablet_that_is_not_served_has_no_server)
{
    const struct edubba_replica copy = {.server = 7, .is_primary = true, .is_wanted = true};
    struct edubba_tablet_replicas tablet = {
        .number = 1, .state = "creating", .replicas = &copy, .replica_count = 1};
    struct lab_map *map = lab_map_create(&tablet, 1);
    cr_assert_eq(map->tablets[0].server, 0);
    lab_map_destroy(map);
}

Test(lab_timeline, tells_what_became_of_tablets)
{
    struct lab_timeline timeline;
    struct model model = model_of(4);
    cr_assert(lab_timeline_init(&timeline));
    cr_assert(lab_timeline_look(&timeline, map_of(&model), 0));
    cr_assert_not(lab_timeline_look(&timeline, map_of(&model), 1));
    cr_assert_not(lab_timeline_look(&timeline, NULL, 1));
    split(&model, 1, 1500);
    cr_assert(lab_timeline_look(&timeline, map_of(&model), 2));
    cr_assert_eq(timeline.changes[0].kind, LAB_SPLIT);
    cr_assert_eq(timeline.changes[0].tablet, 2);
    cr_assert_eq(timeline.changes[0].pieces, 2);
    cr_assert_float_eq(timeline.changes[0].at_s, 2, 1e-9);
    model.servers[2] = 3;
    cr_assert(lab_timeline_look(&timeline, map_of(&model), 3));
    cr_assert_eq(timeline.changes[1].kind, LAB_MOVED, "there is no other copy");
    cr_assert_eq(timeline.changes[1].tablet, 101);
    cr_assert_eq(timeline.changes[1].to, 3);
    merge(&model, 0);
    cr_assert(lab_timeline_look(&timeline, map_of(&model), 4));
    cr_assert_eq(timeline.changes[2].kind, LAB_MERGE);
    cr_assert_eq(timeline.changes[2].tablet, 102);
    cr_assert_eq(timeline.splits + timeline.moves * 10 + timeline.merges * 100, 111);
    cr_assert_eq(timeline.change_count, 3);
    lab_timeline_deinit(&timeline);
}

Test(lab_timeline, a_copy_that_leads_is_no_move)
{
    struct lab_timeline timeline;
    struct model model = model_of(2);
    cr_assert(lab_timeline_init(&timeline));
    model.others[0] = 3;
    cr_assert(lab_timeline_look(&timeline, map_of(&model), 0));
    model.servers[0] = 3; /* the other copy leads, and the one that did stays */
    model.others[0] = 1;
    cr_assert(lab_timeline_look(&timeline, map_of(&model), 1));
    cr_assert_eq(timeline.changes[0].kind, LAB_HANDED_OVER);
    model.servers[0] = 2; /* a third one takes the place of who leads */
    cr_assert(lab_timeline_look(&timeline, map_of(&model), 2));
    cr_assert_eq(timeline.changes[1].kind, LAB_MOVED);
    cr_assert(timeline.changes[1].from == 3 && timeline.changes[1].to == 2);
    cr_assert(timeline.hand_overs == 1 && timeline.moves == 1);
    lab_timeline_deinit(&timeline);
}

/* Random splits, merges and moves, each looked at: every one is told, once. */
Test(lab_timeline, every_change_is_told_once)
{
    uint64_t state = 5;
    for (int round = 0; round < 300; round++) {
        struct lab_timeline timeline;
        struct model model = model_of(1 + load_random_below(&state, 8));
        uint64_t splits = 0;
        uint64_t merges = 0;
        uint64_t moves = 0;
        cr_assert(lab_timeline_init(&timeline));
        (void)lab_timeline_look(&timeline, map_of(&model), 0);
        for (int i = 0; i < 30; i++) {
            size_t at = (size_t)load_random_below(&state, model.count);
            unsigned end = at + 1 < model.count ? model.starts[at + 1] : 9999;
            uint64_t what = load_random_below(&state, 3);
            if (what == 0 && end - model.starts[at] > 1 && model.count < TABLETS_MAX) {
                split(&model, at,
                      model.starts[at] + 1 +
                          (unsigned)load_random_below(&state, end - model.starts[at] - 1));
                splits++;
            } else if (what == 1 && at + 1 < model.count) {
                merge(&model, at);
                merges++;
            } else {
                model.servers[at] = model.servers[at] % 3 + 1;
                moves++;
            }
            (void)lab_timeline_look(&timeline, map_of(&model), i);
        }
        cr_assert_eq(timeline.splits, splits);
        cr_assert_eq(timeline.merges, merges);
        cr_assert_eq(timeline.moves, moves);
        cr_assert_eq(timeline.hand_overs, 0, "there is one copy of each");
        lab_timeline_deinit(&timeline);
    }
}

/* Several changes between two looks: the number of tablets still adds up. */
Test(lab_timeline, changes_between_two_looks_add_up)
{
    uint64_t state = 6;
    for (int round = 0; round < 300; round++) {
        struct lab_timeline timeline;
        struct model model = model_of(10);
        cr_assert(lab_timeline_init(&timeline));
        (void)lab_timeline_look(&timeline, map_of(&model), 0);
        for (int i = 0; i < 6; i++) {
            size_t at = (size_t)load_random_below(&state, model.count - 1);
            unsigned room = model.starts[at + 1] - model.starts[at];
            if (load_random_below(&state, 2) == 0 && room > 1) {
                split(&model, at,
                      model.starts[at] + 1 + (unsigned)load_random_below(&state, room - 1));
            } else if (model.count > 2) {
                merge(&model, at);
            }
        }
        (void)lab_timeline_look(&timeline, map_of(&model), 1);
        cr_assert_eq(10 + (int64_t)timeline.splits - (int64_t)timeline.merges,
                     (int64_t)model.count);
        lab_timeline_deinit(&timeline);
    }
}

/* --- shares ----------------------------------------------------------------------------------- */

static void add(struct lab_timeline *timeline,
                double at_s,
                const uint64_t *operations,
                size_t count)
{
    struct lab_moment moment = {.from_s = at_s, .to_s = at_s + 1, .map = timeline->map_count - 1};
    for (size_t i = 0; i < count; i++) {
        moment.total += operations[i];
    }
    cr_assert(lab_timeline_add(timeline, &moment, operations, count));
}

Test(lab_timeline, shares_add_up_to_one)
{
    struct lab_timeline timeline;
    struct model model = model_of(4); /* servers 1 2 3 1 */
    struct lab_share shares[16];
    const uint64_t first[] = {10, 20, 30, 40};
    const uint64_t second[] = {0, 100, 0, 0};
    cr_assert(lab_timeline_init(&timeline));
    (void)lab_timeline_look(&timeline, map_of(&model), 0);
    add(&timeline, 0, first, 4);
    add(&timeline, 1, second, 4);
    cr_assert_eq(lab_timeline_servers(&timeline, shares, 16), 3);
    cr_assert_eq(shares[0].number, 1);
    cr_assert_float_eq(shares[0].share, 0.25, 1e-9);
    cr_assert_float_eq(shares[1].share, 0.60, 1e-9);
    cr_assert_float_eq(shares[2].share, 0.15, 1e-9);
    cr_assert_eq(lab_timeline_tablets(&timeline, shares, 16), 4);
    cr_assert_eq(shares[0].number, 2); /* the busiest first */
    cr_assert_float_eq(shares[0].share, 0.60, 1e-9);
    cr_assert_float_eq(lab_moment_server_share(&timeline, 0, 1), 0.5, 1e-9);
    cr_assert_float_eq(lab_moment_server_share(&timeline, 1, 1), 0, 1e-9);
    /* At a time: 40 of 100, then 100 of 100; servers 50 of 100, then 100. */
    cr_assert_float_eq(lab_timeline_busiest_tablet(&timeline), 0.70, 1e-9);
    cr_assert_float_eq(lab_timeline_busiest_server(&timeline), 0.75, 1e-9);
    lab_timeline_deinit(&timeline);
}

Test(lab_timeline, nothing_done_is_no_share)
{
    struct lab_timeline timeline;
    struct model model = model_of(2);
    struct lab_share shares[4];
    const uint64_t nothing[] = {0, 0};
    cr_assert(lab_timeline_init(&timeline));
    cr_assert_null(lab_timeline_map(&timeline));
    cr_assert_eq(lab_timeline_servers(&timeline, shares, 4), 0);
    (void)lab_timeline_look(&timeline, map_of(&model), 0);
    add(&timeline, 0, nothing, 2);
    cr_assert_float_eq(lab_timeline_busiest_tablet(&timeline), 0, 1e-9);
    cr_assert_float_eq(lab_moment_server_share(&timeline, 0, 1), 0, 1e-9);
    lab_timeline_deinit(&timeline);
}

Test(lab_timeline, is_bounded)
{
    struct lab_timeline timeline;
    struct model model = model_of(2);
    const uint64_t operations[] = {1, 2};
    cr_assert(lab_timeline_init(&timeline));
    (void)lab_timeline_look(&timeline, map_of(&model), 0);
    for (int i = 0; i < LAB_MOMENTS_MAX + 50; i++) {
        add(&timeline, i, operations, 2);
    }
    cr_assert_eq(timeline.moment_count, LAB_MOMENTS_MAX);
    cr_assert_eq(lab_timeline_operations(&timeline), (LAB_MOMENTS_MAX + 50) * 3);
    cr_assert_float_eq(timeline.moments[LAB_MOMENTS_MAX - 1].to_s, LAB_MOMENTS_MAX + 50, 1e-9);
    for (int i = 0; i < LAB_MAPS_MAX + 50; i++) {
        model.servers[0] = model.servers[0] % 3 + 1;
        (void)lab_timeline_look(&timeline, map_of(&model), i);
    }
    cr_assert_eq(timeline.map_count, LAB_MAPS_MAX);
    lab_timeline_deinit(&timeline);
}

/* --- what is frequent ------------------------------------------------------------------------- */

Test(lab_frequent, the_most_frequent_is_found_among_many)
{
    static struct lab_frequent frequent;
    uint64_t state = 9;
    uint64_t times = 0;
    for (int i = 0; i < 100000; i++) {
        bool is_top = load_random_below(&state, 10) < 3;
        times += is_top ? 1 : 0;
        lab_frequent_add(&frequent, is_top ? 7 : 1000 + load_random_below(&state, 50000),
                         is_top ? "top" : "other", is_top ? 3 : 5);
    }
    const struct lab_frequent_place *top = lab_frequent_top(&frequent);
    cr_assert_eq(top->id, 7);
    cr_assert_eq(top->text_size, 3);
    cr_assert(top->count >= times && top->count - top->error <= times);
    cr_assert(lab_frequent_share(&frequent, top) > 0.25);
    cr_assert_eq(frequent.total, 100000);
}

Test(lab_frequent, of_all_different_none_is_sure)
{
    static struct lab_frequent frequent;
    cr_assert_null(lab_frequent_top(&frequent));
    for (uint64_t i = 0; i < 10000; i++) {
        lab_frequent_add(&frequent, i, NULL, 0);
    }
    cr_assert(lab_frequent_share(&frequent, lab_frequent_top(&frequent)) < 0.001);
}

Test(lab_frequent, long_texts_are_cut)
{
    static struct lab_frequent frequent;
    char text[LAB_FREQUENT_TEXT_BYTES * 2];
    memset(text, 'x', sizeof text);
    lab_frequent_add(&frequent, 1, text, sizeof text);
    cr_assert_eq(lab_frequent_top(&frequent)->text_size, LAB_FREQUENT_TEXT_BYTES);
}
