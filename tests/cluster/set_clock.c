/*
 * A machine's clock that a test sets: preloaded, it adds the seconds that the file named by
 * EDUBBA_TEST_CLOCK begins with to CLOCK_REALTIME.  The other clocks go on as they do.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TEXT_BYTES_MAX 32

static long seconds_ahead(void)
{
    char text[TEXT_BYTES_MAX + 1];
    const char *path = getenv("EDUBBA_TEST_CLOCK");
    int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, text, TEXT_BYTES_MAX);
    if (file >= 0) {
        (void)close(file);
    }
    text[size > 0 ? size : 0] = '\0';
    return strtol(text, NULL, 10);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *time)
{
    long result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) {
        time->tv_sec += seconds_ahead();
    }
    return (int)result;
}
