#include "master/shell/master_metrics.h"

#include <pthread.h>
#include <stdio.h>

#include "common/io/metrics.h"

#define CODES_MAX 17 /* the canonical codes 0 to 16; others count as UNKNOWN */

struct method_series {
    enum method method;
    const char *name;
    struct metric *duration;
    struct metric *codes[CODES_MAX];
    char labels[CODES_MAX][64]; /* metrics keep the text */
};

static struct method_series series[] = {
    {.method = METHOD_LOCATE, .name = "locate"},
    {.method = METHOD_STATUS, .name = "status"},
    {.method = METHOD_CREATE_TABLE, .name = "create_table"},
    {.method = METHOD_DELETE_TABLE, .name = "delete_table"},
    {.method = METHOD_ALTER_TABLE, .name = "alter_table"},
    {.method = METHOD_GET_TABLE, .name = "get_table"},
    {.method = METHOD_LIST_TABLES, .name = "list_tables"},
    {.method = METHOD_SPLIT_TABLET, .name = "split_tablet"},
    {.method = METHOD_LIST_SERVERS, .name = "list_servers"},
    {.method = METHOD_PUT_DOCUMENTS, .name = "put_documents"},
    {.method = METHOD_LIST_DOCUMENTS, .name = "list_documents"},
    {.method = METHOD_LIST_HOT_TABLETS, .name = "list_hot_tablets"},
    {.method = METHOD_DRAIN_SERVER, .name = "drain_server"},
    {.method = METHOD_MERGE_TABLETS, .name = "merge_tablets"},
    {.method = METHOD_MASTER, .name = "master"},
    {.method = METHOD_RECOVER, .name = "recover"},
    {.method = METHOD_LIST_HOT_KEYS, .name = "list_hot_keys"},
    {.method = METHOD_ADVISE, .name = "advise"},
    {.method = METHOD_LIST_EVENTS, .name = "list_events"},
    {.method = METHOD_LIST_HEAT, .name = "list_heat"},
    {.method = METHOD_SYNC, .name = "sync"},
    {.method = METHOD_PROPOSE, .name = "propose"},
    {.name = "other"}, /* last: no method has its number */
};

#define SERIES_COUNT (sizeof series / sizeof *series)

static struct {
    struct metric *commits;
    struct metric *commit_failures;
    struct metric *commit_duration;
    struct metric *version;
    struct metric *tables;
    struct metric *tablets[TABLET_NOT_LED + 1];
    struct metric *servers;
    struct metric *servers_alive;
    struct metric *requests_waiting;
    struct metric *without_copy;
    struct metric *stores_unopened;
    struct metric *disputed;
    struct metric *mailbox;
    struct metric *active;
    struct metric *not_written;
    struct metric *not_kept;
} gauges;

static pthread_mutex_t series_lock = PTHREAD_MUTEX_INITIALIZER;

static struct method_series *series_of(enum method method)
{
    size_t i = 0;
    while (i + 1 < SERIES_COUNT && series[i].method != method) {
        i++;
    }
    return &series[i];
}

/* Made when first needed: most methods only ever end in a few ways. */
static struct metric *code_counter(struct method_series *of, enum status status)
{
    size_t code = (size_t)status < CODES_MAX ? (size_t)status : (size_t)STATUS_UNKNOWN;
    (void)pthread_mutex_lock(&series_lock);
    if (of->codes[code] == NULL) {
        (void)snprintf(of->labels[code], sizeof of->labels[code], "method=\"%s\",code=\"%s\"",
                       of->name, status_name((enum status)code));
        of->codes[code] = metric_counter("edubba_master_requests_total", of->labels[code],
                                         "Requests answered, by method and code.");
    }
    (void)pthread_mutex_unlock(&series_lock);
    return of->codes[code];
}

