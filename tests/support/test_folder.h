/*
 * A folder of a test's own under $TMPDIR, or /tmp.
 *
 * ./check points TMPDIR to memory where there is enough of it: what these tests show does not hang
 * on how long a disk takes to sync, so neither must their time, nor what they find.
 */
#ifndef TESTS_SUPPORT_TEST_FOLDER_H
#define TESTS_SUPPORT_TEST_FOLDER_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

/* $TMPDIR/edubba-NAME-XXXXXX, to be made unique. */
static inline void test_path_template(char *path, size_t size, const char *name)
{
    const char *base = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    int length = snprintf(path, size, "%s/edubba-%s-XXXXXX", base, name);
    cr_assert(length > 0 && (size_t)length < size, "TMPDIR is too long: %s", base);
}

/* Makes it; whoever asked removes it. */
static inline void test_folder_make(char *path, size_t size, const char *name)
{
    test_path_template(path, size, name);
    cr_assert_not_null(mkdtemp(path), "%s", path);
}

#endif /* TESTS_SUPPORT_TEST_FOLDER_H */
