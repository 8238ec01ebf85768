/*
 * What advice*.c share: the load of tablets, and the findings that are being made of it.
 */
#ifndef MASTER_PLACEMENT_ADVICE_PARTS_H
#define MASTER_PLACEMENT_ADVICE_PARTS_H

#include "common/base/buffer.h"
#include "master/placement/advice.h"

/* Rows that were touched, a second. */
struct advice_rates {
    double reads;
    double writes;
};

struct advising {
    const struct advice_table *table; /* without what load has left */
    struct arena *arena;
    struct advice_finding *findings;
    size_t count;
    struct advice_rates all;
    bool failed; /* without memory */
};

/* --- figures ------------------------------------------------------------------------------------ */

static inline struct advice_rates advice_rates_of(const struct advice_tablet *tablet)
{
    double seconds = (double)tablet->elapsed_ns / 1e9;
    if (tablet->elapsed_ns == 0) {
        return (struct advice_rates){0, 0};
    }
    return (struct advice_rates){(double)tablet->figures.read_rows / seconds,
                                 (double)tablet->figures.writes / seconds};
}

static inline double advice_sum(struct advice_rates rates)
{
    return rates.reads + rates.writes;
}

static inline uint32_t advice_permille(double part, double whole)
{
    if (whole <= 0 || part <= 0) {
        return 0;
    }
    return part >= whole ? 1000 : (uint32_t)(1000 * part / whole + 0.5);
}

/* "reads", "writes", or both where neither is nearly all. */
static inline const char *advice_load_name(struct advice_rates rates)
{
    if (advice_permille(rates.writes, advice_sum(rates)) >= 800) {
        return "writes";
    }
    return advice_permille(rates.reads, advice_sum(rates)) >= 800 ? "reads" : "reads and writes";
}

/* --- findings: advice.c ------------------------------------------------------------------------- */

/* Text is moved into the arena.  The finding, to say more of; NULL: there are enough. */
struct advice_finding *advice_add(struct advising *advising,
                                  enum advice_kind kind,
                                  uint32_t share,
                                  struct buffer *text);
/* Text is moved into the arena. */
void advice_add_cure(struct advising *advising,
                     struct advice_finding *finding,
                     const char *pattern,
                     struct buffer *text);
bool advice_has_finding(const struct advising *advising, uint64_t tablet);

/* --- advice_growth.c: rows that grow at the end --------------------------------------------------- */

void advice_find_growth(struct advising *advising);
/* Does the table have rows that begin with something else? */
bool advice_has_others(const struct advising *advising, struct bytes front);

/* --- advice_narrow.c: few tablets of many --------------------------------------------------------- */

void advice_find_narrow(struct advising *advising);

#endif /* MASTER_PLACEMENT_ADVICE_PARTS_H */
