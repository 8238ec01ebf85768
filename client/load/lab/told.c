#include "client/load/lab/told.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "edubba_hotspots.h"

#define PATIENCE_MS     2000
#define US_PER_S        1000000
#define MINUTE_US       (INT64_C(60) * US_PER_S)
#define HOT_TABLETS_MAX 1
#define REFUSALS_MAX    3
#define KEY_SHOWN       40

/* Who asks, about what, and where the answers go. */
struct asking {
    struct edubba_client *client;
    const char *table;
    const struct lab_times *times;
    struct lab_variant_result *result;
};

/* Where the next thing that was told goes; NULL when there is no room. */
static char *next_line(struct lab_variant_result *result)
{
    return result->told_count < LAB_TOLD_MAX ? result->told[result->told_count++] : NULL;
}

static void tell_hot(const struct edubba_hot_tablet *hot, char *line)
{
    (void)snprintf(line, LAB_SENTENCE_BYTES,
                   "tablet %" PRIu64 " from \"%.*s\" took %.1f %% of its server's CPU time for a "
                   "minute (reads %.1f, writes %.1f)",
                   hot->tablet, (int)(hot->start.size < KEY_SHOWN ? hot->start.size : KEY_SHOWN),
                   (const char *)hot->start.data, hot->cpu_percent, hot->read_cpu_percent,
                   hot->write_cpu_percent);
}

/* The hottest tablet.  The cluster tells averages of a minute: of a shorter run they say too little. */
static void ask_hot(const struct asking *asking)
{
    struct edubba_hot_window window = {
        .start_us = asking->times->since_us - asking->times->since_us % MINUTE_US,
        .interval_us = INT64_MAX,
    };
    struct edubba_hot_tablet *tablets = NULL;
    struct edubba_error error;
    size_t count = 0;
    size_t told = 0;
    if ((int64_t)time(NULL) * US_PER_S - asking->times->since_us < MINUTE_US) {
        return;
    }
    enum edubba_code code = edubba_list_hot_tablets(asking->client, &window, &tablets, &count,
                                                    &error);
    for (size_t i = 0; code == EDUBBA_OK && i < count && told < HOT_TABLETS_MAX; i++) {
        char *line = strcmp(tablets[i].table, asking->table) == 0 ? next_line(asking->result)
                                                                  : NULL;
        if (line != NULL) {
            tell_hot(&tablets[i], line);
            told++;
        }
    }
    edubba_free(tablets);
}

static void count_event(struct lab_variant_result *result,
                        const struct edubba_event *event,
                        const struct lab_times *times)
{
    lab_decided_add(&result->decided, event);
    if (lab_is_of_writes(event->time_us, times)) {
        lab_decided_add(&result->decided_of_writes, event);
    }
}

/* What was decided by load, counted; and the first refusals, in the master's words. */
static void ask_events(const struct asking *asking)
{
    struct edubba_event *events = NULL;
    struct edubba_error error;
    size_t count = 0;
    size_t refused = 0;
    enum edubba_code code = edubba_list_events(asking->client, asking->table, 0, &events, &count,
                                               &error);
    for (size_t i = 0; code == EDUBBA_OK && i < count; i++) {
        if (events[i].time_us < asking->times->since_us) {
            continue; /* of a table of that name that an earlier run had */
        }
        count_event(asking->result, &events[i], asking->times);
        bool is_told = strcmp(events[i].kind, "refuse") == 0 && refused++ < REFUSALS_MAX;
        char *line = is_told ? next_line(asking->result) : NULL;
        if (line != NULL) {
            (void)snprintf(line, LAB_SENTENCE_BYTES, "refused, %s: %s", events[i].reason,
                           events[i].text);
        }
    }
    edubba_free(events);
}

static void ask_advice(const struct asking *asking)
{
    struct edubba_advice *advice = NULL;
    struct edubba_error error;
    size_t count = 0;
    enum edubba_code code = edubba_advise(asking->client, asking->table, &advice, &count, NULL,
                                          &error);
    for (size_t i = 0; code == EDUBBA_OK && i < count; i++) {
        bool says = advice[i].kind != EDUBBA_ADVICE_BALANCED &&
                    advice[i].kind != EDUBBA_ADVICE_TOO_FEW;
        char *line = says ? next_line(asking->result) : NULL;
        if (line != NULL) {
            (void)snprintf(line, LAB_SENTENCE_BYTES, "advice: %s %s", advice[i].text,
                           advice[i].cure);
        }
    }
    edubba_free(advice);
}

void lab_told(struct edubba_client *client,
              const char *table,
              const struct lab_times *times,
              struct lab_variant_result *result)
{
    const struct asking asking = {client, table, times, result};
    edubba_thread_deadline(PATIENCE_MS);
    ask_advice(&asking);
    ask_events(&asking);
    ask_hot(&asking);
    edubba_thread_deadline(0);
}
