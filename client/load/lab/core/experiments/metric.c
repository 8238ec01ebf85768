/*
 * Server metrics: HOSTNAME#TS with a column a metric, the newest row of each machine, short names and
 * families that are read together.
 *
 * The worked example has 100 metrics of 100 000 machines every 5 s; here they are 8 of 1 000.
 */
#include <stdio.h>

#include "client/load/lab/core/experiments/story.h"

#define HOSTS        1000
#define HOSTS_STEP   389 /* machines report in no order of their names; no divisor of 1000 */
#define PERIOD_MS    5000
#define STEP_MS      (PERIOD_MS / HOSTS)
#define BEGIN_MS     INT64_C(1426535612045)
#define WINDOW       (4 * HOSTS) /* of events: 20 s */
#define NAME_BYTES   32
#define TIME_WIDTH   13
#define METRIC_COUNT (sizeof METRICS / sizeof METRICS[0])
#define SHORT_FAMILY "M"
#define LONG_FAMILY  "measurements_of_machine_performance"

struct metric {
    const char *name;
    const char *family; /* of its own kind */
    const char *in_full;
};

static const struct metric METRICS[] = {
    {"CPU/CPU1_USR", "CPU", "processor_utilisation/processor_number_1/percentage_of_user_time"},
    {"CPU/CPU1_SYS", "CPU", "processor_utilisation/processor_number_1/percentage_of_system_time"},
    {"CPU/CPU2_USR", "CPU", "processor_utilisation/processor_number_2/percentage_of_user_time"},
    {"CPU/CPU2_SYS", "CPU", "processor_utilisation/processor_number_2/percentage_of_system_time"},
    {"IO/BLK_READ", "IO", "input_and_output/block_devices/number_of_blocks_that_were_read"},
    {"IO/BLK_WRTN", "IO", "input_and_output/block_devices/number_of_blocks_that_were_written"},
    {"IO/NET_RECV", "IO", "input_and_output/network_devices/number_of_bytes_that_were_received"},
    {"IO/NET_SENT", "IO", "input_and_output/network_devices/number_of_bytes_that_were_sent"},
};

static int64_t time_of(uint64_t number)
{
    return BEGIN_MS + (int64_t)number * STEP_MS;
}

static void event(const struct lab_world *world, uint64_t number, struct lab_event *ret_event)
{
    *ret_event = (struct lab_event){
        .number = number,
        .time_ms = time_of(number),
        .who = number * HOSTS_STEP % HOSTS,
        .random = lab_dice(world, number, 1),
    };
}

static void who_text(uint64_t who, char *out, size_t size)
{
    (void)snprintf(out, size, "server%u.bbb.com", (unsigned)who);
}

/* --- keys ------------------------------------------------------------------------------------- */

static void key_by_host(struct edubba_key *key, uint64_t who, int64_t time_ms)
{
    char name[NAME_BYTES];
    who_text(who, name, sizeof name);
    edubba_key_init(key);
    edubba_key_add_text(key, name);
    edubba_key_add_number(key, (uint64_t)time_ms, TIME_WIDTH);
}

static void key_by_time(struct edubba_key *key, uint64_t who, int64_t time_ms)
{
    char name[NAME_BYTES];
    who_text(who, name, sizeof name);
    edubba_key_init(key);
    edubba_key_add_number(key, (uint64_t)time_ms, TIME_WIDTH);
    edubba_key_add_text(key, name);
}

/* --- changes ---------------------------------------------------------------------------------- */

enum naming {
    SHORT,
    LONG,
    BY_FAMILY,
};

static void set_metrics(const struct lab_event *of, struct lab_change *change, enum naming naming)
{
    uint64_t random = of->random;
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct metric *metric = &METRICS[i];
        const char *family = naming == SHORT  ? SHORT_FAMILY
                             : naming == LONG ? LONG_FAMILY
                                              : metric->family;
        lab_change_set(change, family, EDUBBA_TEXT(naming == LONG ? metric->in_full : metric->name),
                       of->time_ms * 1000,
                       lab_change_text(change, "%u.%u", (unsigned)(random % 100),
                                       (unsigned)(random >> 8) % 10));
        random = random >> 7 | random << 57;
    }
}

static void change_by_time(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_by_time(&key, of->who, of->time_ms);
    lab_change_row(change, &key);
    set_metrics(of, change, SHORT);
}

static void by_host(const struct lab_event *of, struct lab_change *change, enum naming naming)
{
    struct edubba_key key;
    key_by_host(&key, of->who, of->time_ms);
    lab_change_row(change, &key);
    set_metrics(of, change, naming);
}

static void change_by_host(const struct lab_event *of, struct lab_change *change)
{
    by_host(of, change, SHORT);
}

static void change_long(const struct lab_event *of, struct lab_change *change)
{
    by_host(of, change, LONG);
}

static void change_families(const struct lab_event *of, struct lab_change *change)
{
    by_host(of, change, BY_FAMILY);
}

static void change_newest(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    char name[NAME_BYTES];
    who_text(of->who, name, sizeof name);
    edubba_key_init(&key);
    edubba_key_add_text(&key, name);
    lab_change_row(change, &key);
    set_metrics(of, change, SHORT);
}

/* --- queries: one machine's processors over 20 s ---------------------------------------------- */

/* Each names its family: columns alone would be looked for in each of them. */

