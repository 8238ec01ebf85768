/*
 * Calls over libgrpc's C core, so many in flight, until the time is over: the client of the
 * programs that measure gRPC.
 *
 * Each connection has a completion queue and a thread.  A call is one batch of operations where it
 * has one answer, and one batch a message where it is a stream.
 */
#ifndef TESTS_BENCH_RAW_GRPC_CALLS_H
#define TESTS_BENCH_RAW_GRPC_CALLS_H

#include <grpc/grpc.h>
#include <grpc/slice.h>

#include "tests/bench/raw/raw.h"

/* What a call has been answered so far, for whoever checks it; zeroed at its beginning. */
struct grpc_answer {
    uint64_t number; /* of the call */
    uint64_t rows;
    uint8_t key[LOAD_ROW_KEY_BYTES_MAX]; /* of the last row */
    size_t key_bytes;
};

struct grpc_calls {
    const char *address;
    const char *path;
    uint64_t in_flight;
    uint64_t connections; /* at most in_flight */
    bool is_stream;
    uint64_t calls_max; /* 0 = none: the time ends it */
    int64_t begin_ns;   /* of measuring; what begins before only warms up */
    int64_t end_ns;
    /* The request of call `number`, a slice of its own.  Any thread. */
    grpc_slice (*request)(void *context, uint64_t number);
    /* A message of an answer: count its rows, and end the program if one is wrong.  NULL = nobody
     * looks.  Any thread. */
    void (*take_rows)(void *context,
                      const uint8_t *message,
                      size_t size_bytes,
                      struct grpc_answer *answer);
    uint64_t rows_expected; /* of each stream that was not left; 0 = any */
    void *context;
};

struct grpc_figures {
    uint64_t calls; /* that were measured and ended well */
    uint64_t failed;
    uint64_t messages;
    uint64_t bytes; /* of messages */
    uint64_t request_bytes;
    uint64_t rows;
    double cpu_seconds; /* of this process, while it measured */
    struct raw_samples samples;
};

/* Ends the program when no call can be made at all. */
void grpc_calls_run(const struct grpc_calls *plan, struct grpc_figures *ret_figures);

/* What a process has used so far; 0 when it cannot be seen. */
double grpc_cpu_seconds(int process);

#endif /* TESTS_BENCH_RAW_GRPC_CALLS_H */
