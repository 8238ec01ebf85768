/*
 * A test that cannot be had on this machine.  Criterion does not tell of one in its last line, nor in any
 * other unless asked: so the test says it itself, and ./check counts these lines.
 */
#ifndef TESTS_SUPPORT_SKIP_H
#define TESTS_SUPPORT_SKIP_H

#include <criterion/criterion.h>
#include <stdio.h>

/* Ends the test; takes a reason as printf() does. */
#define test_skip(...)                      \
    do {                                    \
        (void)fputs("skipped: ", stderr);   \
        (void)fprintf(stderr, __VA_ARGS__); \
        (void)fputc('\n', stderr);          \
        cr_skip_test(__VA_ARGS__);          \
    } while (false)

#endif /* TESTS_SUPPORT_SKIP_H */
