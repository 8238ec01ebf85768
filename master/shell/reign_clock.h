/*
 * The time of a reign's catalog.  It runs while the master hears others, and stands while it does not: while it is
 * suspended and refuses them, or was not run at all.  Else all servers would have been silent for as long, longer perhaps
 * than it takes to be replaced, and the first one to come again would be given what the others have.
 *
 * It never goes back.  Pure.  Thread rule: one owner.
 */
#ifndef MASTER_SHELL_REIGN_CLOCK_H
#define MASTER_SHELL_REIGN_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define REIGN_CLOCK_STRIDE_NS_MAX \
    INT64_C(1000000000) /* between two looks; the loop looks twice as often */

struct reign_clock {
    int64_t clock_ns; /* clock_monotonic_ns() at the last look */
    int64_t now_ns;   /* the catalog's time then */
};

/* Both are the same at first. */
void reign_clock_start(struct reign_clock *clock, int64_t clock_ns);

/* Go on, if others are heard; returns the catalog's time. */
int64_t reign_clock_look(struct reign_clock *clock, int64_t clock_ns, bool hears);

/* A moment by clock_monotonic_ns() in the catalog's time, as of the last look; and back: CATALOG_NEVER stays. */
int64_t reign_clock_of(const struct reign_clock *clock, int64_t moment_ns);
int64_t reign_clock_when(const struct reign_clock *clock, int64_t catalog_ns);

#endif /* MASTER_SHELL_REIGN_CLOCK_H */
