#include "client/load/lab/told.h"

#include <inttypes.h>
#include <stdio.h>

#include "edubba_hotspots.h"

#define PATIENCE_MS     2000
#define MINUTE_US       INT64_C(60000000)
#define HOT_TABLETS_MAX 1
#define KEY_SHOWN       40

static void tell_hot(const struct edubba_hot_tablet *hot, struct lab_variant_result *result)
{
    if (result->told_count == LAB_TOLD_MAX) {
        return;
    }
    (void)snprintf(result->told[result->told_count++], LAB_ERROR_BYTES,
                   "tablet %" PRIu64 " from \"%.*s\" took %.1f %% of its server's CPU time for a "
                   "minute (reads %.1f, writes %.1f)",
                   hot->tablet, (int)(hot->start.size < KEY_SHOWN ? hot->start.size : KEY_SHOWN),
                   (const char *)hot->start.data, hot->cpu_percent, hot->read_cpu_percent,
                   hot->write_cpu_percent);
}

void lab_told(struct edubba_client *client,
              const char *table,
              int64_t since_us,
              struct lab_variant_result *result)
{
    struct edubba_hot_window window = {
        .start_us = since_us - since_us % MINUTE_US,
        .interval_us = INT64_MAX,
    };
    struct edubba_hot_tablet *tablets = NULL;
    struct edubba_error error;
    size_t count = 0;
    size_t told = 0;
    edubba_thread_deadline(PATIENCE_MS);
    enum edubba_code code = edubba_list_hot_tablets(client, &window, &tablets, &count, &error);
    edubba_thread_deadline(0);
    for (size_t i = 0; code == EDUBBA_OK && i < count && told < HOT_TABLETS_MAX; i++) {
        if (strcmp(tablets[i].table, table) == 0) {
            tell_hot(&tablets[i], result);
            told++;
        }
    }
    edubba_free(tablets);
}
