#include "client/cli/waiting.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/output.h"

#define REASON_AFTER_MS   2000
#define SILENCE_SECONDS   3
#define REASONS_MAX       8 /* told; masters that fail in turn have one each */
#define REASON_BYTES      512
#define SILENCE_TEXT_SIZE 128

static bool is_json;
static unsigned timeout_seconds;
static char silence_text[SILENCE_TEXT_SIZE];
static size_t silence_bytes;
static char reasons[REASONS_MAX][REASON_BYTES];
static size_t reason_count;

static void on_alarm(int signal_number)
{
    (void)signal_number;
    int kept = errno;
    (void)!write(STDERR_FILENO, silence_text, silence_bytes);
    errno = kept;
}

void waiting_begin(unsigned timeout_ms, bool json)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

    is_json = json;
    timeout_seconds = timeout_ms / 1000;
    if (!isatty(STDERR_FILENO) || timeout_seconds <= SILENCE_SECONDS) {
        return;
    }
    int size = snprintf(silence_text, sizeof silence_text,
                        "ebt: no answer yet; trying for up to %u s (--timeout), Ctrl-C stops it\n",
                        timeout_seconds);
    silence_bytes = size > 0 ? (size_t)size : 0;
    (void)sigaction(SIGALRM, &action, NULL);
    (void)alarm(SILENCE_SECONDS);
}

void waiting_end(void)
{
    (void)alarm(0);
}

static bool is_told(const char *reason)
{
    for (size_t i = 0; i < reason_count; i++) {
        if (strcmp(reasons[i], reason) == 0) {
            return true;
        }
    }
    return reason_count == REASONS_MAX;
}

void waiting_on_trouble(void *context, uint32_t waited_ms, const char *text)
{
    char reason[REASON_BYTES];
    (void)context;

    (void)snprintf(reason, sizeof reason, "%s", text);
    if (waited_ms < REASON_AFTER_MS || is_told(reason)) {
        return;
    }
    memcpy(reasons[reason_count++], reason, sizeof reason);
    waiting_end();
    if (is_json) {
        fputs("{\"waiting\":", stderr);
        print_json_text(stderr, reason);
        fputs("}\n", stderr);
    } else {
        fprintf(stderr, "ebt: waiting, for %u s at most (--timeout): %s\n", timeout_seconds,
                reason);
    }
}
