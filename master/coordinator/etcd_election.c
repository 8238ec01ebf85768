#include "master/coordinator/etcd_election.h"

#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"

#define SECOND_NS         INT64_C(1000000000)
#define ARENA_BLOCK_BYTES 4096

#define MS_NS          INT64_C(1000000)
#define ATTEMPTS       4 /* a lease, so that there is time for the other members before it is over */
#define ATTEMPT_MS_MIN 500
#define ATTEMPT_MS_MAX 2000 /* who stops waits for what is out */
#define MEMBERS        2    /* that one question waits for */

/* One question and its answer, as bytes. */
struct exchange {
    struct buffer question;
    struct buffer answer;
    struct arena arena;
};

/* It goes into logs, JSON and answers: nothing but what an address may have. */
static bool is_address(struct bytes text)
{
    for (size_t i = 0; i < text.size_bytes; i++) {
        if (text.data[i] <= ' ' || text.data[i] > '~' || strchr("\"\\<>", text.data[i]) != NULL) {
            return false;
        }
    }
    return text.size_bytes < ETCD_LEADER_BYTES_MAX;
}

static void note_leader(struct etcd_candidate *candidate,
                        const struct etcd_range *range,
                        struct election_answer *answer)
{
    candidate->leader[0] = '\0';
    if (range->count == 0) {
        return;
    }
    const struct etcd_key_value *leader = &range->items[0];
    if (is_address(leader->value)) {
        (void)snprintf(candidate->leader, sizeof candidate->leader, "%.*s",
                       (int)leader->value.size_bytes, (const char *)leader->value.data);
    }
    answer->leader = (uint64_t)leader->created;
    answer->leader_lease = leader->lease;
}

/* A longer lease is for an etcd that is slower: then it is also waited for longer. */
static struct etcd_patience patience_of(const struct etcd_candidate *candidate)
{
    int64_t attempt_ms = candidate->lease_ns / ATTEMPTS / MS_NS;
    if (attempt_ms < ATTEMPT_MS_MIN) {
        attempt_ms = ATTEMPT_MS_MIN;
    }
    if (attempt_ms > ATTEMPT_MS_MAX) {
        attempt_ms = ATTEMPT_MS_MAX;
    }
    return (struct etcd_patience){
        .attempt_ms = (uint32_t)attempt_ms,
        .total_ms = (uint32_t)(MEMBERS * attempt_ms),
    };
}

static enum status ask(struct etcd_candidate *candidate,
                       const char *path,
                       struct exchange *exchange,
                       struct error *ret_error)
{
    const struct etcd_patience patience = patience_of(candidate);
    bool in_doubt = false;
    return etcd_client_ask(candidate->client, path, &exchange->question, &patience,
                           &exchange->answer, &in_doubt, ret_error);
}

static enum status look(struct etcd_candidate *candidate,
                        struct exchange *exchange,
                        struct election_answer *answer,
                        struct error *ret_error)
{
    const struct etcd_span span = {.key = bytes_of_text(candidate->keys->leader)};
    struct etcd_range range = {0};

    etcd_range_encode(&span, 1, 0, &exchange->question);
    enum status status = ask(candidate, "/v3/kv/range", exchange, ret_error);
    if (status == STATUS_OK) {
        status = etcd_range_decode(buffer_bytes(&exchange->answer), &exchange->arena, &range,
                                   ret_error);
    }
    if (status == STATUS_OK) {
        note_leader(candidate, &range, answer);
    }
    return status;
}

/* Create the key unless it is there, and read what is there then. */
static void encode_campaign(const struct etcd_candidate *candidate,
                            int64_t lease,
                            struct buffer *question)
{
    struct bytes key = bytes_of_text(candidate->keys->leader);
    const struct etcd_comparison vacant = {.type = ETCD_CREATED_IS, .key = key, .created = 0};
    const struct etcd_operation read = {.type = ETCD_READ, .span.key = key};
    const struct etcd_operation create_and_read[] = {
        {
            .type = ETCD_PUT,
            .span.key = key,
            .value = bytes_of_text(candidate->address),
            .lease = lease,
        },
        read,
    };
    etcd_transaction_encode(
        &(struct etcd_transaction){
            .comparisons = &vacant,
            .comparison_count = 1,
            .then = create_and_read,
            .then_count = 2,
            .otherwise = &read,
            .otherwise_count = 1,
        },
        question);
}