static void host_by_time(const struct lab_world *world,
                         const struct lab_event *of,
                         struct lab_query *query)
{
    struct lab_window window = lab_window_about(world, of->number, WINDOW);
    struct edubba_key start;
    struct edubba_key end;
    edubba_key_init(&start);
    edubba_key_add_number(&start, (uint64_t)time_of(window.from), TIME_WIDTH);
    edubba_key_init(&end);
    edubba_key_add_number(&end, (uint64_t)time_of(window.to), TIME_WIDTH);
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_range(query, &start, &end);
    query->row_regex = lab_query_text(query, ".*#server%u\\.bbb\\.com", (unsigned)of->who);
    query->family_regex = EDUBBA_TEXT(SHORT_FAMILY);
    query->qualifier_regex = EDUBBA_TEXT("CPU/.*");
}

static void host_by_host(const struct lab_world *world,
                         const struct lab_event *of,
                         struct lab_query *query)
{
    struct lab_window window = lab_window_about(world, of->number, WINDOW);
    struct edubba_key start;
    struct edubba_key end;
    key_by_host(&start, of->who, time_of(window.from));
    key_by_host(&end, of->who, time_of(window.to));
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_range(query, &start, &end);
    query->family_regex = EDUBBA_TEXT(SHORT_FAMILY);
    query->qualifier_regex = EDUBBA_TEXT("CPU/.*");
}

static void host_long(const struct lab_world *world,
                      const struct lab_event *of,
                      struct lab_query *query)
{
    host_by_host(world, of, query);
    query->family_regex = EDUBBA_TEXT(LONG_FAMILY);
    query->qualifier_regex = EDUBBA_TEXT("processor_utilisation/.*");
}

static void host_families(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    host_by_host(world, of, query);
    query->qualifier_regex = EDUBBA_NOTHING;
    query->family_regex = EDUBBA_TEXT("CPU");
}

/* --- queries: the newest of all machines ------------------------------------------------------ */

/* The last period of the history. */
static void newest_by_time(const struct lab_world *world,
                           const struct lab_event *of,
                           struct lab_query *query)
{
    struct lab_window window = lab_window_about(world, world->history, HOSTS);
    struct edubba_key start;
    struct edubba_key end;
    (void)of;
    edubba_key_init(&start);
    edubba_key_add_number(&start, (uint64_t)time_of(window.from), TIME_WIDTH);
    edubba_key_init(&end);
    edubba_key_add_number(&end, (uint64_t)time_of(window.to), TIME_WIDTH);
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_range(query, &start, &end);
}

/* The newest of some hosts lie among the rows of all: a scan over all of that time finds them. */
static void newest_by_host(const struct lab_world *world,
                           const struct lab_event *of,
                           struct lab_query *query)
{
    struct lab_window window = lab_window_about(world, world->history, HOSTS);
    (void)of;
    lab_query_init(query, LAB_QUERY_SCAN);
    query->from_us = time_of(window.from) * 1000;
    query->to_us = time_of(window.to) * 1000;
}

static void newest_alone(const struct lab_world *world,
                         const struct lab_event *of,
                         struct lab_query *query)
{
    (void)world;
    (void)of;
    lab_query_init(query, LAB_QUERY_SCAN);
}

static const struct lab_variant VARIANTS[] = {
    {
        .name = "by time",
        .key = "TS#HOSTNAME",
        .about = "Arrival order: all machines write to the end of the table.",
        .remedy = "begin with what queries name: HOSTNAME#TS",
        .role = LAB_BAD,
        .families = {{SHORT_FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_by_time,
        .queries = {host_by_time, newest_by_time},
    },
    {
        .name = "by host",
        .key = "HOSTNAME#TS",
        .about = "A machine's rows lie together.  The newest of all machines lie apart.",
        .remedy = "keep the newest row of each machine in a second table, CURRENT_METRIC",
        .role = LAB_GOOD,
        .families = {{SHORT_FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_by_host,
        .queries = {host_by_host, newest_by_host},
    },
    {
        .name = "long names",
        .key = "HOSTNAME#TS, long names",
        .about = "The same with names of 35 and 67 bytes: they are sent and stored with each cell.",
        .remedy = "shorten the names of families and columns",
        .role = LAB_BAD,
        .families = {{LONG_FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_long,
        .queries = {host_long, newest_by_host},
    },
    {
        .name = "families",
        .key = "HOSTNAME#TS, CPU and IO apart",
        .about = "A family for what one query reads together.",
        .remedy = "keep the newest row of each machine in a second table, CURRENT_METRIC",
        .role = LAB_ALSO,
        .families = {{"CPU", EDUBBA_PLAIN, 1}, {"IO", EDUBBA_PLAIN, 1}},
        .change = change_families,
        .queries = {host_families, newest_by_host},
    },
    {
        .name = "current",
        .key = "HOSTNAME",
        .about = "CURRENT_METRIC, the second table: one row a machine, overwritten.  No history.",
        .remedy = "",
        .role = LAB_ALSO,
        .families = {{SHORT_FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_newest,
        .queries = {NULL, newest_alone},
    },
};

const struct lab_experiment LAB_METRIC = {
    .name = "metric",
    .summary = "server metrics: key by time or by host, short names, families, the newest row",
    .story = "1 000 machines are measured every 5 s.  Queries are about one machine and a range of "
             "time, or about the newest of all machines.",
    .who = "machine",
    .queries = {"a machine's processors, 20 s", "the newest of all machines"},
    .event = event,
    .who_text = who_text,
    .variants = VARIANTS,
    .variant_count = sizeof VARIANTS / sizeof VARIANTS[0],
};
