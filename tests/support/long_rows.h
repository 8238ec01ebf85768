/*
 * Rows of long keys that all begin alike: in the base one link leads to them (base_walk.h).
 */
#ifndef TESTS_SUPPORT_LONG_ROWS_H
#define TESTS_SUPPORT_LONG_ROWS_H

#include <string.h>

#define LONG_BYTES 500 /* a key that is a link and the rest of it */

/* Good until the third call after it. */
static inline const char *long_row(char last)
{
    static char rows[3][LONG_BYTES + 1];
    static int next = 0;
    char *row = rows[next++ % 3];
    memset(row, 'r', LONG_BYTES);
    row[LONG_BYTES - 1] = last;
    return row;
}

#endif /* TESTS_SUPPORT_LONG_ROWS_H */
