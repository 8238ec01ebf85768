/*
 * The load meter: what this server's tablets have had to do, as reports for the master.
 *
 *    load_meter_tick()    each second: what was counted since becomes a report
 *    load_meter_report()  what to tell with the next sync
 *    load_meter_told()    that sync was answered: the next tick may make another
 *
 * A report that is not told yet goes along with every sync, and what is counted meanwhile waits for
 * the next one.  While no master answers, one is thrown away when it is LOAD_REPORT_AGE_MAX_NS old: what
 * happened without a master is not told later, as if it happened then.
 *
 * Only tablets that had anything to do are in a report: idle ones cost nothing.
 *
 * Thread rule: the sync thread only.
 */
#ifndef TABLETSERVER_SERVE_LOAD_LOAD_METER_H
#define TABLETSERVER_SERVE_LOAD_LOAD_METER_H

#include "common/base/status.h"
#include "common/wire/message.h"

struct load_meter;
struct server;

#define LOAD_REPORT_AGE_MAX_NS (INT64_C(10) * 1000 * 1000 * 1000)

/* Errors: STATUS_NO_MEMORY. */
enum status load_meter_create(struct server *server, struct load_meter **ret_meter);
void load_meter_destroy(struct load_meter *meter); /* NULL is fine */

/* The server is open.  Without memory there will be a report with a later tick. */
void load_meter_tick(struct load_meter *meter, int64_t now_ns);

/* Good until the next tick.  Number 0: nothing to report. */
struct load_report load_meter_report(const struct load_meter *meter);

/* A master has taken the report of this number. */
void load_meter_told(struct load_meter *meter, uint64_t number);

#endif /* TABLETSERVER_SERVE_LOAD_LOAD_METER_H */
