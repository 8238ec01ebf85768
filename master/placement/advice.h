/*
 * Advice: what the load of a table's tablets says about its row keys, in words.
 *
 *    figures and details of the busy tablets --> findings, the worst first (struct advise_response)
 *
 * | finding | when |
 * |---|---|
 * | popular key | one row is ADVICE_KEY_PERMILLE of the table's load, ADVICE_ROW_OPERATIONS_MIN a second, or twice ADVICE_TABLET_PERMILLE of that of a tablet under pressure |
 * | monotonic | a tablet has ADVICE_TABLET_PERMILLE of the table's writes, and half of its own are appended |
 * | narrow range | a few tablets, of many, have most of the load, or one of two or three nearly all; and none of the above says why, nor a long scan that goes through the table |
 * | high pressure | a tablet takes ADVICE_PRESSURE_PERMILLE of its server's CPU time |
 * | large rows | rows of ADVICE_ROW_BYTES and more are read or written, ADVICE_ROW_BYTES a second and more |
 * | balanced | none of these |
 * | too few | less than ADVICE_OBSERVATIONS_MIN sampled operations, or ADVICE_OPERATIONS_MIN a second, and no large rows; or it is told of for less than ADVICE_KNOWN_NS: not every server has told yet |
 *
 * LOAD is rows touched: rows that were read by key or looked at by scans, and rows written.  What cures a
 * fault is named as in the patterns of schemas for time series: field promotion, salting and so on; and it is
 * said with the keys as they are (key_shape.h, advice_cure.h).
 *
 * A tablet that load has left counts for nothing, however much it had to do while it was told of: a writer
 * that appends is in one tablet at a time, and leaves one behind with every split.
 *
 * Thread rule: any; a function of its arguments.  Pure.
 */
#ifndef MASTER_PLACEMENT_ADVICE_H
#define MASTER_PLACEMENT_ADVICE_H

#include "common/base/arena.h"
#include "common/base/status.h"
#include "common/wire/message.h"

#define ADVICE_FINDINGS_MAX       8
#define ADVICE_OBSERVATIONS_MIN   100
#define ADVICE_OPERATIONS_MIN     100 /* a second */
#define ADVICE_ROW_OPERATIONS_MIN 50  /* a second, on one row: of fewer a small table is made */
#define ADVICE_LONG_SCANS         10 /* operations a second: fewer are scans that go through a table */
#define ADVICE_KNOWN_NS           UINT64_C(2000000000)
#define ADVICE_KEY_PERMILLE       100
#define ADVICE_TABLET_PERMILLE    200
#define ADVICE_APPENDED_PERMILLE  500
#define ADVICE_PRESSURE_PERMILLE  600
#define ADVICE_MOST_PERMILLE      800 /* of the load: is that on few tablets? */
#define ADVICE_ONE_PERMILLE       600 /* of the load: on one of several? */
#define ADVICE_UNEVEN_PERMILLE    300 /* of the load on one, and so many times its part: not even */
#define ADVICE_UNEVEN_TIMES       3
#define ADVICE_FEW_ONE_OF         8 /* few: at most one of so many, or one of several */
#define ADVICE_SEVERAL            4
#define ADVICE_NEARLY_PERMILLE    950 /* of the load on one of fewer */
#define ADVICE_ROW_BYTES          (1024 * 1024)
#define ADVICE_QUIET_NS           UINT64_C(2500000000) /* not busy for so long: load has left it */

/* A tablet that was busy, as its server has told: master/core/load/load_details.h has these. */
struct advice_tablet {
    uint64_t tablet;
    struct row_range range;
    uint64_t elapsed_ns; /* what the figures are about */
    uint64_t capacity_ns;
    struct load_figures figures;
    struct load_detail detail;
    /* For how long its server has reported of other tablets and not of this one, which therefore
     * had nothing to do; 0 = it is busy. */
    uint64_t quiet_ns;
    bool inherited; /* figures and detail are a part of what was told of another one */
};

struct advice_table {
    const struct advice_tablet *tablets; /* ascending by range */
    size_t tablet_count;
    uint64_t all_count; /* of the table's tablets: those that were not busy, too */
    uint64_t known_ns;  /* for so long its load has been told of */
};

/* At least one finding, at most ADVICE_FINDINGS_MAX; keys and ranges are the table's, all else is in the
 * arena.  Errors: STATUS_NO_MEMORY. */
enum status advise(const struct advice_table *table,
                   struct arena *arena,
                   struct advise_response *ret_response);

#endif /* MASTER_PLACEMENT_ADVICE_H */
