#include "common/io/processors.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 1024
#define TEXT_SIZE 4096 /* of /proc/self/cgroup: some twenty lines */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The file's beginning, NUL-terminated; false if there is none. */
static bool read_text(const char *path, char *text, size_t size)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return false;
    }
    ssize_t length = read(descriptor, text, size - 1);
    (void)close(descriptor);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static bool read_file(const char *folder, const char *name, char *text, size_t size)
{
    char path[PATH_SIZE];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length > 0 && (size_t)length < sizeof path && read_text(path, text, size);
}

/* So much time of each period; a quota of "max" or -1 is none. */
static uint64_t permille_of(const char *quota_us, const char *period_us)
{
    long long quota = strtoll(quota_us, NULL, 10);
    long long period = strtoll(period_us, NULL, 10);
    if (quota <= 0 || period <= 0) {
        return UINT64_MAX;
    }
    uint64_t permille = (uint64_t)((double)quota / (double)period * 1000 + 0.5);
    return permille > 0 ? permille : 1;
}

/* What one group allows: v2 says "quota period" in one file, v1 has two. */
static uint64_t quota_of_group(const char *folder)
{
    char quota[64];
    char period[64];
    if (read_file(folder, "cpu.max", quota, sizeof quota)) {
        const char *second = strchr(quota, ' ');
        return second == NULL ? UINT64_MAX : permille_of(quota, second + 1);
    }
    if (read_file(folder, "cpu.cfs_quota_us", quota, sizeof quota) &&
        read_file(folder, "cpu.cfs_period_us", period, sizeof period)) {
        return permille_of(quota, period);
    }
    return UINT64_MAX;
}

/* Of the group and all above it, up to the mount itself; within a container some may not be seen. */
static uint64_t quota_of_path(const char *mount, const char *group)
{
    char folder[PATH_SIZE];
    uint64_t permille = UINT64_MAX;
    size_t mount_length = strlen(mount);
    int length = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof folder) {
        return UINT64_MAX;
    }
    for (;;) {
        permille = smaller(permille, quota_of_group(folder));
        char *slash = strrchr(folder + mount_length, '/');
        if (slash == NULL) {
            return permille;
        }
        *slash = '\0';
    }
}

static bool has_cpu(const char *controllers, size_t length)
{
    const char *end = controllers + length;
    while (controllers < end) {
        const char *comma = memchr(controllers, ',', (size_t)(end - controllers));
        const char *stop = comma != NULL ? comma : end;
        if (stop - controllers == 3 && memcmp(controllers, "cpu", 3) == 0) {
            return true;
        }
        controllers = stop + 1;
    }
    return false;
}

/* A line of /proc/self/cgroup: number:controllers:path; v2 has no controllers. */
static uint64_t quota_of_line(const char *root, const char *line)
{
    static const char *const mounts_v1[] = {"cpu", "cpu,cpuacct", "cpuacct,cpu", NULL};
    static const char *const mounts_v2[] = {"", "unified", NULL};
    const char *controllers = strchr(line, ':');
    const char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
    uint64_t permille = UINT64_MAX;

    if (group == NULL) {
        return UINT64_MAX;
    }
    size_t length = (size_t)(group - controllers - 1);
    if (length > 0 && !has_cpu(controllers + 1, length)) {
        return UINT64_MAX;
    }
    for (const char *const *mount = length > 0 ? mounts_v1 : mounts_v2; *mount != NULL; mount++) {
        char folder[PATH_SIZE];
        int size = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", root,
                            **mount != '\0' ? "/" : "", *mount);
        if (size > 0 && (size_t)size < sizeof folder) {
            permille = smaller(permille, quota_of_path(folder, group + 1));
        }
    }
    return permille;
}

uint64_t processors_quota_permille(const char *root)
{
    char text[TEXT_SIZE];
    uint64_t permille = UINT64_MAX;
    char *rest = NULL;

    if (!read_file(root, "proc/self/cgroup", text, sizeof text)) {
        return UINT64_MAX;
    }
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        permille = smaller(permille, quota_of_line(root, line));
    }
    return permille;
}

uint64_t processors_permille(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t machine = count > 0 ? (uint64_t)count * 1000 : 1000;
    return smaller(machine, processors_quota_permille(""));
}
