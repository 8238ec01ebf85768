/*
 * Signals of a daemon, made ordinary: SIGTERM and SIGINT become one call on a thread of its own.
 *
 * signals_block() comes first thing in main(), before any thread exists, so that every thread
 * inherits the mask and no system call of ours is ever interrupted by them.  SIGPIPE is ignored.
 * A second SIGTERM or SIGINT ends the process at once (exit code 128 + signal), for a person whose
 * first Ctrl-C seems to hang; with a synced log that is as safe as any crash.  Within a second it is the
 * first one once more: timeout(1) sends each to the process and then to its group, and a script may pass on
 * what the terminal has told all.  What hangs is closing, mostly, so the thread stays until all is closed:
 *
 *   signals_start()   run   signals_closing()   close everything   signals_stop()
 *
 * One per process.
 */
#ifndef COMMON_IO_SIGNALS_H
#define COMMON_IO_SIGNALS_H

#include <stdint.h>

#include "common/base/error.h"

#define SIGNALS_SECOND_AFTER_NS INT64_C(1000000000)

/* Block what signals_start() will wait for, in this thread and all that it starts. */
void signals_block(void);

/* Start the thread.  on_stop is called once, on that thread, with the signal's number; it must only
 * hand over.  Requires signals_block().  Errors: STATUS_NO_MEMORY, STATUS_IO. */
enum status signals_start(void (*on_stop)(void *context, int signal),
                          void *context,
                          struct error *ret_error);

/* What on_stop would ask for has begun: it is not called any more after this, and is not running.  A
 * second signal still ends the process.  From any thread but the one that calls on_stop; without a
 * thread it does nothing. */
void signals_closing(void);

/* End and join the thread; without one it does nothing. */
void signals_stop(void);

#endif /* COMMON_IO_SIGNALS_H */
