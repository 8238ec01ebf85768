/* What is said of a table's keys: known loads, and what must be found in each. */
#include "master/placement/advice.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/prng.h"

#define TABLETS_MAX 40
#define SECOND_NS   UINT64_C(1000000000)

static struct arena arena;
static struct advice_tablet tablets[TABLETS_MAX];
static struct load_point points[TABLETS_MAX][LOAD_POINTS_MAX];
static struct load_key keys[TABLETS_MAX][LOAD_KEYS_MAX];
static char rows[TABLETS_MAX][LOAD_POINTS_MAX][48];
static size_t count;
static uint64_t known_ns;

static void start(void)
{
    known_ns = 10 * SECOND_NS;
    arena_init(&arena, 4096, SIZE_MAX);
    count = 0;
}

static void stop(void)
{
    arena_deinit(&arena);
}

TestSuite(advice, .init = start, .fini = stop);

/* A tablet whose load is even over its rows. */
static struct advice_tablet *tablet(uint64_t reads, uint64_t writes, uint64_t cpu_percent)
{
    struct advice_tablet *added = &tablets[count];
    for (size_t i = 0; i < LOAD_POINTS_MAX; i++) {
        (void)snprintf(rows[count][i], sizeof rows[count][i], "T%02zu#%03zu", count, i);
        points[count][i] = (struct load_point){
            bytes_of_text(rows[count][i]), reads / LOAD_POINTS_MAX, writes / LOAD_POINTS_MAX, 0};
    }
    *added = (struct advice_tablet){
        .tablet = count + 1,
        .range = {bytes_of_text(rows[count][0]), BYTES_EMPTY},
        .elapsed_ns = SECOND_NS,
        .capacity_ns = SECOND_NS,
        .figures = {.reads = reads,
                    .read_rows = reads,
                    .read_bytes = reads * 100,
                    .read_cpu_ns = SECOND_NS / 100 * cpu_percent,
                    .writes = writes,
                    .write_bytes = writes * 100},
        .detail = {points[count], LOAD_POINTS_MAX, keys[count], 0, 1000, 0},
    };
    count += 1;
    return added;
}

static void add_key(struct advice_tablet *to, const char *row, uint64_t reads, uint64_t writes)
{
    size_t at = (size_t)(to - tablets);
    keys[at][to->detail.key_count++] = (struct load_key){bytes_of_text(row), reads, writes};
}

/* Its points are rows of this form from now on, by their numbers. */
static void name_rows(struct advice_tablet *of,
                      const char *before,
                      size_t first,
                      const char *behind)
{
    size_t at = (size_t)(of - tablets);
    for (size_t i = 0; i < LOAD_POINTS_MAX; i++) {
        (void)snprintf(rows[at][i], sizeof rows[at][i], "%s%03zu%s", before, first + i, behind);
        points[at][i].row = bytes_of_text(rows[at][i]);
    }
    of->range.start = points[at][0].row;
}

static struct advise_response ask(uint64_t all_count)
{
    const struct advice_table table = {tablets, count, all_count, known_ns};
    struct advise_response response = {0};
    cr_assert_eq(advise(&table, &arena, &response), STATUS_OK);
    cr_assert(response.finding_count >= 1 && response.finding_count <= ADVICE_FINDINGS_MAX);
    return response;
}

static bool says(struct bytes text, const char *part)
{
    char whole[1024];
    (void)snprintf(whole, sizeof whole, "%.*s", (int)text.size_bytes, (const char *)text.data);
    return strstr(whole, part) != NULL;
}

Test(advice, of_little_nothing_is_said)
{
    struct advise_response response = ask(4);
    cr_assert_eq(response.findings[0].kind, ADVICE_TOO_FEW);
    tablet(1000, 1000, 10)->detail.observations = ADVICE_OBSERVATIONS_MIN - 1;
    cr_assert_eq(ask(4).findings[0].kind, ADVICE_TOO_FEW);
    tablets[0].detail.observations = 1000;
    tablets[0].elapsed_ns = 60 * SECOND_NS;
    cr_assert_eq(ask(4).findings[0].kind, ADVICE_TOO_FEW);
    tablets[0].elapsed_ns = SECOND_NS;
    cr_assert_neq(ask(1).findings[0].kind, ADVICE_TOO_FEW);
}

