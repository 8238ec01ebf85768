#include <criterion/criterion.h>

#include <stdio.h>

#include "common/base/limits.h"
#include "common/base/memory.h"
#include "common/model/filter.h"
#include "tests/support/filters.h"
#include "tests/support/row_source.h"

static void assert_refused_with(const struct filter *filter,
                                size_t encoded_bytes,
                                enum status status,
                                const char *text)
{
    struct filter_program *program = NULL;
    struct error error = {.status = STATUS_OK};
    cr_assert_eq(filter_compile(filter, encoded_bytes, &table, 1, &program, &error), status,
                 "%s: %s", text, error.text);
    cr_assert_str_eq(error.text, text);
    cr_assert_null(program);
}

static void assert_refused(struct filter filter, const char *text)
{
    assert_refused_with(&filter, 0, STATUS_INVALID_ARGUMENT, text);
}

/* Running: results as text, "family:qualifier@ms=value[label] ...". */

#define RESULT_MAX 1024

static enum status write_cell(void *context, const struct cell *cell)
{
    char *text = context;
    size_t used = strlen(text);
    snprintf(text + used, RESULT_MAX - used, "%s%u:%.*s@%d=%.*s", used > 0 ? " " : "", cell->family,
             (int)cell->qualifier.size_bytes, (const char *)cell->qualifier.data,
             (int)(cell->timestamp_us / 1000), (int)cell->value.size_bytes,
             (const char *)cell->value.data);
    if (cell->label.size_bytes > 0) {
        used = strlen(text);
        snprintf(text + used, RESULT_MAX - used, "[%.*s]", (int)cell->label.size_bytes,
                 (const char *)cell->label.data);
    }
    return STATUS_OK;
}

#define CELL(f, q, ms, v)                                                          \
    {                                                                              \
        .family = (f), .qualifier = {(const uint8_t *)(q), sizeof(q) - 1},         \
        .timestamp_us = (ms)*1000, .value = {(const uint8_t *)(v), sizeof(v) - 1}, \
    }

static const struct cell SMALL_ROW[] = {
    CELL(1, "a", 3, "x"), CELL(1, "a", 2, "y"), CELL(1, "a", 1, "z"),
    CELL(1, "b", 2, "x"), CELL(2, "a", 9, "y"), CELL(2, "c", 1, "x"),
};

static void assert_result_with(struct filter_program *program, const char *wanted)
{
    char text[RESULT_MAX] = "";
    struct row_source rows = row_source_of(SMALL_ROW, sizeof SMALL_ROW / sizeof *SMALL_ROW);
    struct cell_source source = row_source_cells(&rows);
    bool any = false;
    cr_assert_eq(filter_run(program, bytes_of_text("row"), &source, write_cell, text, &any, NULL),
                 STATUS_OK);
    cr_assert_str_eq(text, wanted);
    cr_assert_eq(any, wanted[0] != '\0');
}

static void assert_result(struct filter filter, const char *wanted)
{
    struct filter_program *program = compile(&filter);
    assert_result_with(program, wanted);
    assert_result_with(program, wanted); /* nothing of a row is left over for the next */
    filter_destroy(program);
}

/* Semantics. */

Test(filter, none_and_pass_all_give_everything)
{
    const char *all = "1:a@3=x 1:a@2=y 1:a@1=z 1:b@2=x 2:a@9=y 2:c@1=x";
    struct filter_program *program = compile(NULL);
    assert_result_with(program, all);
    filter_destroy(program);
    filter_destroy(NULL);
    assert_result(of_kind(FILTER_PASS_ALL), all);
    assert_result(of_kind(FILTER_BLOCK_ALL), "");
}

