#include "common/base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void assert_fail(const char *text, const char *file, int line, const char *function)
{
    (void)fprintf(stderr, "%s:%d: %s: assertion failed: %s\n", file, line, function, text);
    abort();
}