/* Servers tell in turn, in the course of a second: of the first one's tablets alone each schema looks narrow. */
Test(advice, nothing_is_said_before_every_server_has_told)
{
    tablet(0, 3200, 30);
    known_ns = ADVICE_KNOWN_NS - 1;
    cr_assert_eq(ask(2).findings[0].kind, ADVICE_TOO_FEW);
    known_ns = ADVICE_KNOWN_NS;
    cr_assert_eq(ask(2).findings[0].kind, ADVICE_NARROW_RANGE);
}

Test(advice, an_even_load_is_balanced)
{
    for (int i = 0; i < 8; i++) {
        tablet(1000, 3200, 20);
    }
    struct advise_response response = ask(8);
    cr_assert_eq(response.finding_count, 1);
    cr_assert_eq(response.findings[0].kind, ADVICE_BALANCED);
    cr_assert(says(response.findings[0].text,
                   "Nothing is to be said against the keys: of 8 tablets the busiest takes 12 %"));
    cr_assert_eq(response.operations_per_second, 8 * 4200);
    cr_assert(response.tablet_count == 8 && response.busy_count == 8);
    cr_assert_eq(response.observations, 8000);
    for (int i = 0; i < 8; i++) {
        tablets[i].detail.appended_permille = 1000; /* of an eighth of the writes each */
    }
    cr_assert_eq(ask(8).findings[0].kind, ADVICE_BALANCED);
}

Test(advice, a_popular_row_is_named)
{
    tablet(1000, 1000, 20);
    add_key(tablet(4000, 0, 30), "celebrity", 3000, 0);
    tablet(1000, 1000, 20);
    tablet(1000, 1000, 20);
    struct advise_response response = ask(4);
    const struct advice_finding *finding = &response.findings[0];
    cr_assert(finding->kind == ADVICE_POPULAR_KEY && finding->tablet == 2);
    cr_assert(bytes_equal(finding->key, bytes_of_text("celebrity")));
    cr_assert_eq(finding->share_permille, 300, "%u", finding->share_permille);
    cr_assert(says(finding->text, "30 % of the table's load hits one row, 'celebrity'"));
    cr_assert(says(finding->text, "mostly reads"));
    cr_assert(says(finding->pattern, "salting"));
}

Test(advice, of_many_findings_the_gravest_are_kept)
{
    add_key(tablet(1280, 0, 1), "first", 1280, 0);
    for (int i = 0; i < 8; i++) {
        add_key(tablet(1344, 0, 1), "other", 1344, 0);
    }
    struct advise_response response = ask(9);
    cr_assert_eq(response.finding_count, ADVICE_FINDINGS_MAX);
    for (size_t i = 0; i < response.finding_count; i++) {
        cr_assert_eq(response.findings[i].share_permille, 112);
        cr_assert(bytes_equal(response.findings[i].key, bytes_of_text("other")));
    }
}

Test(advice, rows_that_grow_at_the_end_are_told_with_the_cure)
{
    for (int i = 0; i < 3; i++) {
        tablet(0, 64, 5);
    }
    tablet(0, 3200, 90)->detail.appended_permille = 970;
    struct advise_response response = ask(4);
    const struct advice_finding *finding = &response.findings[0];
    cr_assert(finding->kind == ADVICE_MONOTONIC && finding->tablet == 4);
    cr_assert(says(finding->text, "94 % of writes hit one tablet; its rows only grow at the end"));
    cr_assert(says(finding->text, "by a number ('031') behind 'T03#'"));
    cr_assert(says(finding->pattern, "salting"), "it is no time");
    cr_assert(says(finding->cure, "'T03#HASH#NUMBER'"));
    cr_assert_eq(response.finding_count, 2, "its pressure is what comes of it");
    cr_assert_eq(response.findings[1].kind, ADVICE_HIGH_PRESSURE);
    cr_assert_eq(response.findings[1].share_permille, 900);
    cr_assert_not(says(response.findings[1].text, "spread"), "a split would only move it");
    cr_assert_eq(response.findings[1].cure.size_bytes, 0);
    tablets[3].detail.appended_permille = 400;
    response = ask(4);
    cr_assert_neq(response.findings[0].kind, ADVICE_MONOTONIC);
}

