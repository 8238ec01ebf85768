/*
 * Status codes -- the one error vocabulary of the project.
 *
 * A status describes an operating error: something the outside world did (a full disk, a lost
 * peer, a corrupt file, a bad request).  A programmer error is never a status; it is an ASSERT.
 *
 * The first block has the meaning, and on the wire the numbers, of the canonical gRPC codes, so
 * that a gateway passes them on untouched.  The second block never leaves a process of ours
 * except between our own servers and libedubba.
 *
 * The enum type itself is [[nodiscard]], so an ignored result is a compile error at every call
 * site.  Ignore one deliberately with a (void) cast and a comment that says why.
 */
#ifndef COMMON_BASE_STATUS_H
#define COMMON_BASE_STATUS_H

/* Put on a type: no call may ignore a result of that type. */
#define MUST_USE [[nodiscard]]

/* X(name, number, text) */
#define STATUS_LIST(X)                                           \
    X(OK, 0, "ok")                                               \
    X(CANCELLED, 1, "cancelled")                                 \
    X(UNKNOWN, 2, "unknown")                                     \
    X(INVALID_ARGUMENT, 3, "invalid argument")                   \
    X(DEADLINE_EXCEEDED, 4, "deadline exceeded")                 \
    X(NOT_FOUND, 5, "not found")                                 \
    X(ALREADY_EXISTS, 6, "already exists")                       \
    X(PERMISSION_DENIED, 7, "permission denied")                 \
    X(RESOURCE_EXHAUSTED, 8, "resource exhausted")               \
    X(FAILED_PRECONDITION, 9, "failed precondition")             \
    X(ABORTED, 10, "aborted")                                    \
    X(OUT_OF_RANGE, 11, "out of range")                          \
    X(UNIMPLEMENTED, 12, "unimplemented")                        \
    X(INTERNAL, 13, "internal error")                            \
    X(UNAVAILABLE, 14, "unavailable")                            \
    X(DATA_LOSS, 15, "data loss")                                \
    X(UNAUTHENTICATED, 16, "unauthenticated")                    \
    X(NOT_OWNER, 64, "tablet is not served here")                \
    X(NO_SPACE, 65, "no space left")                             \
    X(NO_MEMORY, 66, "out of memory")                            \
    X(CORRUPT, 67, "stored data is corrupt")                     \
    X(MALFORMED, 68, "message is malformed")                     \
    X(IO, 69, "input/output error")                              \
    X(LIMIT, 70, "a fixed limit was reached")                    \
    X(VERSION, 71, "written by a newer or incompatible version") \
    X(CLOSED, 72, "closed")

enum MUST_USE status {
#define STATUS_ENUM(name, number, text) STATUS_##name = (number),
    STATUS_LIST(STATUS_ENUM)
#undef STATUS_ENUM
};

/* The text of a status, for logs and for people.  Never NULL; never freed. */
const char *status_text(enum status status);

/* The name of a status as people grep for it: "NOT_FOUND".  Never NULL; never freed. */
const char *status_name(enum status status);

#endif /* COMMON_BASE_STATUS_H */
