/*
 * A machine's clocks that a test sets: preloaded, it adds the seconds that the file named by EDUBBA_TEST_CLOCK begins
 * with to CLOCK_REALTIME, and takes the milliseconds that follow, if any do, from CLOCK_BOOTTIME: those for which a
 * guest stood still, and its clock with it.  The other clocks go on as they do.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TEXT_BYTES_MAX 64
#define MS_A_SECOND    1000
#define NS_A_MS        1000000

struct steps {
    long wall_ahead_s;
    long boot_behind_ms;
};

static struct steps read_steps(void)
{
    char text[TEXT_BYTES_MAX + 1];
    const char *path = getenv("EDUBBA_TEST_CLOCK");
    int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, text, TEXT_BYTES_MAX);
    if (file >= 0) {
        (void)close(file);
    }
    text[size > 0 ? size : 0] = '\0';
    char *rest = text;
    struct steps steps = {.wall_ahead_s = strtol(text, &rest, 10)};
    steps.boot_behind_ms = strtol(rest, NULL, 10);
    return steps;
}

static void set_back(struct timespec *time, long ms)
{
    time->tv_sec -= ms / MS_A_SECOND;
    time->tv_nsec -= ms % MS_A_SECOND * NS_A_MS;
    if (time->tv_nsec < 0) {
        time->tv_sec -= 1;
        time->tv_nsec += MS_A_SECOND * NS_A_MS;
    }
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *time)
{
    long result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) {
        time->tv_sec += read_steps().wall_ahead_s;
    } else if (result == 0 && clock == CLOCK_BOOTTIME) {
        set_back(time, read_steps().boot_behind_ms);
    }
    return (int)result;
}