/* --- cures go by the keys ------------------------------------------------------------------------- */

/* A table of one tablet that grows at its end: what cures it. */
static struct advice_finding growing(const char *before, const char *behind)
{
    count = 0;
    struct advice_tablet *hot = tablet(0, 3200, 30);
    name_rows(hot, before, 100, behind);
    hot->range.start = BYTES_EMPTY;
    points[0][0].row = BYTES_EMPTY;
    hot->detail.appended_permille = 970;
    struct advice_finding finding = ask(1).findings[0];
    cr_assert_eq(finding.kind, ADVICE_MONOTONIC);
    return finding;
}

Test(advice, a_time_in_front_is_cured_by_a_field_before_it)
{
    struct advice_finding finding = growing("BATTERY#20150301124501", "");
    cr_assert(says(finding.text, "by a time ('20150301124501131') behind 'BATTERY#'"));
    cr_assert(says(finding.pattern, "field promotion"));
    cr_assert(says(finding.cure, "'BATTERY#USER#TIME'"));
    cr_assert(says(finding.cure, "'N#BATTERY#...'"));
    finding = growing("1426535612", "");
    cr_assert(says(finding.cure, "'USER#TIME'"));
}

Test(advice, a_date_before_the_id_is_cured_by_the_id_before_the_date)
{
    struct advice_finding finding = growing("20170726#0000987", "");
    cr_assert(says(finding.text, "by a time ('20170726')"));
    cr_assert(says(finding.pattern, "field promotion"));
    cr_assert(says(finding.cure, "'ID#TIME' in place of 'TIME#ID'"));
    finding = growing("LoL/2015-03-01/Corrie", "");
    cr_assert(says(finding.cure, "'LoL/ID/TIME' in place of 'LoL/TIME/ID'"));
}

Test(advice, a_counter_is_cured_by_its_hash)
{
    struct advice_finding finding = growing("0000000123", "");
    cr_assert(says(finding.text, "by a number ('0000000123131')"));
    cr_assert(says(finding.pattern, "salting"));
    cr_assert(says(finding.cure, "'HASH#NUMBER'"));
    cr_assert_not(says(finding.cure, "USER"));
}

Test(advice, one_series_of_several_is_salted)
{
    tablet(0, 640, 5);
    name_rows(&tablets[0], "NASDAQ#AAPL#1426535612", 100, "");
    struct advice_tablet *hot = tablet(0, 3200, 30);
    name_rows(hot, "NASDAQ#ZXZZT#1426535612", 100, "");
    hot->detail.appended_permille = 970;
    struct advice_finding finding = ask(2).findings[0];
    cr_assert(finding.kind == ADVICE_MONOTONIC && finding.tablet == 2);
    cr_assert(says(finding.cure, "one of its values, 'NASDAQ#ZXZZT#'"));
    cr_assert(says(finding.pattern, "salting"));
}

Test(advice, salts_that_are_too_few_are_not_told_to_begin_salting)
{
    for (int i = 0; i < 3; i++) {
        tablet(0, 3200, 30)->detail.appended_permille = 970;
    }
    struct advise_response response = ask(3);
    cr_assert_eq(response.finding_count, 3);
    cr_assert(says(response.findings[0].cure, "3 tablets grow at their ends at once"));
    cr_assert(says(response.findings[0].cure, "more salts"));
}

/* What a salt has is parted among its tablets when they are split: only one of them had a fifth of all, and was taken
 * for the only one, of a table that is not salted. */
