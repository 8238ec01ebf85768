/*
 * What limits_client and limits_wire count and say.  The includer has `error`, of what was last asked,
 * and says with ERROR_NAME what its code is called.
 */
#ifndef TESTS_CLUSTER_LIMITS_CHECK_H
#define TESTS_CLUSTER_LIMITS_CHECK_H

#include <stdbool.h>
#include <stdio.h>

static int passed;
static int failed;

static void check(const char *what, bool good)
{
    if (good) {
        passed++;
    } else {
        failed++;
        printf("FAILED: %s: %s: %s\n", what, ERROR_NAME, error.text);
    }
}

#endif /* TESTS_CLUSTER_LIMITS_CHECK_H */