static enum status campaign(struct etcd_candidate *candidate,
                            int64_t lease,
                            struct exchange *exchange,
                            struct election_answer *answer,
                            struct error *ret_error)
{
    struct etcd_outcome outcome = {0};

    encode_campaign(candidate, lease, &exchange->question);
    enum status status = ask(candidate, "/v3/kv/txn", exchange, ret_error);
    if (status == STATUS_OK) {
        status = etcd_outcome_decode(buffer_bytes(&exchange->answer), &exchange->arena, &outcome,
                                     ret_error);
    }
    if (status == STATUS_OK && outcome.range_count != 1) {
        status = error_set(ret_error, STATUS_MALFORMED, "etcd's answer: not what was asked for");
    }
    if (status == STATUS_OK) {
        note_leader(candidate, &outcome.ranges[0], answer);
    }
    return status;
}

static enum status grant(struct etcd_candidate *candidate,
                         struct exchange *exchange,
                         struct election_answer *answer,
                         struct error *ret_error)
{
    struct etcd_lease lease = {0};

    etcd_grant_encode(candidate->lease_ns / SECOND_NS, &exchange->question);
    enum status status = ask(candidate, "/v3/lease/grant", exchange, ret_error);
    if (status == STATUS_OK) {
        status = etcd_grant_decode(buffer_bytes(&exchange->answer), &lease, ret_error);
    }
    answer->lease = lease.lease;
    answer->ttl_ns = lease.ttl_s * SECOND_NS;
    return status;
}

static enum status renew(struct etcd_candidate *candidate,
                         int64_t lease,
                         struct exchange *exchange,
                         struct election_answer *answer,
                         struct error *ret_error)
{
    struct etcd_lease renewed = {0};

    etcd_lease_encode(lease, &exchange->question);
    enum status status = ask(candidate, "/v3/lease/keepalive", exchange, ret_error);
    if (status == STATUS_OK) {
        status = etcd_keep_alive_decode(buffer_bytes(&exchange->answer), &renewed, ret_error);
    }
    if (status == STATUS_OK && renewed.lease != lease) {
        status = error_set(ret_error, STATUS_MALFORMED, "etcd's answer: of another lease");
    }
    answer->ttl_ns = renewed.ttl_s * SECOND_NS;
    return status == STATUS_NOT_FOUND ? STATUS_OK : status; /* gone: a time of 0 */
}

static enum status revoke(struct etcd_candidate *candidate,
                          int64_t lease,
                          struct exchange *exchange,
                          struct error *ret_error)
{
    etcd_lease_encode(lease, &exchange->question);
    enum status status = ask(candidate, "/v3/lease/revoke", exchange, ret_error);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

struct election_answer etcd_election_ask(struct etcd_candidate *candidate,
                                         const struct election_question *question,
                                         struct error *ret_error)
{
    struct exchange exchange = {BUFFER_INIT, BUFFER_INIT, {0}};
    struct election_answer answer = {0};
    enum status status = STATUS_OK;

    error_clear(ret_error);
    arena_init(&exchange.arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    switch (question->type) {
    case ELECTION_WAIT:
        ASSERT(false);
        break;
    case ELECTION_LOOK:
        status = look(candidate, &exchange, &answer, ret_error);
        break;
    case ELECTION_GRANT:
        status = grant(candidate, &exchange, &answer, ret_error);
        break;
    case ELECTION_CAMPAIGN:
        status = campaign(candidate, question->lease, &exchange, &answer, ret_error);
        break;
    case ELECTION_RENEW:
        status = renew(candidate, question->lease, &exchange, &answer, ret_error);
        break;
    case ELECTION_REVOKE:
        status = revoke(candidate, question->lease, &exchange, ret_error);
        break;
    }
    answer.answered = status == STATUS_OK;
    arena_deinit(&exchange.arena);
    buffer_deinit(&exchange.question);
    buffer_deinit(&exchange.answer);
    return answer;
}
