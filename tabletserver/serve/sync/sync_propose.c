/*
 * Proposals on their way to the catalog: at most one a tablet, the newest.  Replicas repeat them until a
 * higher version settles them (rule 9 of docs/replication.md), so nothing is kept once it is sent.
 */
#include <string.h>

#include "common/base/memory.h"
#include "common/io/logger.h"
#include "tabletserver/host/host.h"
#include "tabletserver/serve/replicas/replicas.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/serve/sync/sync_parts.h"

#define PROPOSALS_MAX 8192 /* more tablets than that wait their turn */
#define ASKED_MAX     1024

/* One that waits; the row is its own. */
struct waiting {
    struct proposal proposal;
    uint8_t *row;
};

struct proposals {
    pthread_mutex_t lock;
    struct waiting *items;
    size_t count;
    size_t capacity;
    uint64_t asked[ASKED_MAX]; /* tablets */
    size_t asked_count;
};

enum status proposals_create(struct proposals **ret_proposals)
{
    struct proposals *proposals = memory_allocate_zeroed(1, sizeof *proposals);
    if (proposals == NULL) {
        return STATUS_NO_MEMORY;
    }
    pthread_mutex_init(&proposals->lock, NULL);
    *ret_proposals = proposals;
    return STATUS_OK;
}

void proposals_destroy(struct proposals *proposals)
{
    if (proposals != NULL) {
        for (size_t i = 0; i < proposals->count; i++) {
            memory_free(proposals->items[i].row);
        }
        pthread_mutex_destroy(&proposals->lock);
        memory_free(proposals->items);
        memory_free(proposals);
    }
}

/* --- from the loops ----------------------------------------------------------------------------- */

/* The place of this tablet's proposal, or a new one.  NULL: there is none to be had, and the proposal is lost. */
static struct waiting *place_of(struct proposals *proposals, uint64_t tablet)
{
    for (size_t i = 0; i < proposals->count; i++) {
        if (proposals->items[i].proposal.tablet == tablet) {
            return &proposals->items[i];
        }
    }
    if (proposals->count == proposals->capacity) {
        size_t capacity = proposals->capacity * 2 + 64;
        struct waiting *items = capacity > PROPOSALS_MAX
                                    ? NULL
                                    : memory_resize(proposals->items, capacity * sizeof *items);
        if (items == NULL) {
            return NULL;
        }
        proposals->items = items;
        proposals->capacity = capacity;
    }
    proposals->items[proposals->count] = (struct waiting){.row = NULL};
    return &proposals->items[proposals->count++];
}

static struct proposal describe(uint64_t tablet,
                                struct replica_member self,
                                const struct host_proposal *wanted)
{
    const struct replica_proposal *replica = wanted->replica;
    struct proposal proposal = {.kind = PROPOSAL_MEMBERS,
                                .tablet = tablet,
                                .base = replica->base,
                                .proposer = self.store,
                                .next = replica->next};
    if (replica->kind == REPLICA_PROPOSE_SPLIT) {
        proposal.kind = PROPOSAL_SPLIT;
        proposal.left = wanted->split.left_tablet;
        proposal.right = wanted->split.right_tablet;
        proposal.row = wanted->split.key;
    } else if (replica->kind == REPLICA_PROPOSE_MERGE) {
        proposal.kind = PROPOSAL_MERGE;
        proposal.right = wanted->absorb.right_tablet;
        proposal.right_base = wanted->absorb.right_version;
        proposal.merged = wanted->absorb.merged_tablet;
    }
    return proposal;
}

void sync_propose(struct sync *sync,
                  uint64_t tablet,
                  struct replica_member self,
                  const struct host_proposal *wanted)
{
    struct proposals *proposals = sync->proposals;
    struct proposal proposal = describe(tablet, self, wanted);
    size_t row_bytes = proposal.row.size_bytes;
    uint8_t *row = row_bytes > 0 ? memory_allocate(row_bytes) : NULL;
    if (row_bytes > 0 && row == NULL) {
        return;
    }
    if (row != NULL) {
        memcpy(row, proposal.row.data, row_bytes);
        proposal.row.data = row;
    }
    pthread_mutex_lock(&proposals->lock);
    struct waiting *place = place_of(proposals, tablet);
    if (place != NULL) {
        memory_free(place->row);
        *place = (struct waiting){proposal, row};
        row = NULL;
    }
    pthread_mutex_unlock(&proposals->lock);
    memory_free(row);
    sync_hurry(sync);
}