Test(advice, salts_whose_tablets_are_split_are_not_told_to_begin_salting)
{
    static const char *const beginnings[] = {"0#BATTERY#20150301124", "1#BATTERY#20150301124",
                                             "2#BATTERY#20150301124"};
    for (size_t i = 0; i < 3; i++) {
        struct advice_tablet *grows = tablet(0, i == 2 ? 3200 : 1600, 20);
        name_rows(grows, beginnings[i], 100, "");
        grows->detail.appended_permille = 970;
    }
    for (int i = 0; i < 4; i++) { /* of before the split: they fill up */
        tablet(0, 1200, 10);
    }
    struct advise_response response = ask(7);
    cr_assert(response.findings[0].kind == ADVICE_MONOTONIC && response.findings[0].tablet == 3);
    cr_assert_neq(response.findings[1].kind, ADVICE_MONOTONIC);
    cr_assert(says(response.findings[0].cure, "3 tablets grow at their ends at once"));
    cr_assert_not(says(response.findings[0].cure, "Promote another field"));
}

/* What is stored above a salt's rows hides for 10 to 20 s that they grow, where salts share a tablet: only the last one
 * is known to, and was taken for one series of several that is hot. */
Test(advice, salts_of_which_one_is_known_to_grow_are_not_told_to_begin_salting)
{
    static const char *const beginnings[] = {"0#BATTERY#20150301124", "1#BATTERY#20150301124",
                                             "2#BATTERY#20150301124"};
    for (size_t i = 0; i < 3; i++) {
        name_rows(tablet(0, 3200, 20), beginnings[i], 100, "");
    }
    tablets[2].detail.appended_permille = 970;
    struct advice_finding finding = ask(3).findings[0];
    cr_assert(finding.kind == ADVICE_MONOTONIC && finding.tablet == 3);
    cr_assert(says(finding.cure, "otherwise than with '2#BATTERY#' are written to as much"));
    cr_assert(says(finding.cure, "more salts"));
    cr_assert_not(says(finding.cure, "salt the key"));
    tablets[0].figures.writes = 640; /* now it is the only one that takes much */
    tablets[1].figures.writes = 640;
    finding = ask(3).findings[0];
    cr_assert(says(finding.cure, "one of its values, '2#BATTERY#'"));
}

/* Many series that are little each are no other one that takes as much. */
Test(advice, one_hot_series_beside_many_is_salted)
{
    struct advice_tablet *many = tablet(0, 3200, 20);
    for (size_t i = 0; i < LOAD_POINTS_MAX; i++) {
        (void)snprintf(rows[0][i], sizeof rows[0][i], "NASDAQ#A%02zu#1426535612100", i);
        points[0][i].row = bytes_of_text(rows[0][i]);
    }
    many->range.start = points[0][0].row;
    struct advice_tablet *hot = tablet(0, 3200, 30);
    name_rows(hot, "NASDAQ#ZXZZT#1426535612", 100, "");
    hot->detail.appended_permille = 970;
    struct advice_finding finding = ask(2).findings[0];
    cr_assert(finding.kind == ADVICE_MONOTONIC && finding.tablet == 2);
    cr_assert(says(finding.cure, "one of its values, 'NASDAQ#ZXZZT#'"));
}

/* Two games by date: what stands behind the date goes in front of it, however many games there are. */
Test(advice, several_fronts_before_a_time_that_has_more_behind_it_are_swapped)
{
    static const char *const beginnings[] = {"Chess#20150301#Co", "LoL#20150301#Co"};
    for (size_t i = 0; i < 2; i++) {
        name_rows(tablet(0, 3200, 20), beginnings[i], 100, "x");
    }
    tablets[1].detail.appended_permille = 970;
    struct advice_finding finding = ask(2).findings[0];
    cr_assert(says(finding.cure, "'LoL#ID#TIME' in place of 'LoL#TIME#ID'"));
}

