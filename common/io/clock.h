/* The machine's clocks.  Any thread. */
#ifndef COMMON_IO_CLOCK_H
#define COMMON_IO_CLOCK_H

#include <pthread.h>
#include <stdint.h>

int64_t clock_wall_us(void);      /* since 1970; may step */
int64_t clock_monotonic_ns(void); /* CLOCK_BOOTTIME: counts suspended time, never steps */
void clock_sleep_us(int64_t us);

/* CPU time used so far: by the process, and by one of its threads that has not been joined.  Each
 * is a call of the system: not for the hot path. */
int64_t clock_process_cpu_ns(void);
int64_t clock_thread_cpu_ns(pthread_t thread);

#endif /* COMMON_IO_CLOCK_H */