Test(filter, single_filters)
{
    assert_result(of_bytes(FILTER_FAMILY_REGEX, "c.*"), "1:a@3=x 1:a@2=y 1:a@1=z 1:b@2=x");
    assert_result(of_bytes(FILTER_FAMILY_REGEX, "s[a-z]+"), "2:a@9=y 2:c@1=x");
    assert_result(of_bytes(FILTER_FAMILY_REGEX, "no.*"), "");
    assert_result(of_bytes(FILTER_QUALIFIER_REGEX, "b|c"), "1:b@2=x 2:c@1=x");
    assert_result(of_bytes(FILTER_QUALIFIER_REGEX, "c"), "2:c@1=x");
    assert_result(of_bytes(FILTER_VALUE_REGEX, "[yz]"), "1:a@2=y 1:a@1=z 2:a@9=y");
    assert_result(of_bytes(FILTER_ROW_KEY_REGEX, "r.w"),
                  "1:a@3=x 1:a@2=y 1:a@1=z 1:b@2=x 2:a@9=y 2:c@1=x");
    assert_result(of_bytes(FILTER_ROW_KEY_REGEX, "ro"), "");
    assert_result(of_columns("cf", "b", NULL), "1:b@2=x");
    assert_result(of_count(FILTER_CELLS_PER_ROW_OFFSET, 0),
                  "1:a@3=x 1:a@2=y 1:a@1=z 1:b@2=x 2:a@9=y 2:c@1=x");
    assert_result(of_count(FILTER_CELLS_PER_ROW_OFFSET, 4), "2:a@9=y 2:c@1=x");
    assert_result(of_count(FILTER_CELLS_PER_ROW_LIMIT, 2), "1:a@3=x 1:a@2=y");
    assert_result(of_count(FILTER_CELLS_PER_COLUMN_LIMIT, 1), "1:a@3=x 1:b@2=x 2:a@9=y 2:c@1=x");
    assert_result(of_bytes(FILTER_VALUE_BITMASK, "y"), "1:a@2=y 2:a@9=y");
    struct filter times = {.kind = FILTER_TIMESTAMP_RANGE, .start_us = 2000, .end_us = 9000};
    assert_result(times, "1:a@3=x 1:a@2=y 1:b@2=x");
    times.end_us = 0;
    assert_result(times, "1:a@3=x 1:a@2=y 1:b@2=x 2:a@9=y");
    struct filter values = {.kind = FILTER_VALUE_RANGE,
                            .start = {true, false, bytes_of_text("x")},
                            .end = {true, true, bytes_of_text("y")}};
    assert_result(values, "1:a@2=y 2:a@9=y");
}

/* Java's client says "at 2 000" as [2 000, 2 001), "behind it" as [2 001, ...), whatever the table keeps. */
Test(filter, a_range_of_timestamps_is_finer_than_the_tables)
{
    struct filter times = {.kind = FILTER_TIMESTAMP_RANGE, .start_us = 2000, .end_us = 2001};
    cr_assert_eq(table.granularity, GRANULARITY_MILLIS);
    assert_result(times, "1:a@2=y 1:b@2=x");
    times = (struct filter){.kind = FILTER_TIMESTAMP_RANGE, .start_us = 2001};
    assert_result(times, "1:a@3=x 2:a@9=y");
    times = (struct filter){.kind = FILTER_TIMESTAMP_RANGE, .start_us = 1001, .end_us = 1999};
    assert_result(times, "");
}

/* Nor is there anything where a range ends before or where it begins. */
Test(filter, ranges_that_hold_nothing)
{
    struct filter times = {.kind = FILTER_TIMESTAMP_RANGE, .start_us = 2000, .end_us = 2000};
    assert_result(times, "");
    assert_result(of_columns("cf", "b", "a"), "");
    assert_result(of_columns("cf", "b", "b"), "");
    assert_result(of_columns("cf", "", ""), "");
    const struct filter_bound x = {true, false, bytes_of_text("x")};
    const struct filter_bound y = {true, true, bytes_of_text("y")};
    struct filter values = {.kind = FILTER_VALUE_RANGE, .start = x, .end = x};
    assert_result(values, "");
    values = (struct filter){.kind = FILTER_VALUE_RANGE, .start = y, .end = x};
    assert_result(values, "");
}

