/*
 * The master's metrics.  Names are stable: dashboards read them.
 * Thread rule: any thread after master_metrics_init().
 */
#ifndef MASTER_SHELL_MASTER_METRICS_H
#define MASTER_SHELL_MASTER_METRICS_H

#include "common/wire/message.h"
#include "master/core/catalog.h"

void master_metrics_init(void);

/* "create_table"; "other" for what the master does not answer.  Never NULL. */
const char *master_method_name(enum method method);

void master_metrics_request(enum method method, enum status status, int64_t duration_ns);
void master_metrics_commit(enum status status, int64_t duration_ns);

/* Of the active master, what its catalog has.  counts NULL: this one is not the active master, and
 * claims nothing of the catalog, whatever it claimed when it was. */
void master_metrics_state(const struct catalog_counts *counts, size_t mailbox_depth);

/* What needs a person; of any master. */
void master_metrics_alarms(bool not_written, bool not_kept);

#endif /* MASTER_SHELL_MASTER_METRICS_H */
