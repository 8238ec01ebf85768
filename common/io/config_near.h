/*
 * Which key may have been meant by one that there is not: the nearest by letters, or the only one of that
 * name in another group ("timeout" for "request.timeout").
 *
 * Pure; thread rule: any.
 */
#ifndef COMMON_IO_CONFIG_NEAR_H
#define COMMON_IO_CONFIG_NEAR_H

#include "common/io/config.h"

/* NULL = none is near. */
const char *config_nearest_key(const struct config_key *keys, size_t count, const char *name);

#endif /* COMMON_IO_CONFIG_NEAR_H */
