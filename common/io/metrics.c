#include "common/io/metrics.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

#define SERIES_MAX   1024
#define BUCKET_COUNT 20

enum metric_type {
    METRIC_COUNTER,
    METRIC_GAUGE,
    METRIC_HISTOGRAM,
};

/* Padded apart, so that threads that count different things do not share cache lines. */
struct metric {
    alignas(64) enum metric_type type;
    const char *name;
    const char *labels;
    const char *help;
    _Atomic int64_t value; /* counter, gauge */
    _Atomic uint64_t count;
    _Atomic uint64_t sum_ns;
    _Atomic uint64_t buckets[BUCKET_COUNT]; /* not cumulative */
};

static const int64_t bucket_limits_ns[BUCKET_COUNT] = {
    50000,      100000,     200000,      500000,      1000000,     2000000,     5000000,
    10000000,   20000000,   50000000,    100000000,   200000000,   500000000,   1000000000,
    2000000000, 5000000000, 10000000000, 20000000000, 30000000000, 60000000000,
};
static const char *const bucket_texts[BUCKET_COUNT] = {
    "5e-05", "0.0001", "0.0002", "0.0005", "0.001", "0.002", "0.005", "0.01", "0.02", "0.05",
    "0.1",   "0.2",    "0.5",    "1",      "2",     "5",     "10",    "20",   "30",   "60",
};

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct metric *_Atomic registry[SERIES_MAX]; /* filled from the start, never emptied */
static _Atomic size_t registry_count;
static struct metric sink;

static struct metric *metric_create(enum metric_type type,
                                    const char *name,
                                    const char *labels,
                                    const char *help)
{
    struct metric *metric = memory_allocate_zeroed(1, sizeof *metric + alignof(struct metric));
    if (metric == NULL) {
        return NULL;
    }
    /* Metrics live as long as the process: the block's true start need not be remembered. */
    uintptr_t at = ((uintptr_t)metric + alignof(struct metric) - 1) & ~(alignof(struct metric) - 1);
    metric = (struct metric *)at;
    metric->type = type;
    metric->name = name;
    metric->labels = labels;
    metric->help = help;
    return metric;
}

static struct metric *metric_register(enum metric_type type,
                                      const char *name,
                                      const char *labels,
                                      const char *help)
{
    struct metric *found = NULL;
    bool mistyped = false;
    pthread_mutex_lock(&registry_lock);
    size_t count = atomic_load(&registry_count);
    for (size_t i = 0; i < count && found == NULL; i++) {
        struct metric *metric = atomic_load(&registry[i]);
        if (strcmp(metric->name, name) == 0) {
            mistyped |= metric->type != type;
            found = strcmp(metric->labels, labels) == 0 ? metric : NULL;
        }
    }
    if (found == NULL && !mistyped && count < SERIES_MAX) {
        found = metric_create(type, name, labels, help);
        if (found != NULL) {
            atomic_store(&registry[count], found);
            atomic_store(&registry_count, count + 1);
        }
    }
    pthread_mutex_unlock(&registry_lock);
    ASSERT(!mistyped);
    return found == NULL ? &sink : found;
}

struct metric *metric_counter(const char *name, const char *labels, const char *help)
{
    return metric_register(METRIC_COUNTER, name, labels, help);
}

struct metric *metric_gauge(const char *name, const char *labels, const char *help)
{
    return metric_register(METRIC_GAUGE, name, labels, help);
}

struct metric *metric_histogram(const char *name, const char *labels, const char *help)
{
    return metric_register(METRIC_HISTOGRAM, name, labels, help);
}

void metric_add(struct metric *metric, int64_t amount)
{
    atomic_fetch_add_explicit(&metric->value, amount, memory_order_relaxed);
}

void metric_set(struct metric *metric, int64_t value)
{
    atomic_store_explicit(&metric->value, value, memory_order_relaxed);
}

void metric_observe_ns(struct metric *metric, int64_t ns)
{
    int64_t value_ns = ns < 0 ? 0 : ns;
    size_t bucket = 0;
    while (bucket < BUCKET_COUNT && value_ns > bucket_limits_ns[bucket]) {
        bucket++;
    }
    if (bucket < BUCKET_COUNT) {
        atomic_fetch_add_explicit(&metric->buckets[bucket], 1, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&metric->sum_ns, (uint64_t)value_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&metric->count, 1, memory_order_relaxed);
}

static void render_value(const struct metric *metric, struct buffer *out)
{
    bool labelled = metric->labels[0] != '\0';
    buffer_append_format(out, "%s%s%s%s %" PRId64 "\n", metric->name, labelled ? "{" : "",
                         metric->labels, labelled ? "}" : "",
                         atomic_load_explicit(&metric->value, memory_order_relaxed));
}

static void render_histogram(const struct metric *metric, struct buffer *out)
{
    bool labelled = metric->labels[0] != '\0';
    const char *comma = labelled ? "," : "";
    /* The count is read first and raised last: buckets never show less than it says, but for
     * observations above the last limit; +Inf makes up for both. */
    uint64_t total = atomic_load_explicit(&metric->count, memory_order_relaxed);
    uint64_t below = 0;
    for (size_t i = 0; i < BUCKET_COUNT; i++) {
        below += atomic_load_explicit(&metric->buckets[i], memory_order_relaxed);
        buffer_append_format(out, "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", metric->name,
                             metric->labels, comma, bucket_texts[i], below);
    }
    total = total > below ? total : below;
    buffer_append_format(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", metric->name,
                         metric->labels, comma, total);
    uint64_t sum_ns = atomic_load_explicit(&metric->sum_ns, memory_order_relaxed);
    const char *open = labelled ? "{" : "";
    const char *close = labelled ? "}" : "";
    buffer_append_format(out, "%s_sum%s%s%s %" PRIu64 ".%09" PRIu64 "\n", metric->name, open,
                         metric->labels, close, sum_ns / 1000000000, sum_ns % 1000000000);
    buffer_append_format(out, "%s_count%s%s%s %" PRIu64 "\n", metric->name, open, metric->labels,
                         close, total);
}

static void render_series(const struct metric *metric, struct buffer *out)
{
    if (metric->type == METRIC_HISTOGRAM) {
        render_histogram(metric, out);
    } else {
        render_value(metric, out);
    }
}

/* Is this the first series of its name?  Then the others of that name follow it. */
static bool leads_its_name(size_t index)
{
    const char *name = atomic_load(&registry[index])->name;
    for (size_t i = 0; i < index; i++) {
        if (strcmp(atomic_load(&registry[i])->name, name) == 0) {
            return false;
        }
    }
    return true;
}

void metrics_render(struct buffer *out)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};
    size_t count = atomic_load(&registry_count);
    for (size_t i = 0; i < count; i++) {
        if (!leads_its_name(i)) {
            continue;
        }
        const struct metric *leader = atomic_load(&registry[i]);
        buffer_append_format(out, "# HELP %s %s\n# TYPE %s %s\n", leader->name, leader->help,
                             leader->name, types[leader->type]);
        for (size_t j = i; j < count; j++) {
            const struct metric *metric = atomic_load(&registry[j]);
            if (strcmp(metric->name, leader->name) == 0) {
                render_series(metric, out);
            }
        }
    }
}