Test(advice, few_leading_fields_are_named)
{
    for (int i = 0; i < 7; i++) {
        tablet(64, 0, 1);
    }
    name_rows(tablet(6400, 0, 30), "celebrity#site", 100, "");
    struct advice_finding finding = ask(8).findings[0];
    cr_assert_eq(finding.kind, ADVICE_NARROW_RANGE);
    cr_assert(says(finding.text, "hit 1 of the table's 8 tablets (8), in rows that begin with "
                                 "'celebrity#'."));
    cr_assert(says(finding.cure, "Few values of the leading fields take it all ('celebrity#')"));
    cr_assert(says(finding.pattern, "salting"));
    name_rows(&tablets[7], "20170726#0000987", 100, "");
    finding = ask(8).findings[0];
    cr_assert(says(finding.text, "in rows that begin with a time ('20170726')."));
    cr_assert(says(finding.cure, "'ID#TIME' in place of 'TIME#ID'"));
}

/* --- what load has left --------------------------------------------------------------------------- */

/* Tablets side by side, each of which a single writer has filled, and left for the next one. */
static void leave_behind(size_t all)
{
    static const char *const ends[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < all; i++) {
        struct advice_tablet *filled = tablet(0, 3200, 30);
        filled->range = (struct row_range){i == 0 ? BYTES_EMPTY : bytes_of_text(ends[i - 1]),
                                           i + 1 == all ? BYTES_EMPTY : bytes_of_text(ends[i])};
        filled->detail.appended_permille = 970;
        filled->quiet_ns = (all - 1 - i) * 4 * SECOND_NS;
        filled->elapsed_ns = SECOND_NS;
    }
}

Test(advice, one_writer_is_one_writer_whatever_it_has_left_behind)
{
    leave_behind(4);
    struct advise_response response = ask(4);
    cr_assert_eq(response.finding_count, 1);
    cr_assert(response.findings[0].kind == ADVICE_MONOTONIC && response.findings[0].tablet == 4);
    cr_assert_eq(response.findings[0].share_permille, 1000, "%u",
                 response.findings[0].share_permille);
    cr_assert_eq(response.operations_per_second, 3200);
    cr_assert_eq(response.busy_count, 1);
}

Test(advice, a_tablet_that_the_writer_has_just_come_to_need_not_know_that_it_appends)
{
    leave_behind(2);
    tablets[0].quiet_ns = SECOND_NS / 2;
    tablets[1].detail.appended_permille = 0;
    struct advise_response response = ask(2);
    cr_assert_eq(response.findings[0].kind, ADVICE_MONOTONIC);
    cr_assert(response.findings[0].tablet == 2 && response.findings[0].share_permille == 1000);
    tablets[1].elapsed_ns = 10 *
                            SECOND_NS; /* it has been there all the time: it is another writer's */
    tablets[1].figures.writes *= 10;
    response = ask(2);
    cr_assert(response.findings[0].tablet == 1 && response.findings[0].share_permille == 500);
}

Test(advice, a_part_that_was_split_off_and_is_not_heard_of_counts_for_nothing)
{
    leave_behind(2);
    tablets[0].quiet_ns = SECOND_NS / 2;
    tablets[0].detail.appended_permille = 0;
    cr_assert_eq(ask(2).findings[0].share_permille, 500, "it may be but slow");
    tablets[0].inherited = true;
    cr_assert_eq(ask(2).findings[0].share_permille, 1000);
    tablets[1].quiet_ns = SECOND_NS / 2;
    cr_assert_eq(ask(2).findings[0].share_permille, 500, "the load has ended");
}

/* --- pressure and ranges -------------------------------------------------------------------------- */

Test(advice, a_split_is_the_cure_of_pressure_only_where_it_can_part_the_load)
{
    tablet(1000, 1000, 20);
    struct advice_tablet *hot = tablet(1000, 1000, 90);
    struct advise_response response = ask(2);
    cr_assert_eq(response.findings[0].kind, ADVICE_HIGH_PRESSURE);
    cr_assert(says(response.findings[0].cure, "a split lets another server take half"));
    add_key(hot, "celebrity", 1000, 0);
    response = ask(2);
    cr_assert_eq(response.finding_count, 2);
    cr_assert_eq(response.findings[0].kind, ADVICE_POPULAR_KEY);
    cr_assert_eq(response.findings[1].kind, ADVICE_HIGH_PRESSURE);
    cr_assert_eq(response.findings[1].cure.size_bytes, 0);
}

