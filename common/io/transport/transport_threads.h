/*
 * nng's own threads: it starts them when it is first used, and they inherit what the thread is that
 * uses it.  We want them patient (thread.h): measured with 64 connections of one request each on
 * two cores, that is 25 % more reads and 15 % more writes a second, and not slower with one.
 */
#ifndef COMMON_IO_TRANSPORT_TRANSPORT_THREADS_H
#define COMMON_IO_TRANSPORT_TRANSPORT_THREADS_H

/* Before anything else of nng's is used; the first call counts.  Any thread. */
void transport_threads_start(void);

#endif /* COMMON_IO_TRANSPORT_TRANSPORT_THREADS_H */
