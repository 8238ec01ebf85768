#include <criterion/criterion.h>

#include "common/base/memory.h"
#include "common/model/filter_pattern.h"

#define MEMORY_BYTES (1024 * 1024)

static struct regex *compile(const char *pattern)
{
    struct regex *regex = NULL;
    struct error error;
    enum status status = regex_compile(bytes_of_text(pattern), MEMORY_BYTES, &regex, &error);
    cr_assert_eq(status, STATUS_OK, "%s: %s", pattern, error.text);
    return regex;
}

static bool matches(const char *pattern, const void *text, size_t size_bytes)
{
    struct regex *regex = compile(pattern);
    bool result = regex_matches(regex, bytes_of(text, size_bytes));
    regex_destroy(regex);
    return result;
}

Test(regex, matches_the_whole_text_only)
{
    cr_assert(matches("ab+", "abb", 3));
    cr_assert_not(matches("ab+", "xabb", 4));
    cr_assert_not(matches("ab+", "abbx", 4));
    cr_assert_not(matches("a|ab", "abc", 3));
    cr_assert(matches("a|ab", "ab", 2));
    cr_assert(matches("", "", 0));
    cr_assert(matches("x*", NULL, 0));
}

Test(regex, works_on_raw_bytes)
{
    cr_assert(matches(".", "\xff", 1));
    cr_assert(matches("\\C", "\xff", 1));
    cr_assert(matches("\\C{3}", "\x00\n\xff", 3));
    cr_assert(matches("\xe9+", "\xe9\xe9", 2));
    cr_assert(matches("\\x00", "\0", 1));
    cr_assert_not(matches(".", "\xc3\xa9", 2)); /* e-acute in UTF-8 is two bytes here */
    cr_assert_not(matches("a.b", "a\nb", 3));
    cr_assert(matches("(?s)a.b", "a\nb", 3));
    cr_assert(matches("(?i)AbC", "aBc", 3));
}

Test(regex, pattern_may_hold_a_zero_byte)
{
    struct regex *regex = NULL;
    cr_assert_eq(regex_compile(bytes_of("a\0b", 3), MEMORY_BYTES, &regex, NULL), STATUS_OK);
    cr_assert(regex_matches(regex, bytes_of("a\0b", 3)));
    cr_assert_not(regex_matches(regex, bytes_of("a", 1)));
    regex_destroy(regex);
}

static void expect_alike(const struct pattern *pattern,
                         const struct regex *regex,
                         struct bytes source,
                         struct bytes text)
{
    cr_assert_eq(pattern_matches(pattern, text), regex_matches(regex, text),
                 "pattern of %zu bytes, with %02x; text of %zu bytes, with %02x", source.size_bytes,
                 source.data[source.size_bytes > 1], text.size_bytes, text.data[0]);
}

/* On texts that hold the byte, another one, both, neither, and a line's end behind. */
static void expect_as_regex(struct bytes source, uint8_t byte)
{
    struct arena arena;
    arena_init(&arena, 1024, SIZE_MAX);
    struct pattern pattern = {.kind = PATTERN_EXACT};
    struct regex *regex = NULL;
    enum status status = regex_compile(source, MEMORY_BYTES, &regex, NULL);
    cr_assert_eq(pattern_compile(source, MEMORY_BYTES, &arena, &pattern, NULL), status,
                 "pattern of %zu bytes, with %02x", source.size_bytes, byte);
    if (status == STATUS_OK) {
        const uint8_t text[] = {byte, '\n', (uint8_t)(byte ^ 1), byte, byte, 'x', '\\', byte, 0};
        for (size_t from = 0; from < sizeof text; from++) {
            for (size_t size = 0; size <= sizeof text - from; size++) {
                expect_alike(&pattern, regex, source, bytes_of(text + from, size));
            }
        }
        pattern_deinit(&pattern);
        regex_destroy(regex);
    }
    arena_deinit(&arena);
}

/* Most patterns are compared as bytes (filter_pattern.h): with every byte, plain and behind a backslash. */
Test(regex, what_needs_no_regex_matches_as_one_does)
{
    static const char *const ENDS[] = {"", ".*", "\\C*", "*", "+", "{2}", "|x", "$"};
    for (unsigned byte = 0; byte < 256; byte++) {
        for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++) {
            uint8_t source[8] = {'\\', (uint8_t)byte};
            size_t end_bytes = strlen(ENDS[i]);
            memcpy(source + 2, ENDS[i], end_bytes);
            expect_as_regex(bytes_of(source, 2 + end_bytes), (uint8_t)byte);
            expect_as_regex(bytes_of(source + 1, 1 + end_bytes), (uint8_t)byte);
        }
    }
}

Test(regex, bad_patterns_are_refused_with_a_reason)
{
    static const char *const BAD[] = {"(", "a)", "[", "*", "a**b{", "\\", "(?<n", "\\1", "a{1001}"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct regex *regex = NULL;
        struct error error = {.status = STATUS_OK};
        enum status status = regex_compile(bytes_of_text(BAD[i]), MEMORY_BYTES, &regex, &error);
        if (status == STATUS_OK) { /* RE2 takes a dangling { as a plain byte */
            cr_assert_not_null(strchr(BAD[i], '{'), "%s", BAD[i]);
            regex_destroy(regex);
            continue;
        }
        cr_assert_eq(status, STATUS_INVALID_ARGUMENT);
        cr_assert_eq(error.status, STATUS_INVALID_ARGUMENT);
        cr_assert_gt(strlen(error.text), 0);
        cr_assert_null(regex);
    }
}

Test(regex, hostile_patterns_neither_hang_nor_grow)
{
    struct error error;
    struct regex *regex = NULL;
    cr_assert_eq(regex_compile(bytes_of_text("((a{100}){100}){100}"), MEMORY_BYTES, &regex, &error),
                 STATUS_INVALID_ARGUMENT);
    cr_assert_eq(regex_compile(bytes_of_text("(\\C{1000}x){9}"), 4096, &regex, &error),
                 STATUS_INVALID_ARGUMENT);

    /* Exponential for a backtracking engine; and too many states for the cache. */
    static uint8_t text[200000];
    memset(text, 'a', sizeof text);
    cr_assert_not(matches("(a*)*b", text, sizeof text));
    cr_assert_not(matches("(a|aa)+(a|b)*[^a]", text, sizeof text));
    cr_assert(matches("[ab]*a[ab]{12}", text, sizeof text));
}

Test(regex, failing_allocation_is_a_status)
{
    struct regex *regex = NULL;
    struct error error;
    memory_fail_arm(0, 0);
    cr_assert_eq(regex_compile(bytes_of_text("a+"), MEMORY_BYTES, &regex, &error),
                 STATUS_NO_MEMORY);
    memory_fail_disarm();
    cr_assert_null(regex);
    regex_destroy(NULL);
}