Test(advice, few_tablets_that_take_most_are_a_narrow_range)
{
    tablet(3000, 0, 30);
    tablet(3000, 0, 30);
    for (int i = 0; i < 14; i++) {
        tablet(64, 0, 1);
    }
    struct advise_response response = ask(20);
    cr_assert_eq(response.findings[0].kind, ADVICE_NARROW_RANGE);
    cr_assert(says(response.findings[0].text, "of reads hit 2 of the table's 20 tablets"));
    cr_assert_eq(response.findings[0].tablet, 0);
    cr_assert_eq(ask(16).findings[0].kind, ADVICE_NARROW_RANGE);
    cr_assert_eq(ask(15).findings[0].kind, ADVICE_BALANCED);
    tablets[0].figures.read_rows = 30000;
    response = ask(4);
    cr_assert(response.findings[0].kind == ADVICE_NARROW_RANGE && response.findings[0].tablet == 1);
    cr_assert_eq(ask(3).findings[0].kind, ADVICE_BALANCED, "too few tablets to be narrow");
}

/* A celebrity's: all of its writes are 80 % of the table's, three quarters of that on one site. */
Test(advice, one_tablet_of_several_that_takes_most_is_a_narrow_range)
{
    for (int i = 0; i < 5; i++) {
        tablet(0, 640, 5);
    }
    name_rows(tablet(0, 6400, 30), "u000042-site0-201503011245", 100, "");
    struct advice_finding finding = ask(6).findings[0];
    cr_assert(finding.kind == ADVICE_NARROW_RANGE && finding.tablet == 6);
    cr_assert(says(finding.text, "66 % of writes hit 1 of the table's 6 tablets (6)"));
    tablets[5].figures.writes = 3200;
    finding = ask(6).findings[0];
    cr_assert_eq(finding.kind, ADVICE_BALANCED, "half is what keys popular by Zipf may have");
    cr_assert(says(finding.text, "unevenly: of 6 tablets the busiest takes 50 % of writes"));
}

Test(advice, one_tablet_of_two_that_takes_all_is_a_narrow_range)
{
    tablet(0, 3200, 30);
    struct advise_response response = ask(2);
    cr_assert(response.findings[0].kind == ADVICE_NARROW_RANGE && response.findings[0].tablet == 1);
    cr_assert(says(response.findings[0].text, "100 % of writes hit 1 of the table's 2 tablets"));
    cr_assert_eq(ask(3).findings[0].kind, ADVICE_NARROW_RANGE);
    cr_assert_eq(ask(1).findings[0].kind, ADVICE_BALANCED, "there is no other");
    tablet(0, 320, 3);
    cr_assert_eq(ask(2).findings[0].kind, ADVICE_BALANCED, "a tenth is elsewhere");
}

/* Of six rows each has a sixth, also where that is 25 reads a second. */
Test(advice, rows_of_a_small_table_are_not_popular)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    struct advice_tablet *small = tablet(160, 0, 1);
    for (size_t i = 0; i < 6; i++) {
        add_key(small, names[i], 26, 0);
    }
    struct advise_response response = ask(1);
    cr_assert_eq(response.finding_count, 1);
    cr_assert_eq(response.findings[0].kind, ADVICE_BALANCED);
    small->figures.read_rows = 16000; /* 2 600 a second each */
    cr_assert_eq(ask(1).finding_count, 6);
    cr_assert_eq(ask(1).findings[0].kind, ADVICE_POPULAR_KEY);
}

/* Who reads a table from end to end is in one tablet at a time, whatever its keys. */
Test(advice, a_long_scan_is_no_narrow_range)
{
    tablet(100000, 0, 30)->figures.reads = 1;
    cr_assert_eq(ask(8).findings[0].kind, ADVICE_BALANCED);
    tablets[0].figures.reads = 40; /* queries, about 2 500 rows each: all of one range */
    cr_assert_eq(ask(8).findings[0].kind, ADVICE_NARROW_RANGE);
}

