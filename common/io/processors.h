/*
 * How much processor this process may use: the machine's processors, or less where a control group (Linux
 * cgroups, v1 and v2) of the process, or one above it, has a quota.
 *
 * Read from the system at each call, some ten files: for once a second, not for the hot path.  What cannot
 * be read sets no limit.  Any thread.
 */
#ifndef COMMON_IO_PROCESSORS_H
#define COMMON_IO_PROCESSORS_H

#include <stdint.h>

/* In thousandths of a processor; at least 1. */
uint64_t processors_permille(void);

/* What control groups allow, as seen below root ("" = the machine's own files); UINT64_MAX: no limit. */
uint64_t processors_quota_permille(const char *root);

#endif /* COMMON_IO_PROCESSORS_H */
