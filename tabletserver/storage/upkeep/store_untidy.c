/*
 * Which tablets housekeeping has to look at: those that were made or flushed lately, or have rows to erase.  All others have
 * nothing to sweep, to estimate or to erase, and nobody asks them: of 10 000 that would take more than what there is to do.
 */
#include "common/base/assert.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tabletserver/storage/upkeep/store_upkeep.h"

/* Who is made is put into both when it is listed. */
static void put(struct store_tablet *tablet,
                struct store_queue *queue,
                struct store_queue_node *node)
{
    (void)pthread_mutex_lock(&tablet->store->mutex);
    if (tablet->is_listed) {
        store_queue_put(queue, node);
    }
    (void)pthread_mutex_unlock(&tablet->store->mutex);
}

void store_note_untidy(struct store_tablet *tablet)
{
    put(tablet, &tablet->store->untidy, &tablet->untidy);
}

void store_note_erasing(struct store_tablet *tablet)
{
    put(tablet, &tablet->store->erasing, &tablet->erasing);
}

static bool has_chore(struct store_tablet *tablet, enum store_chore chore)
{
    if (chore != STORE_CHORE_ERASE) {
        return tablet->sweep.due || tablet->estimate_due;
    }
    (void)pthread_mutex_lock(&tablet->mutex);
    bool any = tablet->range_deletes->count > 0;
    (void)pthread_mutex_unlock(&tablet->mutex);
    return any;
}

static struct store_tablet *choose(struct store *store,
                                   enum store_chore chore,
                                   bool (*wants)(struct store_tablet *tablet))
{
    struct store_queue *queue = chore == STORE_CHORE_ERASE ? &store->erasing : &store->untidy;
    struct store_queue_node *next = NULL;
    for (struct store_queue_node *node = queue->first; node != NULL; node = next) {
        struct store_tablet *tablet = node->tablet;
        next = node->next;
        atomic_fetch_add(&store->looked_at, 1);
        if (!has_chore(tablet, chore)) {
            store_queue_remove(queue, node);
        } else if (wants(tablet)) {
            return tablet;
        }
    }
    return NULL;
}

struct store_tablet *store_choose_untidy(struct store *store,
                                         enum store_chore chore,
                                         bool (*wants)(struct store_tablet *tablet),
                                         struct store_pieces **ret_pieces)
{
    ASSERT(chore != STORE_CHORE_COLLECT);
    (void)pthread_mutex_lock(&store->mutex);
    struct store_tablet *chosen = choose(store, chore, wants);
    if (chosen != NULL) {
        store_tablet_ref(chosen);
        (void)pthread_mutex_lock(&chosen->mutex);
        *ret_pieces = store_pieces_ref(chosen->pieces);
        (void)pthread_mutex_unlock(&chosen->mutex);
    }
    (void)pthread_mutex_unlock(&store->mutex);
    return chosen;
}