/* What is written at the last moment there is, as reversed times are, lies in "for ever" too. */
Test(filter, a_range_of_timestamps_without_an_end_has_none)
{
    static const struct cell row[] = {{.family = 1, .timestamp_us = INT64_MAX}};
    struct filter times = {.kind = FILTER_TIMESTAMP_RANGE, .start_us = INT64_MAX};
    table.granularity = GRANULARITY_MICROS;
    for (int has_end = 0; has_end < 2; has_end++) {
        struct row_source rows = row_source_of(row, 1);
        struct cell_source source = row_source_cells(&rows);
        bool any = false;
        times.end_us = has_end != 0 ? INT64_MAX : 0;
        struct filter_program *program = compile(&times);
        cr_assert_eq(filter_run(program, bytes_of_text("row"), &source, NULL, NULL, &any, NULL),
                     STATUS_OK);
        cr_assert_eq(any, has_end == 0);
        filter_destroy(program);
    }
}

Test(filter, chain_and_transformers)
{
    const struct filter chain[] = {of_count(FILTER_CELLS_PER_COLUMN_LIMIT, 2),
                                   of_count(FILTER_CELLS_PER_ROW_OFFSET, 1),
                                   of_kind(FILTER_STRIP_VALUE), of_bytes(FILTER_APPLY_LABEL, "l-1"),
                                   of_count(FILTER_CELLS_PER_ROW_LIMIT, 2)};
    assert_result(CHAIN(chain), "1:a@2=[l-1] 1:b@2=[l-1]");
}

Test(filter, interleave_keeps_copies_side_by_side)
{
    const struct filter labelled[] = {of_bytes(FILTER_QUALIFIER_REGEX, "b"),
                                      of_bytes(FILTER_APPLY_LABEL, "l")};
    const struct filter members[] = {CHAIN(labelled), of_bytes(FILTER_VALUE_REGEX, "x")};
    assert_result(INTERLEAVE(members), "1:a@3=x 1:b@2=x[l] 1:b@2=x 2:c@1=x");

    const struct filter two[] = {of_kind(FILTER_PASS_ALL), of_kind(FILTER_PASS_ALL)};
    const struct filter counted[] = {INTERLEAVE(two), of_count(FILTER_CELLS_PER_COLUMN_LIMIT, 3)};
    assert_result(CHAIN(counted),
                  "1:a@3=x 1:a@3=x 1:a@2=y 1:b@2=x 1:b@2=x 2:a@9=y 2:a@9=y 2:c@1=x 2:c@1=x");
}

Test(filter, sink_bypasses_all_that_encloses_it)
{
    const struct filter sinking[] = {of_bytes(FILTER_APPLY_LABEL, "s"), of_kind(FILTER_SINK)};
    const struct filter members[] = {of_bytes(FILTER_VALUE_REGEX, "x"), CHAIN(sinking)};
    const struct filter chain[] = {of_count(FILTER_CELLS_PER_COLUMN_LIMIT, 1), INTERLEAVE(members),
                                   of_bytes(FILTER_QUALIFIER_REGEX, "b")};
    assert_result(CHAIN(chain), "1:a@3=x[s] 1:b@2=x 1:b@2=x[s] 2:a@9=y[s] 2:c@1=x[s]");
    const struct filter blocked[] = {of_kind(FILTER_SINK), of_kind(FILTER_BLOCK_ALL)};
    assert_result(CHAIN(blocked), "1:a@3=x 1:a@2=y 1:a@1=z 1:b@2=x 2:a@9=y 2:c@1=x");
}

Test(filter, condition_takes_one_branch_for_the_whole_row)
{
    struct filter parts[] = {of_bytes(FILTER_VALUE_REGEX, "y"),
                             of_bytes(FILTER_QUALIFIER_REGEX, "b"),
                             of_bytes(FILTER_FAMILY_REGEX, "stats")};
    assert_result(of_condition(parts), "1:b@2=x"); /* although y comes after the first cells */
    parts[0] = of_bytes(FILTER_VALUE_REGEX, "nope");
    assert_result(of_condition(parts), "2:a@9=y 2:c@1=x");
    struct filter half = of_condition(parts);
    half.has_false = false;
    assert_result(half, "");
    parts[0] = of_kind(FILTER_PASS_ALL);
    half = of_condition(parts);
    half.has_true = false;
    assert_result(half, "");
}

