/*
 * Row keys as places on a line: how far one stands between two others.
 *
 * A heat map shares what was counted for a range of keys out to parts of it, and nobody has counted how
 * many rows are in each part.  So keys are read as numbers: what two ends have in common is left away, and
 * each byte behind it is a digit, in a number system that is guessed from what stands there (decimal,
 * hexadecimal, letters, printable, any byte).  For keys that are filled with zeros, or hashed, that is right;
 * for others it is a guess that keeps the order.
 *
 * Keys are cut to HEAT_KEY_BYTES_MAX: two that are the same up to there are one.
 *
 * Pure.  Thread rule: none.
 */
#ifndef MASTER_HEAT_HEAT_KEY_H
#define MASTER_HEAT_HEAT_KEY_H

#include "common/base/bytes.h"

#define HEAT_KEY_BYTES_MAX 256

struct bytes heat_key_cut(struct bytes key);

/* 0 (at low or below) to 1 (at high or above).  Where nothing can be told, 0.5. */
double heat_key_fraction(struct bytes low, struct bytes high, struct bytes key);

#endif /* MASTER_HEAT_HEAT_KEY_H */
