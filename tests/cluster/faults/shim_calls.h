/* The calls behind those that the shims stand in for. */
#ifndef TESTS_CLUSTER_FAULTS_SHIM_CALLS_H
#define TESTS_CLUSTER_FAULTS_SHIM_CALLS_H

#include <stddef.h>
#include <sys/types.h>

struct iovec;

/* As POSIX has them; found once, at the start. */
struct real_calls {
    int (*open)(const char *path, int flags, ...);
    ssize_t (*pwrite)(int descriptor, const void *data, size_t size, off_t offset);
    ssize_t (*write)(int descriptor, const void *data, size_t size);
    ssize_t (*writev)(int descriptor, const struct iovec *pieces, int count);
    int (*ftruncate)(int descriptor, off_t size);
    int (*posix_fallocate)(int descriptor, off_t offset, off_t size);
    int (*fdatasync)(int descriptor);
    int (*fsync)(int descriptor);
    int (*rename)(const char *from, const char *to);
    int (*unlink)(const char *path);
    int (*mkdir)(const char *path, mode_t mode);
};

const struct real_calls *real_calls(void);

#endif
