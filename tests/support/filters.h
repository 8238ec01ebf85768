/*
 * Filters written as expressions, and the table that filter tests compile them against.
 */
#ifndef TESTS_SUPPORT_FILTERS_H
#define TESTS_SUPPORT_FILTERS_H

#include <criterion/criterion.h>

#include "common/model/filter.h"

static struct family families[] = {
    {.number = 1, .name = {(const uint8_t *)"cf", 2}},
    {.number = 2, .name = {(const uint8_t *)"stats", 5}},
    {.number = 3, .name = {(const uint8_t *)"cf.x", 4}},
};

static struct table table = {
    .number = 1,
    .id = {(const uint8_t *)"t", 1},
    .families = families,
    .family_count = 3,
    .family_number_next = 4,
};

/* Building filters. */

static inline struct filter of_kind(enum filter_kind kind)
{
    return (struct filter){.kind = kind, .flag = true};
}

static inline struct filter of_bytes(enum filter_kind kind, const char *text)
{
    return (struct filter){.kind = kind, .bytes = bytes_of_text(text)};
}

static inline struct filter of_count(enum filter_kind kind, int64_t count)
{
    return (struct filter){.kind = kind, .count = count};
}

static inline struct filter of_list(enum filter_kind kind,
                                    const struct filter *children,
                                    size_t count)
{
    return (struct filter){.kind = kind, .children = children, .child_count = count};
}

#define CHAIN(children) of_list(FILTER_CHAIN, children, sizeof(children) / sizeof *(children))
#define INTERLEAVE(children) \
    of_list(FILTER_INTERLEAVE, children, sizeof(children) / sizeof *(children))

static inline struct filter of_condition(const struct filter *children)
{
    return (struct filter){
        .kind = FILTER_CONDITION, .children = children, .has_true = true, .has_false = true};
}

static inline struct filter of_columns(const char *family, const char *start, const char *end)
{
    struct filter filter = of_bytes(FILTER_COLUMN_RANGE, family);
    filter.start = (struct filter_bound){true, true, bytes_of_text(start)};
    filter.end = (struct filter_bound){end != NULL, false, bytes_of_text(end ? end : "")};
    return filter;
}

/* Compiling. */

static inline struct filter_program *compile(const struct filter *filter)
{
    struct filter_program *program = NULL;
    struct error error;
    enum status status = filter_compile(filter, 0, &table, 1, &program, &error);
    cr_assert_eq(status, STATUS_OK, "%s", error.text);
    return program;
}

#endif /* TESTS_SUPPORT_FILTERS_H */
