/*
 * What may be given out while slices are read: a walk of a learner shows a tablet as of one sequence, so barriers and
 * dropped ranges wait for its end, and walks are quick then; or they go first, and the learner begins anew.
 */
#include "common/io/clock.h"
#include "tabletserver/host/host_internal.h"

#define WALKS_BROKEN_MAX 6 /* then the time that walks get doubles no more */

bool hosted_walks(const struct hosted *hosted)
{
    bool walks = false;
    for (const struct host_teaching *t = hosted->teachings; t != NULL; t = t->next) {
        walks = walks || t->walks;
    }
    return walks;
}

bool hosted_is_quick(const struct hosted *hosted)
{
    return hosted->hurried || hosted->awaited;
}

static bool passes_walks(uint8_t type)
{
    return type == RECORD_WRITE || type == RECORD_GC_HORIZON;
}

void hosted_note_given_out(struct hosted *hosted, const struct store_entry *entry)
{
    if (!passes_walks(entry->type)) {
        hosted->barred_sequence = entry->sequence;
    }
}

static void look_at_haste(struct hosted *hosted)
{
    store_tablet_hurry(hosted->tablet, hosted_is_quick(hosted));
}

void host_hurry(struct host *host, struct store_tablet *tablet, bool hurried)
{
    struct hosted *hosted = store_tablet_replica(tablet);
    (void)host;
    if (hosted != NULL) {
        hosted->hurried = hurried;
        hosted->awaited = hosted->awaited && hosted_walks(hosted);
        look_at_haste(hosted);
    }
}

/* How long a walk may hold up what waits.  Of several learners one always walks when the next is let go, and begins again
 * at once: so the time doubles until some have learnt all, or what waits has been given out (simulator, seed 4340588). */
static int64_t walk_patience_ns(const struct hosted *hosted)
{
    return hosted->host->options.learn_timeout_ns << hosted->walks_broken;
}

static void note_walks(struct hosted *hosted, bool may, bool broken)
{
    if (may) {
        hosted->walks_broken = 0;
    } else if (broken && hosted->walks_broken < WALKS_BROKEN_MAX) {
        hosted->walks_broken++;
    }
}

/* What may not be given out while slices are read: they are read quickly then.  Who waits too long goes
 * first. */
bool hosted_may_give_out(struct hosted *hosted, uint8_t type)
{
    int64_t now_ns = clock_monotonic_ns();
    if (passes_walks(type)) {
        return true;
    }
    bool may = true;
    bool broken = false;
    struct host_teaching *next = NULL;
    for (struct host_teaching *t = hosted->teachings; t != NULL; t = next) {
        next = t->next;
        int64_t since_ns = hosted->awaited ? hosted->awaited_since_ns : now_ns;
        since_ns = t->walks_since_ns > since_ns ? t->walks_since_ns : since_ns;
        if (t->walks && now_ns - since_ns > walk_patience_ns(hosted)) {
            hosted_teach_anew(hosted, t);
            broken = true;
        } else {
            may = may && !t->walks;
        }
    }
    note_walks(hosted, may, broken);
    hosted->awaited_since_ns = hosted->awaited ? hosted->awaited_since_ns : now_ns;
    hosted->awaited = !may;
    look_at_haste(hosted);
    return may;
}
