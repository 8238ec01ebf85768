#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>

#include "common/io/metrics.h"

static char rendered[1 << 20];

static const char *render(void)
{
    struct buffer out = BUFFER_INIT;
    metrics_render(&out);
    cr_assert(!out.failed);
    cr_assert_lt(out.size_bytes, sizeof rendered);
    if (out.size_bytes > 0) {
        memcpy(rendered, out.data, out.size_bytes);
    }
    rendered[out.size_bytes] = '\0';
    buffer_deinit(&out);
    return rendered;
}

Test(metrics, counters_and_gauges)
{
    struct metric *requests = metric_counter("edubba_requests_total", "", "Requests.");
    struct metric *depth = metric_gauge("edubba_depth", "queue=\"log\"", "Depth.");
    cr_assert_str_eq(render(), "# HELP edubba_requests_total Requests.\n"
                               "# TYPE edubba_requests_total counter\n"
                               "edubba_requests_total 0\n"
                               "# HELP edubba_depth Depth.\n"
                               "# TYPE edubba_depth gauge\n"
                               "edubba_depth{queue=\"log\"} 0\n");
    metric_add(requests, 2);
    metric_add(requests, 3);
    metric_set(depth, -7);
    cr_assert(strstr(render(), "\nedubba_requests_total 5\n") != NULL);
    cr_assert(strstr(render(), "\nedubba_depth{queue=\"log\"} -7\n") != NULL);
}

Test(metrics, the_same_name_and_labels_are_the_same_series)
{
    struct metric *a = metric_counter("x_total", "kind=\"a\"", "X.");
    struct metric *other = metric_counter("y_total", "", "Y.");
    struct metric *b = metric_counter("x_total", "kind=\"b\"", "X.");
    cr_assert_eq(metric_counter("x_total", "kind=\"a\"", "X."), a);
    cr_assert_neq(a, b);
    metric_add(a, 1);
    metric_add(b, 2);
    metric_add(other, 3);
    cr_assert_str_eq(render(), "# HELP x_total X.\n# TYPE x_total counter\n"
                               "x_total{kind=\"a\"} 1\nx_total{kind=\"b\"} 2\n"
                               "# HELP y_total Y.\n# TYPE y_total counter\ny_total 3\n");
}

Test(metrics, histograms_are_cumulative)
{
    struct metric *latency = metric_histogram("latency_seconds", "method=\"scan\"", "Latency.");
    metric_observe_ns(latency, 50000);         /* on a limit: in its bucket */
    metric_observe_ns(latency, 50001);         /* in the next */
    metric_observe_ns(latency, 700000000);     /* 0.7 s */
    metric_observe_ns(latency, 3600000000000); /* an hour */
    metric_observe_ns(latency, -5);            /* a clock that went back */
    const char *text = render();
    cr_assert(strstr(text, "latency_seconds_bucket{method=\"scan\",le=\"5e-05\"} 2\n") != NULL);
    cr_assert(strstr(text, "latency_seconds_bucket{method=\"scan\",le=\"0.0001\"} 3\n") != NULL);
    cr_assert(strstr(text, "latency_seconds_bucket{method=\"scan\",le=\"0.5\"} 3\n") != NULL);
    cr_assert(strstr(text, "latency_seconds_bucket{method=\"scan\",le=\"1\"} 4\n") != NULL);
    cr_assert(strstr(text, "latency_seconds_bucket{method=\"scan\",le=\"60\"} 4\n") != NULL);
    cr_assert(strstr(text, "latency_seconds_bucket{method=\"scan\",le=\"+Inf\"} 5\n") != NULL);
    cr_assert(strstr(text, "latency_seconds_sum{method=\"scan\"} 3600.700100001\n") != NULL);
    cr_assert(strstr(text, "latency_seconds_count{method=\"scan\"} 5\n") != NULL);
}

static void *add_many(void *context)
{
    for (int i = 0; i < 100000; i++) {
        metric_add(context, 1);
        metric_observe_ns(metric_histogram("many_seconds", "", "Many."), i);
    }
    return NULL;
}

Test(metrics, threads_lose_nothing)
{
    struct metric *counter = metric_counter("many_total", "", "Many.");
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, add_many, counter);
    }
    for (int i = 0; i < 20; i++) {
        (void)render();
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    cr_assert(strstr(render(), "\nmany_total 400000\n") != NULL);
    cr_assert(strstr(render(), "\nmany_seconds_count 400000\n") != NULL);
}

Test(metrics, beyond_the_limit_there_is_a_sink)
{
    static char names[3000][24];
    struct metric *last = NULL;
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(names[i], sizeof names[i], "series_%d", i);
        last = metric_counter(names[i], "", "Many series.");
        cr_assert(last != NULL);
    }
    metric_add(last, 5);
    cr_assert(strstr(render(), "series_2999") == NULL);
    cr_assert(strstr(render(), "series_10 ") != NULL);
}
