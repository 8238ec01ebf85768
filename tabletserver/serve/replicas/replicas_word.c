/*
 * What the master said of a tablet, put to the host.
 */
#include <string.h>

#include "common/base/memory.h"
#include "common/io/logger.h"
#include "tabletserver/serve/replicas/replicas_parts.h"

struct catalog_word *catalog_word_copy(const struct catalog_word *word)
{
    size_t row_bytes = word->goal.row.size_bytes;
    struct catalog_word *copy = memory_allocate(sizeof *copy + row_bytes);
    if (copy != NULL) {
        *copy = *word;
        if (row_bytes > 0) {
            memcpy(copy->bytes, word->goal.row.data, row_bytes);
        }
        copy->goal.row = bytes_of(copy->bytes, row_bytes);
    }
    return copy;
}

/*
 * Whether nobody else has anything of the tablet, so that this copy may begin it (rule 18).  A copy that
 * was made to be taught has no version of its own and never may.  One that was made as a member's may
 * while the tablet is being created; and one that was written before its server replicated was the only
 * one.
 */
static bool is_founding(const struct replicas *replicas,
                        const struct store_tablet *tablet,
                        const struct catalog_word *word)
{
    const struct replica_configuration *newest = &word->configuration;
    bool is_alone = newest->member_count == 1 &&
                    newest->members[0].store == store_number(store_loop_store(replicas->loop));
    return store_tablet_describe(tablet)->configuration != 0 && (word->creating || is_alone);
}

static void tell_goal(struct replicas *replicas,
                      struct store_tablet *tablet,
                      const struct goal *goal)
{
    struct replica_union members = {.count = goal->member_count};
    memcpy(members.members, goal->members, goal->member_count * sizeof goal->members[0]);
    host_goal(replicas->host, tablet, &members, goal->leader);
}

/* The master wishes for a split.  If it cannot be done now, the wish will be told again. */
static void split(struct replicas *replicas, struct store_tablet *tablet, const struct goal *goal)
{
    const struct record_split wish = {
        .key = goal->row, .left_tablet = goal->left, .right_tablet = goal->right};
    write_order_flush(
        replicas->order); /* what was taken before is on the near side of the barrier */
    enum status status = host_split(replicas->host, tablet, &wish);
    write_order_look_again(tablet);
    if (status == STATUS_INVALID_ARGUMENT) {
        LOG_EVENT(LOG_LEVEL_ERROR, "split_makes_no_sense",
                  LOG_ID("tablet", store_tablet_describe(tablet)->tablet),
                  LOG_BYTES("row", goal->row));
    }
}

static void merge(struct replicas *replicas, struct store_tablet *tablet, const struct goal *goal)
{
    const struct host_merge_wish wish = {goal->left, goal->right, goal->merged};
    host_merge(replicas->host, tablet, goal->wish == GOAL_MERGE ? &wish : NULL);
}

static void take_leave(struct replicas *replicas,
                       struct store_tablet *tablet,
                       const struct catalog_word *word)
{
    const struct replica_configuration *newest = word->configuration.version != 0
                                                     ? &word->configuration
                                                     : NULL;
    bool converts = false;
    for (int i = 0; i < 2 && word->heirs[i] != 0; i++) {
        converts = host_convert(replicas->host, tablet, word->heirs[i], newest) || converts;
    }
    if (!converts) { /* nothing comes of it here, as far as this tells: there is no such tablet any more */
        host_gone(replicas->host, tablet);
    }
}

static bool wants_copy(const struct goal *goal, uint64_t store)
{
    for (uint32_t i = 0; i < goal->member_count; i++) {
        if (goal->members[i].store == store) {
            return true;
        }
    }
    return false;
}

/*
 * A copy of a history that a person gave up (rule 18), in a store that is to have one of the tablet as it is now: it
 * gives place, and another one begins with nothing.  To be taught anew as it stands it would have to have less than
 * the tablet has now, and that may not be written to without it.  What its primary has opened before the catalog's
 * word came is under the new era already, and damaged; a learner that is damaged otherwise, of a tablet that was
 * recovered once, is not told apart from that, and loses no more than a part of a lesson.
 */
static bool gives_place(const struct replicas *replicas,
                        const struct store_tablet *tablet,
                        const struct catalog_word *word)
{
    uint64_t store = store_number(store_loop_store(replicas->loop));
    const struct replica_configuration *newest = &word->configuration;
    struct replica_view view = host_look(tablet);
    uint64_t era = replica_version_era(view.configuration.version);
    bool was_lost = view.configuration.version != 0 && era < replica_version_era(newest->version);
    bool is_late = view.role == REPLICA_LEARNER && view.trouble == REPLICA_IS_DAMAGED &&
                   view.committed > 0 && era > 0;
    return (was_lost || is_late) && word->has_goal && wants_copy(&word->goal, store) &&
           replica_configuration_find(newest, store) == newest->member_count;
}

void replicas_take_word(struct replicas *replicas, struct catalog_word *word)
{
    struct store *store = store_loop_store(replicas->loop);
    struct store_tablet *tablet = store_tablet_find(store, word->tablet);
    if (tablet != NULL && word->gone) {
        take_leave(replicas, tablet, word);
    } else if (tablet != NULL && gives_place(replicas, tablet, word)) {
        LOG_EVENT(LOG_LEVEL_WARN, "copy_given_up", LOG_ID("tablet", word->tablet),
                  LOG_U64("version", host_look(tablet).configuration.version),
                  LOG_U64("committed", store_tablet_committed(tablet)));
        write_order_drop(replicas->order, tablet, 0); /* its version is of another history */
    } else if (tablet != NULL) {
        if (word->has_goal) {
            host_hurry(replicas->host, tablet, word->hurried);
            tell_goal(replicas, tablet, &word->goal);
            merge(replicas, tablet, &word->goal);
        }
        if (word->right_version != 0) {
            host_told_right(replicas->host, word->tablet, word->right_version);
        }
        if (word->has_goal && word->goal.wish == GOAL_SPLIT) {
            split(replicas, tablet, &word->goal);
        }
        if (word->recovered) {
            host_recovered(replicas->host, tablet, &word->configuration);
        } else if (word->configuration.version != 0) {
            host_told(replicas->host, tablet, &word->configuration,
                      is_founding(replicas, tablet, word));
        }
    }
    memory_free(word);
}