void sync_ask(struct sync *sync, uint64_t tablet)
{
    struct proposals *proposals = sync->proposals;
    pthread_mutex_lock(&proposals->lock);
    size_t at = 0;
    while (at < proposals->asked_count && proposals->asked[at] != tablet) {
        at++;
    }
    if (at == proposals->asked_count && at < ASKED_MAX) {
        proposals->asked[proposals->asked_count++] = tablet;
    }
    pthread_mutex_unlock(&proposals->lock);
    sync_hurry(sync);
}

/* --- to the master ------------------------------------------------------------------------------ */

static size_t take(struct proposals *proposals, struct waiting *out)
{
    pthread_mutex_lock(&proposals->lock);
    size_t count = proposals->count < LIMIT_PROPOSALS_PER_MESSAGE ? proposals->count
                                                                  : LIMIT_PROPOSALS_PER_MESSAGE;
    if (count > 0) {
        memcpy(out, proposals->items, count * sizeof *out);
        proposals->count -= count;
        memmove(proposals->items, proposals->items + count,
                proposals->count * sizeof *proposals->items);
    }
    pthread_mutex_unlock(&proposals->lock);
    return count;
}

bool proposals_encode(struct sync *sync, struct buffer *message)
{
    struct waiting *taken = arena_allocate_array(&sync->arena, LIMIT_PROPOSALS_PER_MESSAGE,
                                                 sizeof *taken);
    struct proposal *all = arena_allocate_array(&sync->arena, LIMIT_PROPOSALS_PER_MESSAGE,
                                                sizeof *all);
    size_t count = taken != NULL && all != NULL ? take(sync->proposals, taken) : 0;
    if (count == 0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        all[i] = taken[i].proposal;
    }
    const struct propose_request request = {
        .server = sync->server->number,
        .proposals = all,
        .proposal_count = count,
        .incarnation = sync->server->incarnation,
    };
    request_head_encode(&(struct request_head){.deadline_ms = 3000}, message);
    propose_request_encode(&request, message);
    for (size_t i = 0; i < count; i++) {
        memory_free(taken[i].row);
    }
    return !message->failed;
}

/* --- its answer --------------------------------------------------------------------------------- */

/* One of the stores has it; the others pass it over. */
static void tell(struct server *server, const struct proposed *proposed)
{
    struct catalog_word word = {.tablet = proposed->tablet,
                                .gone = proposed->outcome != PROPOSED_CONFIGURATION};
    if (proposed->outcome == PROPOSED_CONFIGURATION) {
        word.configuration = proposed->configuration;
        word.right_version = proposed->right_version;
    } else if (proposed->outcome == PROPOSED_SPLIT) {
        word.heirs[0] = proposed->left;
        word.heirs[1] = proposed->right;
    } else if (proposed->outcome == PROPOSED_MERGED) {
        word.heirs[0] = proposed->merged;
    }
    for (uint32_t i = 0; i < server->loop_count; i++) {
        struct catalog_word *copy = catalog_word_copy(&word);
        if (copy != NULL && !store_loop_word(server->loops[i], copy)) {
            memory_free(copy); /* it proposes again */
        }
    }
}

void proposals_take_answer(struct sync *sync, struct bytes message)
{
    struct response_head head;
    struct bytes body;
    struct propose_response response;
    struct error error = {.status = STATUS_OK};

    arena_reset(&sync->arena);
    enum status status = response_head_decode(message, &head, &body, &error);
    if (status == STATUS_OK && head.status != STATUS_OK) {
        return; /* it settles nothing; the sync finds out whether this master is one */
    }
    if (status == STATUS_OK) {
        status = propose_response_decode(body, &sync->arena, &response, &error);
    }
    if (status != STATUS_OK) {
        LOG_EVENT(LOG_LEVEL_WARN, "proposal_answer_refused", LOG_TEXT("error", error.text));
        return;
    }
    for (size_t i = 0; i < response.answer_count; i++) {
        tell(sync->server, &response.answers[i]);
        if (response.answers[i].outcome == PROPOSED_SPLIT ||
            response.answers[i].outcome == PROPOSED_MERGED) {
            sync->next_ask_ns = 0; /* what the heirs' configurations are */
        }
    }
}

void proposals_take_asked(struct sync *sync)
{
    struct proposals *proposals = sync->proposals;
    pthread_mutex_lock(&proposals->lock);
    for (size_t i = 0; i < proposals->asked_count; i++) {
        assignment_list_tell_again(sync->assignments, proposals->asked[i]);
    }
    proposals->asked_count = 0;
    pthread_mutex_unlock(&proposals->lock);
}
