/*
 * Criterion's assertions for tests that fork: in a forked child Criterion cannot report, so these
 * say what is wrong on stderr and abort.  Include before whatever uses them.
 */
#ifndef TESTS_SUPPORT_FORKED_H
#define TESTS_SUPPORT_FORKED_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#undef cr_assert
#undef cr_assert_eq
#undef cr_assert_neq
#undef cr_assert_lt
#undef cr_assert_leq
#undef cr_assert_gt
#undef cr_assert_geq
#undef cr_assert_not
#undef cr_assert_not_null
#undef cr_assert_null
#undef cr_assert_str_eq
#undef cr_assert_fail

#define FORKED_ASSERT(condition, text, ...)                                       \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, (text));           \
            __VA_OPT__(fprintf(stderr, "    " __VA_ARGS__); fputc('\n', stderr);) \
            abort();                                                              \
        }                                                                         \
    } while (0)

#define cr_assert(c, ...)        FORKED_ASSERT(c, #c __VA_OPT__(, ) __VA_ARGS__)
#define cr_assert_eq(a, b, ...)  FORKED_ASSERT((a) == (b), #a " == " #b __VA_OPT__(, ) __VA_ARGS__)
#define cr_assert_neq(a, b, ...) FORKED_ASSERT((a) != (b), #a " != " #b __VA_OPT__(, ) __VA_ARGS__)
#define cr_assert_lt(a, b, ...)  FORKED_ASSERT((a) < (b), #a " < " #b __VA_OPT__(, ) __VA_ARGS__)
#define cr_assert_leq(a, b, ...) FORKED_ASSERT((a) <= (b), #a " <= " #b __VA_OPT__(, ) __VA_ARGS__)
#define cr_assert_gt(a, b, ...)  FORKED_ASSERT((a) > (b), #a " > " #b __VA_OPT__(, ) __VA_ARGS__)
#define cr_assert_geq(a, b, ...) FORKED_ASSERT((a) >= (b), #a " >= " #b __VA_OPT__(, ) __VA_ARGS__)
#define cr_assert_not(a, ...)    FORKED_ASSERT(!(a), "not " #a __VA_OPT__(, ) __VA_ARGS__)
#define cr_assert_null(a, ...)   FORKED_ASSERT((a) == NULL, #a " is NULL" __VA_OPT__(, ) __VA_ARGS__)
#define cr_assert_not_null(a, ...) \
    FORKED_ASSERT((a) != NULL, #a " is not NULL" __VA_OPT__(, ) __VA_ARGS__)
#define cr_assert_str_eq(a, b) FORKED_ASSERT(strcmp((a), (b)) == 0, #a " equals " #b, "%s", (a))
#define cr_assert_fail(...)    FORKED_ASSERT(0, "failed" __VA_OPT__(, ) __VA_ARGS__)

#endif /* TESTS_SUPPORT_FORKED_H */
