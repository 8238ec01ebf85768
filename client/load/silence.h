/*
 * Silence: a phase that waits for answers and gets none says so, and which server it is.
 *
 * After three seconds without an answer to anything that is on its way a small read is sent to each
 * server of the table, in a thread of its own, for that blocks; what it found is said on stderr, and
 * again every ten seconds.  Nothing of this is counted.
 *
 * Thread rule: the main thread.
 */
#ifndef CLIENT_LOAD_SILENCE_H
#define CLIENT_LOAD_SILENCE_H

#include "client/load/run.h"

#define LOAD_SILENCE_TEXT_BYTES 700

struct load_silence {
    const struct load_run *run;
    const char *clear;   /* printed before what is said: takes the line of progress away */
    uint64_t answered;   /* requests and rows that have come, when that was last looked at */
    uint64_t waiting;    /* requests on their way */
    int64_t since_ns;    /* when an answer last came, or nothing was on its way */
    int64_t looked_ns;   /* when that was last looked at */
    int64_t look_due_ns; /* when the servers are asked next */
    bool was_said;       /* of this silence */
    bool is_asking;      /* thread runs, or has to be joined */
    _Atomic bool has_asked;
    pthread_t thread;
    char found[LOAD_SILENCE_TEXT_BYTES]; /* the thread's until has_asked */
};

/* The run has begun.  end in any case. */
void load_silence_begin(struct load_silence *silence,
                        const struct load_run *run,
                        const char *clear,
                        int64_t now_ns);

/* To be called several times a second. */
void load_silence_look(struct load_silence *silence, int64_t now_ns);

/* For how many seconds nothing has been answered that is waited for. */
double load_silence_s(const struct load_silence *silence, int64_t now_ns);

/* Waits for the servers to be asked: a few seconds at the most. */
void load_silence_end(struct load_silence *silence);

#endif /* CLIENT_LOAD_SILENCE_H */
