/*
 * Unpredictable numbers from the system, for salts and identities (never for simulation: prng.h).
 */
#ifndef COMMON_IO_ENTROPY_H
#define COMMON_IO_ENTROPY_H

#include <stdint.h>

/* Never fails: the system's generator is there from early boot on.  Any thread. */
uint64_t entropy_u64(void); /* never 0 */

#endif /* COMMON_IO_ENTROPY_H */
