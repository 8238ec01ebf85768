/*
 * Columns: what one machine measures at one moment as a row for each metric, as a row of columns, and as a
 * part of the row of a time bucket; and what columns that are read together gain by a family of their own.
 *
 * The names of the processors' two lie among the others, so that no beginning of a name, and no range of
 * names, is theirs alone.  Each query names its family: without that, one that names columns is looked
 * for in each of the families.
 */
#include <stdio.h>

#include "client/load/lab/core/experiments/story.h"

#define HOSTS        40
#define HOSTS_STEP   17 /* machines report in no order of their names; no divisor of 40 */
#define PERIOD_MS    5000
#define STEP_MS      (PERIOD_MS / HOSTS)
#define BEGIN_MS     INT64_C(1426535612045)
#define BUCKET_MS    INT64_C(600000)
#define BUCKET_CELLS ((uint32_t)(BUCKET_MS / PERIOD_MS))
#define WINDOW       (BUCKET_CELLS * HOSTS) /* of events: ten minutes */
#define NAME_BYTES   32
#define TIME_WIDTH   13
#define FAMILY       "M"
#define CPU_FAMILY   "C"
#define VALUE_COLUMN "V"
#define METRIC_COUNT (sizeof METRICS / sizeof METRICS[0])
#define CPU_NAMES    "SYS|USR"
#define CPU_PREFIX   "C/.*"
#define ASKED        6 /* of the metrics: the one that is asked for alone */

struct metric {
    const char *name;
    const char *prefixed;
    bool of_cpu;
};

/* In the order of their names. */
static const struct metric METRICS[] = {
    {"FREE", "M/FREE", false}, {"RCVD", "M/RCVD", false}, {"READ", "M/READ", false},
    {"SENT", "M/SENT", false}, {"SYS", "C/SYS", true},    {"USED", "M/USED", false},
    {"USR", "C/USR", true},    {"WRTN", "M/WRTN", false},
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

static struct edubba_bytes value_of(const struct lab_event *of,
                                    size_t metric,
                                    struct lab_change *change)
{
    uint64_t random = of->random >> (METRIC_COUNT * metric);
    return lab_change_text(change, "%u.%u", (unsigned)(random % 100), (unsigned)(random >> 4) % 10);
}

/* --- keys ------------------------------------------------------------------------------------- */

/* metric NULL = all of them in one row. */
static void key_of(struct edubba_key *key, uint64_t who, const char *metric, int64_t time_ms)
{
    char name[NAME_BYTES];
    who_text(who, name, sizeof name);
    edubba_key_init(key);
    edubba_key_add_text(key, name);
    if (metric != NULL) {
        edubba_key_add_text(key, metric);
    }
    edubba_key_add_number(key, (uint64_t)time_ms, TIME_WIDTH);
}

static int64_t bucket_of(int64_t time_ms)
{
    return time_ms - time_ms % BUCKET_MS;
}

/* --- changes ---------------------------------------------------------------------------------- */

static void change_row_a_metric(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        key_of(&key, of->who, METRICS[i].name, of->time_ms);
        lab_change_row(change, &key);
        lab_change_set(change, FAMILY, EDUBBA_TEXT(VALUE_COLUMN), of->time_ms * 1000,
                       value_of(of, i, change));
    }
}

enum naming {
    PLAIN,
    BY_FAMILY,
    BY_PREFIX,
};

static void set_columns(const struct lab_event *of, struct lab_change *change, enum naming naming)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct metric *metric = &METRICS[i];
        const char *family = naming == BY_FAMILY && metric->of_cpu ? CPU_FAMILY : FAMILY;
        lab_change_set(change, family,
                       EDUBBA_TEXT(naming == BY_PREFIX ? metric->prefixed : metric->name),
                       of->time_ms * 1000, value_of(of, i, change));
    }
}

static void row_a_moment(const struct lab_event *of, struct lab_change *change, enum naming naming)
{
    struct edubba_key key;
    key_of(&key, of->who, NULL, of->time_ms);
    lab_change_row(change, &key);
    set_columns(of, change, naming);
}

static void change_row_a_moment(const struct lab_event *of, struct lab_change *change)
{
    row_a_moment(of, change, PLAIN);
}

static void change_families(const struct lab_event *of, struct lab_change *change)
{
    row_a_moment(of, change, BY_FAMILY);
}

static void change_prefix(const struct lab_event *of, struct lab_change *change)
{
    row_a_moment(of, change, BY_PREFIX);
}

static void change_bucket(const struct lab_event *of, struct lab_change *change)
{
    struct edubba_key key;
    key_of(&key, of->who, NULL, bucket_of(of->time_ms));
    lab_change_row(change, &key);
    set_columns(of, change, PLAIN);
}

/* --- queries: a row a metric ------------------------------------------------------------------ */

static void add_series(const struct lab_world *world,
                       const struct lab_event *of,
                       const struct metric *metric,
                       struct lab_query *query)
{
    struct lab_window window = lab_window_about(world, of->number, WINDOW);
    struct edubba_key start;
    struct edubba_key end;
    key_of(&start, of->who, metric->name, time_of(window.from));
    key_of(&end, of->who, metric->name, time_of(window.to));
    lab_query_range(query, &start, &end);
}

static void cpu_by_series(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    lab_query_init(query, LAB_QUERY_SCAN);
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        if (METRICS[i].of_cpu) {
            add_series(world, of, &METRICS[i], query);
        }
    }
}

