/*
 * UTF-8: what a text of a message must be.
 *
 * Pure.  Thread rule: any thread.
 */
#ifndef GATEWAY_RPC_UTF8_H
#define GATEWAY_RPC_UTF8_H

#include <stdbool.h>

#include "common/base/bytes.h"

/* Whole characters and nothing else: none that is longer than it has to be, no half of a pair of
 * UTF-16, none beyond the last.  What is empty is. */
bool utf8_is_valid(struct bytes text);

#endif /* GATEWAY_RPC_UTF8_H */
