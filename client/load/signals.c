#include "client/load/signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "client/load/complaint.h"
#include "client/load/run.h"

#define SAME_SIGNAL_NS INT64_C(500000000)

static volatile sig_atomic_t interrupted; /* the signal's number */
static volatile sig_atomic_t has_begun;   /* a phase: there is something to report */
static atomic_llong interrupted_ns;       /* when; 0 = not yet */

/* The second one quits; but `timeout` signals the child and its group, so that one Ctrl-C comes twice. */
static void on_signal(int number)
{
    long long first_ns = 0;
    long long now_ns = load_now_ns();
    if (!has_begun) {
        _exit(EXIT_CODE_SIGNAL + number);
    }
    if (atomic_compare_exchange_strong(&interrupted_ns, &first_ns, now_ns)) {
        interrupted = number;
    } else if (now_ns - first_ns > SAME_SIGNAL_NS) {
        _exit(EXIT_CODE_SIGNAL + number);
    }
}

void load_signals_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigaction before;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) != 0 || before.sa_handler != SIG_IGN) {
        (void)sigaction(SIGHUP, &action, NULL);
    }
}

void load_signals_matter(void)
{
    has_begun = 1;
}

bool load_was_interrupted(void)
{
    return interrupted != 0;
}

int load_signal_exit_code(void)
{
    return EXIT_CODE_SIGNAL + interrupted;
}