Test(filter, conditions_wait_for_those_before_them)
{
    const struct filter first_parts[] = {of_bytes(FILTER_QUALIFIER_REGEX, "c"),
                                         of_count(FILTER_CELLS_PER_COLUMN_LIMIT, 1),
                                         of_kind(FILTER_PASS_ALL)};
    /* Its predicate sees what the first condition puts out: no second cell of a column. */
    const struct filter second_cells[] = {of_bytes(FILTER_QUALIFIER_REGEX, "a"),
                                          of_bytes(FILTER_VALUE_REGEX, "z")};
    const struct filter second_parts[] = {CHAIN(second_cells), of_kind(FILTER_BLOCK_ALL),
                                          of_kind(FILTER_STRIP_VALUE)};
    const struct filter chain[] = {of_condition(first_parts), of_condition(second_parts)};
    assert_result(CHAIN(chain), "1:a@3= 1:b@2= 2:a@9= 2:c@1=");
}

Test(filter, patterns_work_on_bytes_and_whole_texts)
{
    static const struct cell cells[] = {CELL(1, "a.b", 1, "1"), CELL(1, "a.b\n", 1, "2"),
                                        CELL(1, "a.bc", 1, "3"), CELL(1, "axb", 1, "4")};
    static const char *const CASES[][2] = {
        {"a.b", "14"},     {"a\\.b", "1"},         {"a\\.b.*", "13"},  {"a\\.b\\C*", "123"},
        {"a\\.b\\n", "2"}, {"\\Qa.b\\E", "1"},     {".*", "134"},      {"\\C*", "1234"},
        {"a.bc?", "134"},  {"a\\.b(\\C)?", "123"}, {"^a\\.b$", "1"},   {"", ""},
        {"a\\.bc*", "13"}, {"a\\.bc+", "3"},       {"a\\.bc{1}", "3"}, {"a\\.b?.*", "13"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct filter filter = of_bytes(FILTER_QUALIFIER_REGEX, CASES[i][0]);
        struct filter_program *program = compile(&filter);
        struct row_source rows = row_source_of(cells, 4);
        struct cell_source source = row_source_cells(&rows);
        char text[RESULT_MAX] = "";
        char values[8] = "";
        bool any = false;
        cr_assert_eq(filter_run(program, BYTES_EMPTY, &source, write_cell, text, &any, NULL),
                     STATUS_OK);
        for (const char *at = strchr(text, '='); at != NULL; at = strchr(at + 1, '=')) {
            strncat(values, at + 1, 1);
        }
        cr_assert_str_eq(values, CASES[i][1], "%s: %s", CASES[i][0], text);
        filter_destroy(program);
    }
}

Test(filter, absent_bytes_are_empty_bytes)
{
    const struct cell cell = {.family = 1, .qualifier = BYTES_EMPTY, .value = BYTES_EMPTY};
    const char *const patterns[] = {"", ".*", "\\C*", "x?"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        const struct filter chain[] = {of_bytes(FILTER_QUALIFIER_REGEX, patterns[i]),
                                       of_bytes(FILTER_VALUE_REGEX, patterns[i])};
        struct filter filter = CHAIN(chain);
        struct filter_program *program = compile(&filter);
        struct row_source rows = row_source_of(&cell, 1);
        rows.lends_null = true;
        struct cell_source source = row_source_cells(&rows);
        bool any = false;
        cr_assert_eq(filter_run(program, BYTES_EMPTY, &source, NULL, NULL, &any, NULL), STATUS_OK);
        cr_assert(any, "%s", patterns[i]);
        filter_destroy(program);
    }
}

Test(filter, row_sample_is_repeatable_and_fair)
{
    struct filter sample = {.kind = FILTER_ROW_SAMPLE, .probability = 0.25};
    struct filter_program *program = compile(&sample);
    struct filter_program *again = compile(&sample);
    int kept = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        bool skips = filter_skips_row(program, bytes_of(&i, sizeof i));
        cr_assert_eq(filter_skips_row(again, bytes_of(&i, sizeof i)), skips);
        kept += skips ? 0 : 1;
    }
    cr_assert(kept > 2300 && kept < 2700, "%d", kept);
    filter_destroy(program);
    filter_destroy(again);
}

