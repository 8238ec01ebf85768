#include <criterion/criterion.h>

#include <string.h>

#include "gateway/core/features.h"

static struct features parse(const char *header)
{
    return features_parse(bytes_of_text(header));
}

/* Field 1 and field 4, both true, as the bytes 08 01 20 01. */
Test(features, are_read_from_the_header)
{
    cr_assert(parse("CAEgAQ==").has_reverse_scans);
    cr_assert(parse("CAEgAQ==").has_last_scanned_rows);
    cr_assert(parse("CAEgAQ").has_reverse_scans, "without padding");
    cr_assert(parse("CAE=").has_reverse_scans);
    cr_assert_not(parse("CAE=").has_last_scanned_rows);
    cr_assert_not(parse("IAE=").has_reverse_scans);
    cr_assert(parse("IAE=").has_last_scanned_rows);
}

/* 18 01 28 01 30 01 3a 02 61 62: fields 3, 5, 6 and a string that nobody knows; then 08 01. */
Test(features, what_is_not_known_is_skipped)
{
    cr_assert(parse("GAEoATABOgJhYggB").has_reverse_scans);
    cr_assert_not(parse("GAEoATABOgJhYg").has_reverse_scans);
}

Test(features, what_cannot_be_read_says_nothing)
{
    static const char *const bad[] = {"", "=", "?", "CAE=CAE=", "CA", "OgJh", "/////w=="};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct features features = parse(bad[i]);
        cr_assert_not(features.has_reverse_scans, "%s", bad[i]);
        cr_assert_not(features.has_last_scanned_rows, "%s", bad[i]);
    }
}

Test(features, rows_are_kept_whole_for_go)
{
    static const char *const go[] = {"grpc-go/1.83.2", "cbt/1.23.2 grpc-go/1.70.0", "grpc-go/"};
    static const char *const others[] = {"", "grpc-go", "grpc-node-js/1.13.0", "grpc-java-netty/1",
                                         "grpc-python/1.70 grpc-c/44.2.0 (linux; chttp2)"};
    for (size_t i = 0; i < sizeof go / sizeof *go; i++) {
        cr_assert(features_wants_whole_rows(bytes_of_text(go[i])), "%s", go[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        cr_assert_not(features_wants_whole_rows(bytes_of_text(others[i])), "%s", others[i]);
    }
}

Test(features, a_header_without_end_is_not_looked_at)
{
    static char header[100001];
    memset(header, 'A', sizeof header - 1);
    cr_assert_not(parse(header).has_reverse_scans);
}
