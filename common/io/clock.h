/* The machine's clocks.  Any thread. */
#ifndef COMMON_IO_CLOCK_H
#define COMMON_IO_CLOCK_H

#include <stdint.h>

int64_t clock_wall_us(void);      /* since 1970; may step */
int64_t clock_monotonic_ns(void); /* CLOCK_BOOTTIME: counts suspended time, never steps */
void clock_sleep_us(int64_t us);

#endif /* COMMON_IO_CLOCK_H */