/* Two in one filter are not the same quarter of the rows: of the rows one keeps, the other keeps a quarter. */
Test(filter, row_samples_of_one_filter_are_independent)
{
    const struct filter samples[] = {{.kind = FILTER_ROW_SAMPLE, .probability = 0.25},
                                     {.kind = FILTER_ROW_SAMPLE, .probability = 0.25}};
    struct filter both = CHAIN(samples);
    struct filter_program *program = compile(&both);
    int kept = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        kept += filter_skips_row(program, bytes_of(&i, sizeof i)) ? 0 : 1;
    }
    cr_assert(kept > 525 && kept < 725, "%d", kept);
    filter_destroy(program);
}

/* Errors. */

Test(filter, refusals_name_the_field)
{
    struct filter off = {.kind = FILTER_PASS_ALL};
    assert_refused(off, "Error in field 'pass_all_filter' : must be true");
    off.kind = FILTER_BLOCK_ALL;
    assert_refused(off, "Error in field 'block_all_filter' : must be true");
    off.kind = FILTER_SINK;
    assert_refused(off, "Error in field 'sink' : must be true");
    off.kind = FILTER_STRIP_VALUE;
    assert_refused(off, "Error in field 'strip_value_transformer' : must be true");

    const struct filter one[] = {of_kind(FILTER_PASS_ALL)};
    assert_refused(CHAIN(one), "Chain must contain at least two RowFilters");
    assert_refused(INTERLEAVE(one), "Interleave must contain at least two RowFilters");
    assert_refused(of_bytes(FILTER_ROW_KEY_REGEX, ""),
                   "Error in field 'row_key_regex_filter' : argument must not be empty");
    assert_refused(of_bytes(FILTER_FAMILY_REGEX, "a:b"),
                   "Error in field 'family_name_regex_filter' : the pattern must not contain ':'");
    assert_refused(of_bytes(FILTER_VALUE_REGEX, "(a"),
                   "Error in field 'value_regex_filter' : missing ): (a");
    assert_refused(of_bytes(FILTER_QUALIFIER_REGEX, "a**["),
                   "Error in field 'column_qualifier_regex_filter' : bad repetition operator: **");
    assert_refused(of_bytes(FILTER_VALUE_REGEX, "((x{100}){100}){100}"),
                   "Error in field 'value_regex_filter' : invalid repetition size: {100}");
    assert_refused(of_bytes(FILTER_APPLY_LABEL, "Upper"),
                   "Error in field 'apply_label_transformer' : must match [a-z0-9\\-]{1,15}");
    assert_refused(of_bytes(FILTER_APPLY_LABEL, "sixteen-letters-"),
                   "Error in field 'apply_label_transformer' : must match [a-z0-9\\-]{1,15}");
    assert_refused(of_bytes(FILTER_VALUE_BITMASK, ""),
                   "Error in field 'value_bitmask_filter' : the mask must not be empty");
    assert_refused((struct filter){.kind = (enum filter_kind)99},
                   "Error in field 'filter' : unknown kind 99");
}