Test(advice, large_rows_are_told_however_few_they_are)
{
    struct advice_tablet *large = tablet(0, 3, 10);
    large->figures.write_bytes = UINT64_C(3) * 2 * ADVICE_ROW_BYTES;
    large->detail.observations = 9;
    cr_assert_eq(ask(1).findings[0].kind, ADVICE_LARGE_ROWS);
    large->figures.write_bytes = 300;
    cr_assert_eq(ask(1).findings[0].kind, ADVICE_TOO_FEW);
}

Test(advice, large_rows_are_told)
{
    tablet(200, 0, 10)->figures.read_bytes = UINT64_C(200) * 3 * ADVICE_ROW_BYTES;
    struct advise_response response = ask(1);
    cr_assert_eq(response.findings[0].kind, ADVICE_LARGE_ROWS);
    cr_assert(says(response.findings[0].text, "Rows of 3.0 MiB on average are read"));
}

Test(advice, the_worst_comes_first_and_there_are_not_too_many)
{
    for (int i = 0; i < 12; i++) {
        struct advice_tablet *hot = tablet(0, 320 + 32 * (uint64_t)i, 90);
        hot->detail.appended_permille = 1000;
        add_key(hot, "a", 0, 200);
    }
    struct advise_response response = ask(12);
    cr_assert_eq(response.finding_count, ADVICE_FINDINGS_MAX);
    for (size_t i = 1; i < response.finding_count; i++) {
        const struct advice_finding *before = &response.findings[i - 1];
        const struct advice_finding *finding = &response.findings[i];
        bool grave = finding->kind <= ADVICE_MONOTONIC;
        cr_assert(!grave || before->kind <= ADVICE_MONOTONIC);
        cr_assert(grave != (before->kind <= ADVICE_MONOTONIC) ||
                  before->share_permille >= finding->share_permille);
    }
}

/* Whatever servers claim. */
Test(advice, figures_that_cannot_be_do_no_harm)
{
    struct prng prng = prng_of_seed(3);
    for (int round = 0; round < 2000; round++) {
        uint64_t shift = prng_below(&prng, 64);
        arena_reset(&arena);
        count = 0;
        for (uint64_t i = prng_below(&prng, 5); i > 0; i--) {
            struct advice_tablet *any = tablet(prng_next(&prng) >> shift, prng_next(&prng) >> shift,
                                               prng_next(&prng) >> 40);
            any->elapsed_ns = prng_next(&prng) >> prng_below(&prng, 64);
            any->capacity_ns = prng_next(&prng) >> prng_below(&prng, 64);
            any->figures.read_bytes = prng_next(&prng) >> prng_below(&prng, 64);
            any->detail.appended_permille = (uint32_t)prng_below(&prng, 1001);
            any->detail.point_count = prng_below(&prng, LOAD_POINTS_MAX + 1);
            any->detail.observations = prng_next(&prng) >> 8;
            add_key(any, "k", prng_next(&prng) >> shift, prng_next(&prng));
        }
        struct advise_response response = ask(prng_below(&prng, 50));
        for (size_t i = 0; i < response.finding_count; i++) {
            cr_assert_leq(response.findings[i].share_permille, 1000);
            cr_assert_neq(strcmp(advice_kind_name(response.findings[i].kind), "unknown"), 0);
        }
    }
}

Test(advice, without_memory_it_says_so)
{
    for (int i = 0; i < 3; i++) {
        tablet(0, 64, 5);
    }
    tablet(0, 3200, 90)->detail.appended_permille = 970;
    bool done = false;
    for (uint64_t after = 0; !done; after++) {
        const struct advice_table table = {tablets, count, 4, known_ns};
        struct advise_response response;
        struct arena small;
        arena_init(&small, 64, SIZE_MAX);
        memory_fail_arm(after, 1);
        enum status status = advise(&table, &small, &response);
        memory_fail_disarm();
        done = status == STATUS_OK;
        cr_assert(done || status == STATUS_NO_MEMORY);
        arena_deinit(&small);
    }
}
