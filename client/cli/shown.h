/*
 * Which characters a terminal shows, and which it does as they say.
 */
#ifndef CLIENT_CLI_SHOWN_H
#define CLIENT_CLI_SHOWN_H

#include <stdbool.h>
#include <stdint.h>

/* False: it steers a terminal, or how others are shown (their direction, their lines), or shows nothing at all; two keys
 * that differ by it look the same. */
bool character_is_shown(uint32_t character);

#endif /* CLIENT_CLI_SHOWN_H */