Test(filter, numbers_out_of_range_are_refused)
{
    assert_refused(of_count(FILTER_CELLS_PER_ROW_LIMIT, 0),
                   "Error in field 'cells_per_row_limit_filter' : must be greater than 0");
    assert_refused(of_count(FILTER_CELLS_PER_ROW_OFFSET, -1),
                   "Error in field 'cells_per_row_offset_filter' : must not be negative");
    assert_refused(of_count(FILTER_CELLS_PER_COLUMN_LIMIT, 0),
                   "Error in field 'cells_per_column_limit_filter' : must be greater than 0");
    const double bad[] = {0.0, 1.0, -0.5, 2.0, __builtin_nan("")};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_refused((struct filter){.kind = FILTER_ROW_SAMPLE, .probability = bad[i]},
                       "Error in field 'row_sample_filter' : must be between 0 and 1, exclusive");
    }
    struct filter times = {.kind = FILTER_TIMESTAMP_RANGE, .start_us = 3000, .end_us = 2000};
    assert_refused(times,
                   "Error in field 'timestamp_range_filter' : the start must not be after the end");
    times.start_us = -1000;
    assert_refused(times,
                   "Error in field 'timestamp_range_filter' : Timestamps must not be negative");
    times = (struct filter){.kind = FILTER_TIMESTAMP_RANGE, .end_us = -1};
    assert_refused(times,
                   "Error in field 'timestamp_range_filter' : Timestamps must not be negative");
}

Test(filter, unknown_families_are_not_found)
{
    struct filter filter = of_columns("nope", "a", "b");
    assert_refused_with(
        &filter, 0, STATUS_NOT_FOUND,
        "Error while reading table 't' : Requested column family not found: 'nope'");
    filter = of_bytes(FILTER_FAMILY_REGEX, "cf\\.y");
    assert_refused_with(
        &filter, 0, STATUS_NOT_FOUND,
        "Error while reading table 't' : Requested column family not found: 'cf.y'");
    filter = of_bytes(FILTER_FAMILY_REGEX, "cf\\.x");
    filter_destroy(compile(&filter));
    filter = of_columns("", "a", "b");
    assert_refused(filter, "Error in field 'column_range_filter' : Invalid id for collection "
                           "columnFamilies : Length should be between [1,64], but found 0 ''");
}

Test(filter, labels_and_sinks_have_their_places)
{
    const struct filter label = of_bytes(FILTER_APPLY_LABEL, "l");
    const struct filter inner[] = {of_kind(FILTER_PASS_ALL), label};
    const struct filter pair[] = {label, label};
    const struct filter twice[] = {CHAIN(inner), label};
    assert_refused(CHAIN(twice),
                   "Error in field 'chain' : may contain at most one apply_label_transformer");
    const struct filter behind[] = {INTERLEAVE(pair), of_kind(FILTER_PASS_ALL)};
    struct filter fine = CHAIN(behind);
    filter_destroy(compile(&fine));

    const struct filter sinking[] = {of_kind(FILTER_PASS_ALL), of_kind(FILTER_SINK)};
    for (int place = 0; place < 3; place++) {
        struct filter parts[] = {of_kind(FILTER_PASS_ALL), of_kind(FILTER_PASS_ALL),
                                 of_kind(FILTER_PASS_ALL)};
        parts[place] = CHAIN(sinking);
        assert_refused(of_condition(parts),
                       "Error in field 'sink' : is not allowed inside a condition");
    }
}

Test(filter, nesting_is_limited)
{
    struct filter levels[LIMIT_FILTER_DEPTH][2];
    for (int i = LIMIT_FILTER_DEPTH - 1; i >= 0; i--) {
        levels[i][0] = of_kind(FILTER_PASS_ALL);
        levels[i][1] = i == LIMIT_FILTER_DEPTH - 1 ? of_kind(FILTER_PASS_ALL)
                                                   : CHAIN(levels[i + 1]);
    }
    assert_refused(CHAIN(levels[0]), "Row filter is nested deeper than 20");
    struct filter fits = CHAIN(levels[1]);
    filter_destroy(compile(&fits));
}

