/* Names of threads, as `top -H`, gdb and perf show them. */
#ifndef COMMON_IO_THREAD_NAME_H
#define COMMON_IO_THREAD_NAME_H

/* Of the thread that calls; at most 15 bytes. */
void thread_name_set(const char *name);

#endif /* COMMON_IO_THREAD_NAME_H */