static void one_by_series(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    lab_query_init(query, LAB_QUERY_SCAN);
    add_series(world, of, &METRICS[ASKED], query);
}

static void all_by_series(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    lab_query_init(query, LAB_QUERY_SCAN);
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        add_series(world, of, &METRICS[i], query);
    }
}

/* --- queries: metrics in columns -------------------------------------------------------------- */

static void all_by_moment(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    struct lab_window window = lab_window_about(world, of->number, WINDOW);
    struct edubba_key start;
    struct edubba_key end;
    key_of(&start, of->who, NULL, time_of(window.from));
    key_of(&end, of->who, NULL, time_of(window.to));
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_range(query, &start, &end);
}

static void all_by_bucket(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    struct lab_window window = lab_window_about(world, of->number, WINDOW);
    struct edubba_key start;
    struct edubba_key end;
    key_of(&start, of->who, NULL, bucket_of(time_of(window.from)));
    key_of(&end, of->who, NULL, time_of(window.to));
    lab_query_init(query, LAB_QUERY_SCAN);
    lab_query_range(query, &start, &end);
    query->from_us = time_of(window.from) * 1000;
    query->to_us = time_of(window.to) * 1000;
}

static void select_columns(struct lab_query *query, const char *family, const char *qualifier_regex)
{
    query->family_regex = edubba_bytes_of_text(family);
    query->qualifier_regex = edubba_bytes_of_text(qualifier_regex);
}

static void cpu_by_moment(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    all_by_moment(world, of, query);
    select_columns(query, FAMILY, CPU_NAMES);
}

static void one_by_moment(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    all_by_moment(world, of, query);
    select_columns(query, FAMILY, METRICS[ASKED].name);
}

static void cpu_by_family(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    all_by_moment(world, of, query);
    query->family_regex = EDUBBA_TEXT(CPU_FAMILY);
}

static void one_by_family(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    all_by_moment(world, of, query);
    select_columns(query, CPU_FAMILY, METRICS[ASKED].name);
}

static void cpu_by_prefix(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    all_by_moment(world, of, query);
    select_columns(query, FAMILY, CPU_PREFIX);
}

static void one_by_prefix(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    all_by_moment(world, of, query);
    select_columns(query, FAMILY, METRICS[ASKED].prefixed);
}

static void cpu_by_bucket(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    all_by_bucket(world, of, query);
    select_columns(query, FAMILY, CPU_NAMES);
}

static void one_by_bucket(const struct lab_world *world,
                          const struct lab_event *of,
                          struct lab_query *query)
{
    all_by_bucket(world, of, query);
    select_columns(query, FAMILY, METRICS[ASKED].name);
}

static const struct lab_variant VARIANTS[] = {
    {
        .name = "row a metric",
        .key = "HOSTNAME#METRIC#TS",
        .about = "Eight rows a moment: a query looks at nothing that it does not return, and the "
                 "machine, the metric and the time are written eight times.",
        .remedy = "make the metrics columns of one row: HOSTNAME#TS",
        .role = LAB_BAD,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_row_a_metric,
        .queries = {cpu_by_series, one_by_series, all_by_series},
    },
    {
        .name = "row a moment",
        .key = "HOSTNAME#TS",
        .about =
            "One row a moment, a column a metric, one family: names that are read together lie "
            "among others, and all of a row is looked at.",
        .remedy = "give what is read together a family, or a beginning of its names, of its own",
        .role = LAB_GOOD,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_row_a_moment,
        .queries = {cpu_by_moment, one_by_moment, all_by_moment},
    },
    {
        .name = "families",
        .key = "HOSTNAME#TS, C and M apart",
        .about = "The same with a family for the processors, which are read together.",
        .remedy = "",
        .role = LAB_GOOD,
        .families = {{CPU_FAMILY, EDUBBA_PLAIN, 1}, {FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_families,
        .queries = {cpu_by_family, one_by_family, all_by_moment},
    },
    {
        .name = "prefix",
        .key = "HOSTNAME#TS, C/... and M/...",
        .about = "The same with one family, and names that begin alike for what is read together, "
                 "for two bytes a cell.",
        .remedy = "",
        .role = LAB_ALSO,
        .families = {{FAMILY, EDUBBA_PLAIN, 1}},
        .change = change_prefix,
        .queries = {cpu_by_prefix, one_by_prefix, all_by_moment},
    },
    {
        .name = "bucket",
        .key = "HOSTNAME#BUCKET",
        .about = "One row for ten minutes, a column a metric, a cell a moment; a rule keeps 120 of "
                 "each.  A column that is not wanted is passed over by its first cell.",
        .remedy = "",
        .role = LAB_GOOD,
        .families = {{FAMILY, EDUBBA_PLAIN, BUCKET_CELLS}},
        .change = change_bucket,
        .queries = {cpu_by_bucket, one_by_bucket, all_by_bucket},
    },
};

const struct lab_experiment LAB_COLUMNS = {
    .name = "columns",
    .summary = "metrics as rows, as columns, in time buckets; families for what is read together",
    .story =
        "40 machines are measured every 5 s, eight metrics each.  Queries are about one machine "
        "and ten minutes: its processors, one metric, or all of them.",
    .who = "machine",
    .queries = {"a machine's processors, 10 minutes", "one of its metrics, 10 minutes",
                "all its metrics, 10 minutes"},
    .event = event,
    .who_text = who_text,
    .variants = VARIANTS,
    .variant_count = sizeof VARIANTS / sizeof VARIANTS[0],
};