Test(filter, size_is_limited)
{
    struct filter filter = of_kind(FILTER_PASS_ALL);
    const char *text = "Row filter exceeds maximum size of 20480 bytes";
    assert_refused_with(&filter, FILTER_WIRE_BYTES_MAX + 1, STATUS_INVALID_ARGUMENT, text);
    struct filter_program *program = NULL;
    cr_assert_eq(filter_compile(&filter, FILTER_WIRE_BYTES_MAX, &table, 1, &program, NULL),
                 STATUS_OK);
    filter_destroy(program);

    /* Also where nobody says the size: with a tag and three bytes of length it is at the limit. */
    static char pattern[LIMIT_FILTER_BYTES - 3];
    memset(pattern, 'p', sizeof pattern);
    struct filter regex = {.kind = FILTER_VALUE_REGEX,
                           .bytes = bytes_of(pattern, sizeof pattern - 1)};
    filter_destroy(compile(&regex));
    regex.bytes.size_bytes++;
    assert_refused_with(&regex, 0, STATUS_INVALID_ARGUMENT, text);
    static struct filter many[LIMIT_FILTER_BYTES / 2];
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        many[i] = of_kind(FILTER_PASS_ALL);
    }
    filter = INTERLEAVE(many);
    assert_refused_with(&filter, 0, STATUS_INVALID_ARGUMENT, text);
}

Test(filter, copies_cannot_explode)
{
    const struct filter two[] = {of_kind(FILTER_PASS_ALL), of_kind(FILTER_PASS_ALL)};
    const struct filter thin[] = {of_kind(FILTER_PASS_ALL), of_kind(FILTER_BLOCK_ALL)};
    static struct filter row[1000];
    for (size_t i = 0; i < 1000; i++) {
        row[i] = INTERLEAVE(two);
    }
    const char *text = "Error in field 'interleave' : the filter copies each cell too many times";
    assert_refused(of_list(FILTER_CHAIN, row, 1000), text);
    assert_refused(of_list(FILTER_CHAIN, row, 17), text);
    struct filter fits = of_list(FILTER_CHAIN, row, 12);
    filter_destroy(compile(&fits));
    for (size_t i = 0; i < 1000; i++) {
        row[i] = INTERLEAVE(thin);
    }
    assert_refused(of_list(FILTER_CHAIN, row, 1000), text);
}

Test(filter, conditions_in_a_row_are_limited)
{
    const struct filter parts[] = {of_kind(FILTER_PASS_ALL), of_kind(FILTER_PASS_ALL),
                                   of_kind(FILTER_PASS_ALL)};
    struct filter row[21];
    for (size_t i = 0; i < 21; i++) {
        row[i] = of_condition(parts);
    }
    assert_refused(of_list(FILTER_CHAIN, row, 21),
                   "Error in field 'condition' : more than 20 conditions wait for one another");
    assert_result(of_list(FILTER_CHAIN, row, 20),
                  "1:a@3=x 1:a@2=y 1:a@1=z 1:b@2=x 2:a@9=y 2:c@1=x");
}

Test(filter, many_patterns_share_the_memory)
{
    static struct filter members[1000];
    static char patterns[1000][16];
    for (size_t i = 0; i < 1000; i++) {
        snprintf(patterns[i], sizeof patterns[i], "user%03zu[0-9]*", i);
        members[i] = of_bytes(FILTER_QUALIFIER_REGEX, patterns[i]);
    }
    struct filter filter = INTERLEAVE(members);
    filter_destroy(compile(&filter));
}

static enum status refuse_cell(void *context, const struct cell *cell)
{
    (void)cell;
    return ++*(int *)context == 3 ? STATUS_LIMIT : STATUS_OK;
}

