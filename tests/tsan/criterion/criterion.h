/*
 * Criterion for the thread sanitizer.
 *
 * The real one maps its arena where the thread sanitizer keeps its shadow and ends before the first
 * test.  Under the tsan preset this header is found in its place: the same macros, as far as our
 * tests use them, one process a test, the same last line.
 */
#ifndef TESTS_TSAN_CRITERION_H
#define TESTS_TSAN_CRITERION_H

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

struct plain_test_options {
    void (*init)(void);
    void (*fini)(void);
    int signal;
    int exit_code;
    double timeout;
    bool disabled;
    const char *description;
};

struct plain_test {
    struct plain_test *next;
    const char *suite;
    const char *name;
    void (*run)(void);
    struct plain_test_options options;
};

static struct plain_test *plain_tests;
static struct plain_test **plain_tests_end = &plain_tests;
static struct plain_test *plain_suites;

#define Test(suite_, name_, ...)                                          \
    static void suite_##_##name_##_run(void);                             \
    static struct plain_test suite_##_##name_##_test = {                  \
        NULL, #suite_, #name_, suite_##_##name_##_run, {__VA_ARGS__}};    \
    __attribute__((constructor)) static void suite_##_##name_##_add(void) \
    {                                                                     \
        *plain_tests_end = &suite_##_##name_##_test;                      \
        plain_tests_end = &suite_##_##name_##_test.next;                  \
    }                                                                     \
    static void suite_##_##name_##_run(void)

#define TestSuite(suite_, ...)                                                          \
    static struct plain_test suite_##_suite = {NULL, #suite_, "", NULL, {__VA_ARGS__}}; \
    __attribute__((constructor)) static void suite_##_add(void)                         \
    {                                                                                   \
        suite_##_suite.next = plain_suites;                                             \
        plain_suites = &suite_##_suite;                                                 \
    }                                                                                   \
    _Static_assert(1, "")

__attribute__((unused)) static void plain_check(
    bool holds, const char *text, const char *file, int line, const char *format, ...)
{
    if (holds) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)fprintf(stderr, "[----] %s:%d: Assertion failed: %s\n[----]   ", file, line, text);
    (void)vfprintf(stderr, format, arguments);
    (void)fprintf(stderr, "\n");
    va_end(arguments);
    _exit(1);
}

#define PLAIN_CHECK(holds, text, ...) \
    plain_check((holds), (text), __FILE__, __LINE__, "" __VA_ARGS__)

#define cr_assert(c, ...)          PLAIN_CHECK((c), #c, __VA_ARGS__)
#define cr_assert_not(c, ...)      PLAIN_CHECK(!(c), "not " #c, __VA_ARGS__)
#define cr_assert_fail(...)        PLAIN_CHECK(false, "fail", __VA_ARGS__)
#define cr_assert_eq(a, b, ...)    PLAIN_CHECK((a) == (b), #a " == " #b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...)   PLAIN_CHECK((a) != (b), #a " != " #b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...)    PLAIN_CHECK((a) < (b), #a " < " #b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...)   PLAIN_CHECK((a) <= (b), #a " <= " #b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...)    PLAIN_CHECK((a) > (b), #a " > " #b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...)   PLAIN_CHECK((a) >= (b), #a " >= " #b, __VA_ARGS__)
#define cr_assert_null(a, ...)     PLAIN_CHECK((a) == NULL, #a " == NULL", __VA_ARGS__)
#define cr_assert_not_null(a, ...) PLAIN_CHECK((a) != NULL, #a " != NULL", __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) \
    PLAIN_CHECK(strcmp((a), (b)) == 0, #a " equals " #b, __VA_ARGS__)
#define cr_assert_arr_eq(a, b, size, ...) \
    PLAIN_CHECK(memcmp((a), (b), (size)) == 0, #a " equals " #b, __VA_ARGS__)

#define PLAIN_SKIPPED     77
#define cr_skip_test(...) _exit(PLAIN_SKIPPED)

static void plain_run_here(const struct plain_test *test, const struct plain_test_options *suite)
{
    double timeout = test->options.timeout > 0 ? test->options.timeout : suite->timeout;
    (void)alarm((unsigned)timeout);
    if (suite->init != NULL) {
        suite->init();
    }
    if (test->options.init != NULL) {
        test->options.init();
    }
    test->run();
    if (test->options.fini != NULL) {
        test->options.fini();
    }
    if (suite->fini != NULL) {
        suite->fini();
    }
    exit(0);
}

static unsigned plain_skipped_count;

static bool plain_run(const struct plain_test *test)
{
    static const struct plain_test_options none;
    const struct plain_test_options *suite = &none;
    for (const struct plain_test *each = plain_suites; each != NULL; each = each->next) {
        suite = strcmp(each->suite, test->suite) == 0 ? &each->options : suite;
    }
    pid_t child = fork();
    if (child == 0) {
        plain_run_here(test, suite);
    }
    int status = 0;
    bool ended = child > 0 && waitpid(child, &status, 0) == child;
    if (ended && WIFEXITED(status) && WEXITSTATUS(status) == PLAIN_SKIPPED) {
        plain_skipped_count++;
        return true;
    }
    int expected_signal = test->options.signal != 0 ? test->options.signal : suite->signal;
    int signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    bool passes = ended && signal_number == expected_signal &&
                  (signal_number != 0 || WEXITSTATUS(status) == test->options.exit_code);
    if (!passes) {
        (void)fprintf(stderr, "[FAIL] %s::%s: status %d, signal %d\n", test->suite, test->name,
                      WEXITSTATUS(status), signal_number);
    }
    return passes;
}

int main(void)
{
    unsigned tested = 0;
    unsigned passing = 0;
    for (const struct plain_test *test = plain_tests; test != NULL; test = test->next) {
        if (!test->options.disabled) {
            tested++;
            passing += plain_run(test) ? 1 : 0;
        }
    }
    tested -= plain_skipped_count;
    passing -= plain_skipped_count;
    (void)fprintf(stderr,
                  "[====] Synthesis: Tested: %u | Passing: %u | Failing: %u | Crashing: 0\n",
                  tested, passing, tested - passing);
    return tested == passing ? 0 : 1;
}

#endif /* TESTS_TSAN_CRITERION_H */
