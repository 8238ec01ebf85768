#include "gateway/daemon/gateway_metrics.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "common/base/assert.h"
#include "common/io/metrics.h"
#include "gateway/methods/method_list.h"

#define CODES_MAX   17 /* the canonical codes 0 to 16; others count as UNKNOWN */
#define LABEL_BYTES 96 /* metrics keep the text */

struct method_series {
    _Atomic(struct metric *) duration;
    _Atomic(struct metric *) codes[CODES_MAX];
    char duration_label[LABEL_BYTES];
    char code_labels[CODES_MAX][LABEL_BYTES];
};

static struct {
    const struct rpc_method *methods;
    size_t method_count;
    struct method_series series[METHOD_LIST_MAX];
    pthread_mutex_t lock; /* of who adds a series */
    struct metric *request_bytes;
    struct metric *serving;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

void gateway_metrics_init(const struct rpc_method *methods, size_t method_count)
{
    ASSERT(method_count <= METHOD_LIST_MAX);
    all.methods = methods;
    all.method_count = method_count;
    all.request_bytes = metric_gauge("edubba_gateway_request_bytes", "",
                                     "What the requests of calls that run are counted with.");
    all.serving = metric_gauge("edubba_gateway_serving", "",
                               "1 while calls are taken, 0 before and while draining.");
}

/* Made when first needed: most methods are never called, and end in a few ways only. */
static struct metric *duration_of(size_t method)
{
    struct method_series *series = &all.series[method];
    struct metric *metric = atomic_load(&series->duration);
    if (metric != NULL) {
        return metric;
    }
    (void)pthread_mutex_lock(&all.lock);
    metric = atomic_load(&series->duration);
    if (metric == NULL) {
        (void)snprintf(series->duration_label, LABEL_BYTES, "method=\"%s\"",
                       method_list_name(&all.methods[method]));
        metric = metric_histogram("edubba_gateway_request_seconds", series->duration_label,
                                  "From arrival to the last of the answer, by method.");
        atomic_store(&series->duration, metric);
    }
    (void)pthread_mutex_unlock(&all.lock);
    return metric;
}

static struct metric *counter_of(size_t method, enum edubba_code code)
{
    struct method_series *series = &all.series[method];
    size_t number = (size_t)code < CODES_MAX ? (size_t)code : (size_t)EDUBBA_UNKNOWN;
    struct metric *metric = atomic_load(&series->codes[number]);
    if (metric != NULL) {
        return metric;
    }
    (void)pthread_mutex_lock(&all.lock);
    metric = atomic_load(&series->codes[number]);
    if (metric == NULL) {
        char *label = series->code_labels[number];
        (void)snprintf(label, LABEL_BYTES, "method=\"%s\",code=\"%s\"",
                       method_list_name(&all.methods[method]),
                       edubba_code_name((enum edubba_code)number));
        metric = metric_counter("edubba_gateway_requests_total", label,
                                "Calls ended, by method and code.");
        atomic_store(&series->codes[number], metric);
    }
    (void)pthread_mutex_unlock(&all.lock);
    return metric;
}

void gateway_metrics_ended(size_t method, enum edubba_code code, int64_t duration_ns)
{
    ASSERT(method < all.method_count);
    metric_add(counter_of(method, code), 1);
    metric_observe_ns(duration_of(method), duration_ns);
}

void gateway_metrics_now(uint64_t request_bytes, bool is_serving)
{
    metric_set(all.request_bytes, (int64_t)request_bytes);
    metric_set(all.serving, is_serving ? 1 : 0);
}