Test(filter, errors_of_source_and_output_come_through)
{
    const struct filter two[] = {of_kind(FILTER_PASS_ALL), of_kind(FILTER_STRIP_VALUE)};
    struct filter copies = INTERLEAVE(two);
    const struct filter *const filters[] = {NULL, &copies};
    for (size_t i = 0; i < 2; i++) {
        struct filter_program *program = compile(filters[i]);
        struct row_source rows = row_source_of(SMALL_ROW, 6);
        struct cell_source source = row_source_cells(&rows);
        int taken = 0;
        bool any = false;
        cr_assert_eq(filter_run(program, BYTES_EMPTY, &source, refuse_cell, &taken, &any, NULL),
                     STATUS_LIMIT);
        cr_assert_eq(taken, 3);
        cr_assert_not(any); /* untouched */
        rows = row_source_of(SMALL_ROW, 6);
        rows.fail_after = 2;
        char text[RESULT_MAX] = "";
        cr_assert_eq(filter_run(program, BYTES_EMPTY, &source, write_cell, text, &any, NULL),
                     STATUS_IO);
        filter_destroy(program);
    }
}

/* One filter of every kind that allocates. */
static struct filter every_kind(struct filter nodes[16])
{
    nodes[0] = of_bytes(FILTER_VALUE_REGEX, "x|y");
    nodes[1] = of_bytes(FILTER_QUALIFIER_REGEX, "a.*");
    nodes[2] = of_bytes(FILTER_QUALIFIER_REGEX, "[ab]");
    nodes[3] = of_list(FILTER_INTERLEAVE, nodes + 1, 2);
    nodes[4] = of_columns("cf", "a", "z");
    nodes[5] = of_bytes(FILTER_FAMILY_REGEX, "(c|s).*");
    nodes[6] = of_list(FILTER_CHAIN, nodes + 3, 3);
    nodes[7] = of_bytes(FILTER_APPLY_LABEL, "l");
    nodes[8] = of_bytes(FILTER_ROW_KEY_REGEX, "r|row");
    nodes[9] = of_condition(nodes + 6);
    nodes[10] = of_count(FILTER_CELLS_PER_COLUMN_LIMIT, 2);
    nodes[11] = (struct filter){.kind = FILTER_VALUE_RANGE,
                                .start = {true, false, bytes_of_text("a")},
                                .end = {true, true, bytes_of_text("z")}};
    nodes[12] = of_bytes(FILTER_VALUE_BITMASK, "x");
    return of_list(FILTER_CHAIN, nodes + 8, 5);
}

Test(filter, every_failing_allocation_is_a_status)
{
    struct filter nodes[16];
    struct filter filter = every_kind(nodes);
    struct row_source rows = row_source_of(SMALL_ROW, 6);
    struct cell_source source = row_source_cells(&rows);
    bool done = false;
    uint64_t after = 0;
    for (; !done; after++) {
        struct filter_program *program = NULL;
        struct error error = {.status = STATUS_OK};
        char text[RESULT_MAX] = "";
        bool any = false;
        memory_fail_arm(after, 0);
        enum status status = filter_compile(&filter, 0, &table, 1, &program, &error);
        if (status == STATUS_OK) {
            status = filter_run(program, bytes_of_text("row"), &source, write_cell, text, &any,
                                NULL);
        } else {
            cr_assert_eq(error.status, STATUS_NO_MEMORY, "%s", error.text);
            cr_assert_null(program);
        }
        memory_fail_disarm();
        done = status == STATUS_OK;
        cr_assert(done || status == STATUS_NO_MEMORY);
        filter_destroy(program);
        cr_assert_lt(after, 1000);
    }
    cr_assert_gt(after, 6);
}

Test(filter, format)
{
    struct filter nodes[16];
    struct filter filter = every_kind(nodes);
    struct buffer out = BUFFER_INIT;
    filter_format(&filter, &out);
    buffer_append_u8(&out, 0);
    cr_assert_str_eq((const char *)out.data,
                     "chain(row_key(\"r|row\"), "
                     "condition(chain(interleave(qualifier(\"a.*\"), qualifier(\"[ab]\")), "
                     "columns(\"cf\")[\"a\", \"z\"), family(\"(c|s).*\")) ? label(\"l\") : "
                     "row_key(\"r|row\")), "
                     "cells_per_column(2), values(\"a\", \"z\"], value_bitmask(\"x\"))");
    buffer_deinit(&out);
}
