/*
 * LD_PRELOAD: a wall clock that is stepped while the process runs.  For tests only.
 *
 *   FAULTS_FOLDER   holds `clock`: seconds, with a sign, that CLOCK_REALTIME is ahead; written in place,
 *                   in CLOCK_BYTES bytes.  No such file: the clock is right.
 *
 * Other clocks are not touched: they are not stepped on real machines either.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define CLOCK_BYTES 16

static int (*real_clock_gettime)(clockid_t clock, struct timespec *ret_time);
static const char *control; /* the file, mapped; NULL = none */
static pthread_once_t begun = PTHREAD_ONCE_INIT;

static void begin(void)
{
    const char *folder = getenv("FAULTS_FOLDER");
    char path[512];
    *(void **)&real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    if (real_clock_gettime == NULL) {
        abort();
    }
    if (folder == NULL) {
        return;
    }
    (void)snprintf(path, sizeof path, "%s/clock", folder);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) {
        void *map = mmap(NULL, CLOCK_BYTES, PROT_READ, MAP_SHARED, descriptor, 0);
        control = map == MAP_FAILED ? NULL : map;
        (void)close(descriptor);
    }
}

static time_t ahead_s(void)
{
    return control == NULL ? 0 : (time_t)strtoll(control, NULL, 10);
}

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    (void)pthread_once(&begun, begin);
    int result = real_clock_gettime(clock, ret_time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        ret_time->tv_sec += ahead_s();
    }
    return result;
}

int gettimeofday(struct timeval *restrict ret_time, void *restrict zone)
{
    struct timespec now = {0};
    int result = clock_gettime(CLOCK_REALTIME, &now);
    (void)zone;
    ret_time->tv_sec = now.tv_sec;
    ret_time->tv_usec = now.tv_nsec / 1000;
    return result;
}

time_t time(time_t *ret_time)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (ret_time != NULL) {
        *ret_time = now.tv_sec;
    }
    return now.tv_sec;
}
