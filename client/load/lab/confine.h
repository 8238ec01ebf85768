/*
 * Confinement: each tablet server gets a share of a CPU for the time of a run, so that several servers
 * on one small machine behave as several machines.
 *
 * By a control group of its own for each process, of version 1 or 2, with a period of 10 ms: a longer
 * one makes all of its threads stand still for so long that it is seen in every latency.
 *
 * It is undone whatever becomes of us: a GUARDIAN, a process of its own that does nothing else, waits at
 * a pipe whose other end is ours.  When that closes (lab_confine_end(), exit, kill -9) it moves what is
 * in the groups back to where it was, and removes them.
 *
 * Thread rule: the main thread.
 */
#ifndef CLIENT_LOAD_LAB_CONFINE_H
#define CLIENT_LOAD_LAB_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define LAB_CONFINED_MAX   64
#define LAB_GROUP_BYTES    256
#define LAB_PERIOD_US      10000
#define LAB_QUOTA_US_LEAST 1000 /* the kernel's */

struct lab_group {
    pid_t pid;
    char folder[LAB_GROUP_BYTES];
    char home[LAB_GROUP_BYTES]; /* the file that takes it back */
};

struct lab_confine {
    pid_t guardian; /* 0 = nothing is confined */
    int pipe;
    int version; /* of control groups: 1 or 2 */
    size_t count;
    struct lab_group groups[LAB_CONFINED_MAX];
};

/* Confine these processes.  False: none is, and ret_said tells why; true: it tells how many are, and
 * how much.  end in either case. */
bool lab_confine_begin(struct lab_confine *confine,
                       const pid_t *pids,
                       size_t count,
                       double share,
                       char *ret_said,
                       size_t said_size);

/* Undo it, and wait until that is done.  May be called twice. */
void lab_confine_end(struct lab_confine *confine);

#endif /* CLIENT_LOAD_LAB_CONFINE_H */
