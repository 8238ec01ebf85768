/*
 * The metrics of this process as those who operate it are told of them.
 */
#ifndef TESTS_SUPPORT_TOLD_METRICS_H
#define TESTS_SUPPORT_TOLD_METRICS_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/io/metrics.h"

/* All of them, as one text that ends; the caller deinits it. */
static inline struct buffer told_metrics(void)
{
    struct buffer text = BUFFER_INIT;
    metrics_render(&text);
    buffer_append_u8(&text, '\0');
    cr_assert_not(text.failed);
    return text;
}

/* Is it one of their lines?  (Before the first one there is help.) */
static inline bool told_metrics_have(const char *line)
{
    struct buffer text = told_metrics();
    char whole[128];
    int length = snprintf(whole, sizeof whole, "\n%s\n", line);
    cr_assert_lt(length, (int)sizeof whole);
    bool found = strstr((const char *)text.data, whole) != NULL;
    buffer_deinit(&text);
    return found;
}

/* What a metric without labels has come to; it must be there. */
static inline int64_t told_metric(const char *name)
{
    struct buffer text = told_metrics();
    char begin[64];
    int length = snprintf(begin, sizeof begin, "\n%s ", name);
    cr_assert_lt(length, (int)sizeof begin);
    const char *at = strstr((const char *)text.data, begin);
    cr_assert_not_null(at, "%s is not told", name);
    long long value = strtoll(at + length, NULL, 10);
    buffer_deinit(&text);
    return value;
}

#endif /* TESTS_SUPPORT_TOLD_METRICS_H */
