/*
 * edubba_masters.h -- which master of a cluster is the active one.
 *
 * Programs need not ask: edubba_client_open() takes all masters' addresses, and every call finds the
 * active one by itself.  This is for people and monitors.
 *
 * THREADS, ERRORS, MEMORY as in edubba.h.
 */
#ifndef EDUBBA_MASTERS_H
#define EDUBBA_MASTERS_H

#include "edubba.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Different addresses that edubba_options.masters may have, of masters and of tablet servers behind them. */
#define EDUBBA_MASTERS_MAX 16

struct edubba_master {
    const char *address;
    /* "active"; "standby"; "in doubt" (it led, and does nothing until it knows whether it still
     * does); "silent" (no answer); "no master" (a tablet server, by its own word or, where it is
     * silent, by that of the active master, which knows it by this address; or a master too old to
     * say). */
    const char *state;
    /* Where it says that the active one is; "" = it does not know, or is it and was not told by which
     * address others reach it. */
    const char *active;
    uint64_t reign;    /* rises with every change of the active one; 0 = it does not lead, or keeps
                        * the catalog by itself and so is the only one */
    uint64_t cluster;  /* the cluster's number; 0 = not known */
    const char *error; /* "silent": why; else "" */
};

/* What the masters that options name, and those that they name, say of themselves; there need not be
 * an active one.  Each has up to a second to answer, and all together the options' deadline_ms.  *masters: edubba_free() it.
 * Errors: those of edubba_client_open(), but EDUBBA_UNAVAILABLE. */
enum edubba_code edubba_list_masters(const struct edubba_options *options,
                                     struct edubba_master **masters,
                                     size_t *count,
                                     struct edubba_error *error);

#ifdef __cplusplus
}
#endif

#endif /* EDUBBA_MASTERS_H */
