/* What a thread is called, and how eager it is. */
#ifndef COMMON_IO_THREAD_H
#define COMMON_IO_THREAD_H

#include <stdbool.h>

/* Of the thread that calls, as `top -H`, gdb and perf show it; at most 15 bytes. */
void thread_name_set(const char *name);

/*
 * A patient thread (SCHED_BATCH) does not interrupt another when it is woken: it gets its turn when
 * a core is free or the other has had its time.  Where more threads want to run than there are
 * cores, what they hand one another gathers meanwhile, and there are fewer changes of threads.
 * Of the thread that calls; threads that it starts are as patient.  A thread that runs by another
 * policy than the usual one is left alone.  Returns what it was before.
 */
bool thread_patient_set(bool patient);

#endif /* COMMON_IO_THREAD_H */
