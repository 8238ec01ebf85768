/*
 * Proposals on their way to the catalog: at most one a tablet, the newest.  Replicas repeat them until a
 * higher version settles them (rule 9 of docs/replication.md), so nothing is kept once it is sent.
 */
#include <string.h>

#include "common/base/memory.h"
#include "common/io/logger.h"
#include "tabletserver/replica/replica.h"
#include "tabletserver/serve/replicas.h"
#include "tabletserver/serve/server.h"
#include "tabletserver/serve/sync_parts.h"

#define PROPOSALS_MAX 8192 /* more tablets than that wait their turn */
#define ASKED_MAX     1024

struct proposals {
    pthread_mutex_t lock;
    struct proposal *items;
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
        pthread_mutex_destroy(&proposals->lock);
        memory_free(proposals->items);
        memory_free(proposals);
    }
}

/* --- from the loops ----------------------------------------------------------------------------- */

/* Of this tablet, or a new one; NULL: it is lost. */
static struct proposal *place_of(struct proposals *proposals, uint64_t tablet)
{
    for (size_t i = 0; i < proposals->count; i++) {
        if (proposals->items[i].tablet == tablet) {
            return &proposals->items[i];
        }
    }
    if (proposals->count == proposals->capacity) {
        size_t capacity = proposals->capacity * 2 + 64;
        struct proposal *items = capacity > PROPOSALS_MAX
                                     ? NULL
                                     : memory_resize(proposals->items, capacity * sizeof *items);
        if (items == NULL) {
            return NULL;
        }
        proposals->items = items;
        proposals->capacity = capacity;
    }
    return &proposals->items[proposals->count++];
}

void sync_propose(struct sync *sync,
                  uint64_t tablet,
                  struct replica_member self,
                  const struct replica_proposal *proposal)
{
    struct proposals *proposals = sync->proposals;
    if (proposal->kind != REPLICA_PROPOSE_MEMBERS) {
        return;
    }
    pthread_mutex_lock(&proposals->lock);
    struct proposal *place = place_of(proposals, tablet);
    if (place != NULL) {
        *place = (struct proposal){.kind = PROPOSAL_MEMBERS,
                                   .tablet = tablet,
                                   .base = proposal->base,
                                   .proposer = self.store,
                                   .next = proposal->next};
    }
    pthread_mutex_unlock(&proposals->lock);
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

static size_t take(struct proposals *proposals, struct proposal *out)
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
    struct proposal *taken = arena_allocate_array(&sync->arena, LIMIT_PROPOSALS_PER_MESSAGE,
                                                  sizeof *taken);
    size_t count = taken != NULL ? take(sync->proposals, taken) : 0;
    if (count == 0) {
        return false;
    }
    const struct propose_request request = {
        .server = sync->server->number, .proposals = taken, .proposal_count = count};
    request_head_encode(&(struct request_head){.deadline_ms = 3000}, message);
    propose_request_encode(&request, message);
    return !message->failed;
}

/* --- its answer --------------------------------------------------------------------------------- */

/* One of the stores has it; the others pass it over. */
static void tell(struct server *server, const struct proposed *proposed)
{
    const struct catalog_word word = {
        .tablet = proposed->tablet,
        .gone = proposed->outcome != PROPOSED_CONFIGURATION,
        .configuration = proposed->outcome == PROPOSED_CONFIGURATION
                             ? proposed->configuration
                             : (struct replica_configuration){.version = 0}};
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
