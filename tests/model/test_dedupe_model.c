/*
 * Exactly once against a list of all that was ever applied: clients that send their requests in any
 * order, several times, over connections that lose, repeat and delay them; a server that commits
 * late, restarts from its image and the log behind it, splits and merges.  Whatever happens, a
 * request is applied at most once, and a duplicate that is let in gets the answer of the first.
 */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/prng.h"
#include "common/base/stamp.h"
#include "tabletserver/storage/record/dedupe.h"

#define CLIENTS      5
#define REQUESTS_MAX 4000
#define LOG_MAX      8000
#define FLIGHT_MAX   64
#define SEEDS        60
#define STEPS        3000

struct request {
    struct request_id id;
    uint64_t applied_count;
    uint64_t log_sequence;
    bool answered; /* the client knows */
};

struct log_item {
    struct request_id id;
    uint64_t sequence; /* one for all that came together */
    uint64_t clock;
    uint64_t result;
};

/* A message under way: the request as it was when it was sent. */
struct message {
    struct request_id id;
    size_t request;
};

struct model {
    struct prng prng;
    uint64_t seed;
    uint64_t now_us;
    struct dedupe *dedupe;
    struct request requests[REQUESTS_MAX];
    size_t request_count;
    uint64_t next_sequence[CLIENTS];
    struct log_item log[LOG_MAX];
    size_t log_count;
    uint64_t log_sequence; /* of the record being written */
    uint64_t committed;
    struct buffer image;
    uint64_t image_sequence; /* the log behind it is replayed */
    struct message flight[FLIGHT_MAX];
    size_t flight_count;
    uint64_t verdicts[8];
};

static struct model model;

static uint64_t clock_now(void)
{
    return hlc_of_us((int64_t)model.now_us);
}

static void make_dedupe(void)
{
    struct dedupe_limits limits = {.clients_max = 4, .records_max = 64, .result_bytes_max = 600};
    cr_assert_eq(dedupe_create(&limits, &model.dedupe), STATUS_OK);
}

/* The lowest sequence that the client still waits for. */
static uint64_t first_unfinished(uint64_t client)
{
    for (size_t i = 0; i < model.request_count; i++) {
        if (model.requests[i].id.client == client && !model.requests[i].answered) {
            return model.requests[i].id.sequence;
        }
    }
    return model.next_sequence[client - 1] + 1;
}

static void send(size_t index)
{
    if (model.flight_count == FLIGHT_MAX) {
        return;
    }
    struct request_id id = model.requests[index].id;
    id.first_unfinished = first_unfinished(id.client);
    model.flight[model.flight_count++] = (struct message){id, index};
}

static void begin_request(void)
{
    uint64_t client = 1 + prng_below(&model.prng, CLIENTS);
    if (model.request_count == REQUESTS_MAX) {
        return;
    }
    size_t index = model.request_count++;
    model.requests[index] = (struct request){
        .id = {.client = client,
               .sequence = ++model.next_sequence[client - 1],
               .first_attempt_us = (int64_t)model.now_us},
    };
    send(index);
}

/* A client tries again, or gives a request up. */
static void retry(void)
{
    if (model.request_count == 0) {
        return;
    }
    size_t back = prng_below(&model.prng, model.request_count < 40 ? model.request_count : 40);
    size_t index = model.request_count - 1 - back;
    if (!model.requests[index].answered) {
        send(index);
        model.requests[index].answered = prng_chance(&model.prng, 20);
    }
}

static bool has_result(const struct request_id *id)
{
    return id->sequence % 5 == 0;
}

static void apply(const struct message *message, const struct request_id *id)
{
    struct request *request = &model.requests[message->request];
    request->applied_count++;
    cr_assert_eq(request->applied_count, 1, "seed %lu: client %lu request %lu applied twice",
                 model.seed, id->client, id->sequence);
    cr_assert_lt(model.log_count, LOG_MAX);
    request->log_sequence = model.log_sequence;
    uint64_t result = id->client * 100000 + id->sequence;
    model.log[model.log_count++] = (struct log_item){*id, model.log_sequence, clock_now(), result};
    cr_assert_eq(dedupe_record(model.dedupe, id, model.log_sequence, clock_now(),
                               has_result(id) ? bytes_of(&result, sizeof result) : BYTES_EMPTY),
                 STATUS_OK);
}

static void receive_one(size_t at)
{
    struct message message = model.flight[at];
    bool is_lost = prng_chance(&model.prng, 10);
    if (!prng_chance(&model.prng, 4)) { /* else it comes again */
        model.flight_count--;
        memmove(&model.flight[at], &model.flight[at + 1],
                (model.flight_count - at) * sizeof model.flight[0]);
    }
    if (is_lost) {
        return;
    }
    struct request *request = &model.requests[message.request];
    struct bytes result = BYTES_EMPTY;
    uint64_t sequence = 0;
    enum dedupe_verdict verdict = dedupe_check(model.dedupe, &message.id, clock_now(), &result,
                                               &sequence);
    model.verdicts[verdict]++;
    if (verdict == DEDUPE_NEW) {
        apply(&message, &message.id);
    } else if (verdict == DEDUPE_PENDING) {
        cr_assert_eq(sequence, request->log_sequence);
        cr_assert_gt(sequence, model.committed);
    } else if (verdict == DEDUPE_DONE) {
        cr_assert_eq(request->applied_count, 1);
        cr_assert_leq(request->log_sequence, model.committed, "answered before it is committed");
        uint64_t expected = message.id.client * 100000 + message.id.sequence;
        cr_assert(has_result(&message.id)
                      ? bytes_equal(result, bytes_of(&expected, sizeof expected))
                      : result.size_bytes == 0);
        request->answered = request->answered || !prng_chance(&model.prng, 3);
    } else if (verdict == DEDUPE_EXPIRED) {
        bool is_old = (int64_t)model.now_us - message.id.first_attempt_us > LIMIT_DEDUPE_WINDOW_US;
        cr_assert(is_old || message.id.sequence < first_unfinished(message.id.client),
                  "seed %lu: refused for no reason", model.seed);
        request->answered = request->answered || is_old;
    }
}

