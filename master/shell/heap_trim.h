/*
 * What is free in the middle of a heap goes back to the system, every few seconds: a thread for that alone.
 *
 * Connections that come by the thousand have heaps of nng's threads grow, and one small piece that lives long holds all
 * that was before it.  The other daemons do so on a thread that has nothing else to do; here the main one is the loop.
 *
 * Thread rule: of whoever starts it.
 */
#ifndef MASTER_SHELL_HEAP_TRIM_H
#define MASTER_SHELL_HEAP_TRIM_H

struct heap_trim;

/* NULL: there was no memory for it, and it is done without. */
struct heap_trim *heap_trim_start(void);
void heap_trim_stop(struct heap_trim *trim); /* NULL is fine */

#endif /* MASTER_SHELL_HEAP_TRIM_H */
