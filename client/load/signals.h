/*
 * Ctrl-C and its like.
 *
 * Thread rule: the main thread; load_was_interrupted(): any.
 */
#ifndef CLIENT_LOAD_SIGNALS_H
#define CLIENT_LOAD_SIGNALS_H

#include <stdbool.h>

/* From now on SIGINT, SIGTERM and SIGHUP end the phase; a second one, or one while no phase has begun
 * yet (the cluster may not be there), ends the process.  An ignored SIGHUP (nohup) stays so. */
void load_signals_catch(void);

/* From now on there is something to report, or to undo: the first signal is only noted. */
void load_signals_matter(void);
bool load_was_interrupted(void);

/* The exit code after LOAD_INTERRUPTED. */
int load_signal_exit_code(void);

#endif /* CLIENT_LOAD_SIGNALS_H */
