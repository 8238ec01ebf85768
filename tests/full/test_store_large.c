/* The rows of unit/storage/test_store_large.c at the size that is promised.  Minutes, and gigabytes. */
#define LARGE_COLUMNS         10000000
#define LARGE_ROW_BYTES       (256 * 1024 * 1024)
#define LARGE_VALUE           (16 * 1024 * 1024)
#define LARGE_VERSIONS        1000000
#define LARGE_PREFIXED        1000000
#define LARGE_PREFIXED_POINTS 200000
#define LARGE_PREFIX_FACTOR   2
#define LARGE_TIME_LIMIT      600

#include "tests/unit/storage/test_store_large.c"