void master_metrics_init(void)
{
    static char labels[SERIES_COUNT][64];
    for (size_t i = 0; i < SERIES_COUNT; i++) {
        (void)snprintf(labels[i], sizeof labels[i], "method=\"%s\"", series[i].name);
        series[i].duration = metric_histogram("edubba_master_request_seconds", labels[i],
                                              "From arrival to answer, by method.");
    }
    const char *help = "Tablets, by state.";
    gauges.tablets[TABLET_CREATING] = metric_gauge("edubba_master_tablets", "state=\"creating\"",
                                                   help);
    gauges.tablets[TABLET_SERVING] = metric_gauge("edubba_master_tablets", "state=\"serving\"",
                                                  help);
    gauges.tablets[TABLET_UNAVAILABLE] = metric_gauge("edubba_master_tablets",
                                                      "state=\"unavailable\"", help);
    gauges.tablets[TABLET_SPLITTING] = metric_gauge("edubba_master_tablets", "state=\"splitting\"",
                                                    help);
    gauges.tablets[TABLET_NOT_LED] = metric_gauge("edubba_master_tablets", "state=\"not_led\"",
                                                  help);
    gauges.commits = metric_counter("edubba_master_commits_total", "",
                                    "Catalog transactions made durable.");
    gauges.commit_failures = metric_counter("edubba_master_commit_failures_total", "",
                                            "Catalog transactions that failed.");
    gauges.commit_duration = metric_histogram("edubba_master_commit_seconds", "",
                                              "Time of a catalog transaction.");
    gauges.version = metric_gauge("edubba_master_catalog_version", "", "Version of the catalog.");
    gauges.tables = metric_gauge("edubba_master_tables", "", "Tables.");
    gauges.servers = metric_gauge("edubba_master_servers", "", "Tablet servers known.");
    gauges.servers_alive = metric_gauge("edubba_master_servers_alive", "",
                                        "Tablet servers heard of lately.");
    gauges.requests_waiting = metric_gauge("edubba_master_requests_waiting", "",
                                           "Requests that wait for a turn or for servers.");
    gauges.active = metric_gauge("edubba_master_active", "",
                                 "1 while this is the active master, 0 while it stands by.");
    gauges.without_copy = metric_gauge("edubba_master_tablets_without_copy", "",
                                       "Tablets of which no copy is on a living server.");
    gauges.stores_unopened = metric_gauge("edubba_master_stores_unopened", "",
                                          "Stores that living tablet servers could not open.");
    gauges.disputed = metric_gauge("edubba_master_catalog_disputed", "",
                                   "1 while tablet servers know another catalog, or a newer copy "
                                   "of this one: nothing is done with it.");
    gauges.not_written = metric_gauge(
        "edubba_master_catalog_not_written", "",
        "1 while the catalog cannot be changed: the disk, or etcd, is "
        "full.");
    gauges.not_kept = metric_gauge("edubba_master_history_not_kept", "",
                                   "1 while heat map or events cannot be written to the folder.");
    gauges.mailbox = metric_gauge("edubba_master_mailbox_depth", "", "Events not yet looked at.");
}

const char *master_method_name(enum method method)
{
    return series_of(method)->name;
}

void master_metrics_request(enum method method, enum status status, int64_t duration_ns)
{
    struct method_series *of = series_of(method);
    metric_add(code_counter(of, status), 1);
    metric_observe_ns(of->duration, duration_ns);
}

void master_metrics_commit(enum status status, int64_t duration_ns)
{
    metric_add(status == STATUS_OK ? gauges.commits : gauges.commit_failures, 1);
    metric_observe_ns(gauges.commit_duration, duration_ns);
}

static void set_catalog(const struct catalog_counts *counts)
{
    for (size_t state = TABLET_CREATING; state <= TABLET_NOT_LED; state++) {
        metric_set(gauges.tablets[state], (int64_t)counts->tablets_by_state[state]);
    }
    metric_set(gauges.version, (int64_t)counts->version);
    metric_set(gauges.tables, (int64_t)counts->tables);
    metric_set(gauges.servers, (int64_t)counts->servers);
    metric_set(gauges.servers_alive, (int64_t)counts->servers_alive);
    metric_set(gauges.requests_waiting, (int64_t)counts->requests_waiting);
    metric_set(gauges.without_copy, (int64_t)counts->tablets_without_copy);
    metric_set(gauges.stores_unopened, (int64_t)counts->stores_unopened);
    metric_set(gauges.disputed, counts->disputed);
}

void master_metrics_alarms(bool not_written, bool not_kept)
{
    metric_set(gauges.not_written, not_written);
    metric_set(gauges.not_kept, not_kept);
}

void master_metrics_state(const struct catalog_counts *counts, size_t mailbox_depth)
{
    static const struct catalog_counts nothing = {0};
    set_catalog(counts != NULL ? counts : &nothing);
    metric_set(gauges.active, counts != NULL);
    metric_set(gauges.mailbox, (int64_t)mailbox_depth);
}
