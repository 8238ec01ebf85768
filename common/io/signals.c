#include "common/io/signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "common/base/assert.h"
#include "common/io/clock.h"

/* SIGUSR1 is how signals_stop() reaches the waiting thread. */
static struct {
    pthread_t thread;
    bool running;
    atomic_bool ending;
    pthread_mutex_t lock; /* held while on_stop runs */
    bool closing;         /* under lock: on_stop is not to be called any more */
    void (*on_stop)(void *context, int signal);
    void *context;
} signals = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void signals_awaited(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGTERM);
    (void)sigaddset(set, SIGINT);
    (void)sigaddset(set, SIGUSR1);
}

static void tell(int signal)
{
    (void)pthread_mutex_lock(&signals.lock);
    if (!signals.closing) {
        signals.on_stop(signals.context, signal);
    }
    (void)pthread_mutex_unlock(&signals.lock);
}

static void *wait_for_signals(void *unused)
{
    sigset_t set;
    int64_t told_ns = 0;

    (void)unused;
    signals_awaited(&set);
    for (;;) {
        int signal = 0;
        if (sigwait(&set, &signal) != 0) {
            continue;
        }
        if (atomic_load(&signals.ending)) {
            return NULL;
        }
        if (signal == SIGUSR1) {
            continue;
        }
        int64_t now_ns = clock_monotonic_ns();
        if (told_ns == 0) {
            told_ns = now_ns;
            tell(signal);
        } else if (now_ns - told_ns >= SIGNALS_SECOND_AFTER_NS) {
            _exit(128 + signal);
        }
    }
}

void signals_block(void)
{
    sigset_t set;
    signals_awaited(&set);
    int result = pthread_sigmask(SIG_BLOCK, &set, NULL);
    ASSERT(result == 0);
    (void)signal(SIGPIPE, SIG_IGN);
}

enum status signals_start(void (*on_stop)(void *context, int signal),
                          void *context,
                          struct error *ret_error)
{
    ASSERT(!signals.running);
    signals.on_stop = on_stop;
    signals.context = context;
    signals.closing = false;
    atomic_store(&signals.ending, false);
    int result = pthread_create(&signals.thread, NULL, wait_for_signals, NULL);
    if (result != 0) {
        return error_set(ret_error, STATUS_IO, "cannot start the signal thread: %s",
                         strerror(result));
    }
    signals.running = true;
    return STATUS_OK;
}

void signals_closing(void)
{
    (void)pthread_mutex_lock(&signals.lock);
    signals.closing = true;
    (void)pthread_mutex_unlock(&signals.lock);
}

void signals_stop(void)
{
    if (!signals.running) {
        return;
    }
    atomic_store(&signals.ending, true);
    (void)pthread_kill(signals.thread, SIGUSR1);
    (void)pthread_join(signals.thread, NULL);
    signals.running = false;
}