/* One message, or all that there are: one record of the log. */
static void receive(void)
{
    model.log_sequence++;
    if (prng_chance(&model.prng, 10)) {
        for (size_t left = model.flight_count; left > 0; left--) {
            receive_one(model.flight_count < left ? 0 : model.flight_count - left);
        }
    } else if (model.flight_count > 0) {
        receive_one(prng_below(&model.prng, model.flight_count));
    }
}

static void commit(void)
{
    model.committed += prng_below(&model.prng, model.log_sequence - model.committed + 1);
    dedupe_commit(model.dedupe, model.committed);
    for (size_t i = 0; i < model.request_count; i++) {
        struct request *request = &model.requests[i];
        if (request->applied_count == 1 && request->log_sequence <= model.committed) {
            request->answered = request->answered || prng_chance(&model.prng, 4);
        }
    }
}

static void write_image(void)
{
    buffer_reset(&model.image);
    dedupe_encode(model.dedupe, &model.image);
    cr_assert(!model.image.failed);
    model.image_sequence = model.committed;
}

/* What was logged but not committed may be lost, from some point on. */
static void restart(void)
{
    uint64_t kept = model.committed +
                    prng_below(&model.prng, model.log_sequence - model.committed + 1);
    for (size_t i = 0; i < model.request_count; i++) {
        struct request *request = &model.requests[i];
        if (request->log_sequence > kept) {
            request->log_sequence = 0;
            request->applied_count = 0;
        }
    }
    while (model.log_count > 0 && model.log[model.log_count - 1].sequence > kept) {
        model.log_count--;
    }
    model.log_sequence = kept;
    model.committed = kept;
    dedupe_destroy(model.dedupe);
    make_dedupe();
    if (model.image.size_bytes > 0) {
        cr_assert_eq(dedupe_load(model.dedupe, buffer_bytes(&model.image), NULL), STATUS_OK);
    }
    for (size_t i = 0; i < model.log_count; i++) {
        const struct log_item *item = &model.log[i];
        if (item->sequence > model.image_sequence) {
            cr_assert_eq(dedupe_record(model.dedupe, &item->id, item->sequence, item->clock,
                                       has_result(&item->id)
                                           ? bytes_of(&item->result, sizeof item->result)
                                           : BYTES_EMPTY),
                         STATUS_OK);
        }
    }
    dedupe_commit(model.dedupe, kept);
}

/* Two tablets with the same records become one: nothing is known better or worse than before. */
static void merge_with_itself(void)
{
    struct buffer image = BUFFER_INIT;
    dedupe_encode(model.dedupe, &image);
    uint32_t records = dedupe_record_count(model.dedupe);
    uint32_t clients = dedupe_client_count(model.dedupe);
    cr_assert_eq(dedupe_load(model.dedupe, buffer_bytes(&image), NULL), STATUS_OK);
    cr_assert_eq(dedupe_record_count(model.dedupe), records);
    cr_assert_eq(dedupe_client_count(model.dedupe), clients);
    buffer_deinit(&image);
}

static void step(void)
{
    uint64_t dice = prng_below(&model.prng, 1000);
    if (dice < 250) {
        begin_request();
    } else if (dice < 650) {
        receive();
    } else if (dice < 800) {
        retry();
    } else if (dice < 950) {
        commit();
    } else if (dice < 970) {
        write_image();
    } else if (dice < 975) {
        restart();
    } else if (dice < 980) {
        merge_with_itself();
    } else if (dice < 985) {
        model.now_us += prng_below(&model.prng, (uint64_t)LIMIT_DEDUPE_WINDOW_US);
    }
    model.now_us += prng_chance(&model.prng, 2) ? 0 : prng_below(&model.prng, 1000000);
    cr_assert_leq(dedupe_client_count(model.dedupe), CLIENTS);
}

Test(dedupe_model, applies_at_most_once)
{
    uint64_t verdicts[8] = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        model = (struct model){.prng = prng_of_seed(seed), .seed = seed, .now_us = 1000000000000};
        make_dedupe();
        for (int i = 0; i < STEPS; i++) {
            step();
        }
        dedupe_destroy(model.dedupe);
        buffer_deinit(&model.image);
        for (size_t i = 0; i < 8; i++) {
            verdicts[i] += model.verdicts[i];
        }
    }
    for (size_t i = DEDUPE_NEW; i <= DEDUPE_FULL; i++) {
        cr_assert_gt(verdicts[i], 100, "verdict %zu hardly came up: %lu", i, verdicts[i]);
    }
}
