#include "client/load/silence.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/load/complaint.h"
#include "client/load/place.h"

#define NS_PER_S     INT64_C(1000000000)
#define LOOK_NS      (NS_PER_S / 4)
#define SAY_NS       (3 * NS_PER_S)
#define SAY_AGAIN_NS (10 * NS_PER_S)
#define ASK_MS       1000

/* --- asking the servers, in a thread ---------------------------------------------------------- */

/* The first of them that does not answer is what is found. */
static bool ask_servers(struct load_silence *silence,
                        const struct edubba_tablet *tablets,
                        size_t count,
                        const struct edubba_filter *nothing)
{
    const struct load_client *client = &silence->run->clients[0];
    for (size_t i = 0; i < count; i++) {
        struct edubba_error error;
        struct edubba_row *row = NULL;
        if (tablets[i].address[0] == '\0') {
            (void)snprintf(silence->found, sizeof silence->found,
                           "no server has tablet %" PRIu64 " of table %s now (%s)",
                           tablets[i].number, silence->run->options->table, tablets[i].state);
            return true;
        }
        if (load_tablet_is_first(tablets, i) &&
            edubba_read_row(client->table, load_tablet_row(&tablets[i]), nothing, &row, &error) !=
                EDUBBA_OK) {
            (void)snprintf(silence->found, sizeof silence->found, "%s does not answer: %.400s",
                           tablets[i].address, error.text);
            return true;
        }
        edubba_row_free(row);
    }
    return false;
}

static void *ask(void *context)
{
    struct load_silence *silence = context;
    const char *table = silence->run->options->table;
    struct edubba_filter *nothing = edubba_filter_block_all();
    struct edubba_tablet *tablets = NULL;
    size_t count = 0;
    struct edubba_error error;
    edubba_thread_deadline(ASK_MS);
    if (edubba_list_tablets(silence->run->clients[0].client, table, &tablets, &count, &error) !=
        EDUBBA_OK) {
        (void)snprintf(silence->found, sizeof silence->found,
                       "where table %s is cannot be told: %.400s", table, error.text);
    } else if (!ask_servers(silence, tablets, count, nothing)) {
        (void)snprintf(silence->found, sizeof silence->found,
                       "each server of table %s answers a small read, so they are busy with what "
                       "was sent",
                       table);
    }
    edubba_free(tablets);
    edubba_filter_free(nothing);
    atomic_store_explicit(&silence->has_asked, true, memory_order_release);
    return NULL;
}

/* --- the silence ------------------------------------------------------------------------------ */

/* Requests that were started: each counts its rows when it begins, also those that are too many. */
static uint64_t count_started(const struct load_run *run)
{
    uint64_t rows = atomic_load_explicit(&run->started, memory_order_relaxed);
    if (run->operations > 0 && rows > run->operations) {
        rows = run->operations;
    }
    return (rows + run->batch - 1) / run->batch;
}

static void count(struct load_silence *silence, int64_t now_ns)
{
    const struct load_run *run = silence->run;
    uint64_t requests = 0;
    uint64_t rows = 0;
    for (uint64_t i = 0; i < run->client_count; i++) {
        for (int kind = 0; kind < LOAD_KINDS; kind++) {
            const struct load_tally *tally = &run->clients[i].tallies[kind];
            requests += __atomic_load_n(&tally->requests, __ATOMIC_RELAXED);
            rows += __atomic_load_n(&tally->rows, __ATOMIC_RELAXED);
        }
    }
    uint64_t started = count_started(run);
    silence->waiting = started > requests ? started - requests : 0;
    silence->looked_ns = now_ns;
    if (requests + rows == silence->answered && silence->waiting > 0) {
        return;
    }
    if (silence->was_said) {
        char text[LOAD_SILENCE_TEXT_BYTES];
        (void)snprintf(text, sizeof text, "answers come again, after %.0f s",
                       load_silence_s(silence, now_ns));
        fputs(silence->clear, stderr);
        load_say_waiting(text);
    }
    silence->answered = requests + rows;
    silence->since_ns = now_ns;
    silence->look_due_ns = now_ns + SAY_NS;
    silence->was_said = false;
}

static void say(struct load_silence *silence, int64_t now_ns)
{
    double timeout_s = silence->run->options->timeout_s;
    char text[LOAD_SILENCE_TEXT_BYTES + 200];
    (void)snprintf(text, sizeof text,
                   "nothing has been answered for %.0f s, and %" PRIu64
                   " requests wait (--timeout: each for %g s): %s",
                   load_silence_s(silence, now_ns), silence->waiting,
                   timeout_s > 0 ? timeout_s : LOAD_TIMEOUT_DEFAULT_S, silence->found);
    fputs(silence->clear, stderr);
    load_say_waiting(text);
    silence->was_said = true;
}

void load_silence_begin(struct load_silence *silence,
                        const struct load_run *run,
                        const char *clear,
                        int64_t now_ns)
{
    *silence = (struct load_silence){
        .run = run,
        .clear = clear,
        .since_ns = now_ns,
        .looked_ns = now_ns,
        .look_due_ns = now_ns + SAY_NS,
    };
}

void load_silence_look(struct load_silence *silence, int64_t now_ns)
{
    if (now_ns - silence->looked_ns < LOOK_NS) {
        return;
    }
    count(silence, now_ns);
    if (silence->is_asking && atomic_load_explicit(&silence->has_asked, memory_order_acquire)) {
        load_silence_end(silence);
        if (now_ns - silence->since_ns >= SAY_NS) { /* else answers have come meanwhile */
            say(silence, now_ns);
        }
    } else if (!silence->is_asking && now_ns >= silence->look_due_ns) {
        atomic_store_explicit(&silence->has_asked, false, memory_order_relaxed);
        silence->is_asking = pthread_create(&silence->thread, NULL, ask, silence) == 0;
        silence->look_due_ns = now_ns + SAY_AGAIN_NS;
    }
}

double load_silence_s(const struct load_silence *silence, int64_t now_ns)
{
    return (double)(now_ns - silence->since_ns) / 1e9;
}

void load_silence_end(struct load_silence *silence)
{
    if (silence->is_asking) {
        (void)pthread_join(silence->thread, NULL);
        silence->is_asking = false;
    }
}
