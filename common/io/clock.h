/* The machine's clocks, and true randomness.  Any thread. */
#ifndef COMMON_IO_CLOCK_H
#define COMMON_IO_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t clock_wall_us(void);      /* since 1970; may step */
int64_t clock_monotonic_ns(void); /* CLOCK_BOOTTIME: counts suspended time, never steps */
void clock_sleep_us(int64_t us);

/* Unpredictable bytes from the kernel: ids of clients, servers, stores. */
void random_fill(void *data, size_t size_bytes);
uint64_t random_u64(void); /* never 0 */

#endif /* COMMON_IO_CLOCK_H */
