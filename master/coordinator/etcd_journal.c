#include "master/coordinator/etcd_journal.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/memory.h"
#include "master/coordinator/etcd_scan.h"

#define ARENA_BLOCK_BYTES 4096

static const struct etcd_patience step_patience = {.attempt_ms = 2000, .total_ms = 30000};

struct etcd_journal {
    struct etcd_client *client;
    const struct etcd_keys *keys;
    uint64_t reign;
    struct etcd_mark mark; /* as it stands in etcd */
    bool in_doubt;         /* of the commit under way: a copy of a step may yet be carried out */
    struct etcd_operation operations[ETCD_STEP_PUTS_MAX + 1]; /* the last is for the mark */
    struct etcd_key full_keys[ETCD_STEP_PUTS_MAX];
    size_t count;
    size_t size_bytes;
};

/* --- the step ----------------------------------------------------------------------------------- */

/* Text; empty while there is no mark. */
static struct bytes mark_text(const struct etcd_mark *mark, char text[ETCD_MARK_TEXT_SIZE])
{
    if (mark->reign == 0) {
        return BYTES_EMPTY;
    }
    etcd_mark_encode(mark, text);
    return bytes_of_text(text);
}

static void encode_step(struct etcd_journal *journal,
                        const struct etcd_mark *next,
                        struct buffer *question)
{
    char before[ETCD_MARK_TEXT_SIZE];
    char after[ETCD_MARK_TEXT_SIZE];
    struct bytes leader = bytes_of_text(journal->keys->leader);
    struct bytes mark = bytes_of_text(journal->keys->mark);
    const struct etcd_comparison comparisons[] = {
        {.type = ETCD_CREATED_IS, .key = leader, .created = (int64_t)journal->reign},
        {
            .type = journal->mark.reign == 0 ? ETCD_CREATED_IS : ETCD_VALUE_IS,
            .key = mark,
            .value = mark_text(&journal->mark, before),
        },
    };
    const struct etcd_operation reads[] = {
        {.type = ETCD_READ, .span.key = leader},
        {.type = ETCD_READ, .span.key = mark},
    };
    size_t count = journal->count;

    if (next->reign != 0) {
        journal->operations[count++] = (struct etcd_operation){
            .type = ETCD_PUT,
            .span.key = mark,
            .value = mark_text(next, after),
        };
    }
    etcd_transaction_encode(
        &(struct etcd_transaction){
            .comparisons = comparisons,
            .comparison_count = 2,
            .then = journal->operations,
            .then_count = count,
            .otherwise = reads,
            .otherwise_count = 2,
        },
        question);
}

/* Does the step move the mark?  Those that only stage pieces do not. */
static bool moves(const struct etcd_journal *journal, const struct etcd_mark *next)
{
    return memcmp(next, &journal->mark, sizeof *next) != 0;
}

/* The step was refused: it is done already, or our reign is over. */
static enum status settle(struct etcd_journal *journal,
                          const struct etcd_mark *next,
                          const struct etcd_outcome *outcome,
                          struct error *ret_error)
{
    char text[ETCD_MARK_TEXT_SIZE];
    if (outcome->range_count != 2) {
        return error_set(ret_error, STATUS_MALFORMED, "etcd's answer: not what was asked for");
    }
    const struct etcd_range *leader = &outcome->ranges[0];
    const struct etcd_range *mark = &outcome->ranges[1];
    bool ours = leader->count == 1 && leader->items[0].created == (int64_t)journal->reign;

    if (moves(journal, next) && mark->count == 1 &&
        bytes_equal(mark->items[0].value, mark_text(next, text))) {
        return STATUS_OK;
    }
    if (!ours) {
        struct bytes who = leader->count == 1 ? leader->items[0].value : bytes_of_text("nobody");
        return error_set(ret_error, STATUS_ABORTED, "this master does not lead any more: %.*s does",
                         (int)who.size_bytes, (const char *)who.data);
    }
    return error_set(ret_error, STATUS_CORRUPT,
                     "%s in etcd was changed by another hand while this master led",
                     journal->keys->mark);
}

/* One transaction of etcd: all that has been gathered, and the mark moved on to *next. */
static enum status step(struct etcd_journal *journal,
                        const struct etcd_mark *next,
                        struct error *ret_error)
{
    struct buffer question = BUFFER_INIT;
    struct buffer answer = BUFFER_INIT;
    struct etcd_outcome outcome = {0};
    struct arena arena;
    bool in_doubt = false;

    arena_init(&arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    encode_step(journal, next, &question);
    enum status status = etcd_client_ask(journal->client, "/v3/kv/txn", &question, &step_patience,
                                         &answer, &in_doubt, ret_error);
    if (status == STATUS_OK) {
        status = etcd_outcome_decode(buffer_bytes(&answer), &arena, &outcome, ret_error);
        in_doubt |= status != STATUS_OK;
    }
    if (status == STATUS_OK && !outcome.succeeded) {
        status = settle(journal, next, &outcome, ret_error);
    }
    if (status == STATUS_OK) {
        in_doubt &= !moves(journal, next); /* where it moved, any other copy is too late: (1) */
        journal->mark = *next;
    }
    journal->in_doubt |= in_doubt;
    journal->count = 0;
    journal->size_bytes = 0;
    arena_deinit(&arena);
    buffer_deinit(&question);
    buffer_deinit(&answer);
    return status;
}

/* --- gathering ---------------------------------------------------------------------------------- */

static bool has_key(const struct etcd_journal *journal, const struct etcd_key *key)
{
    for (size_t i = 0; i < journal->count; i++) {
        if (bytes_equal(etcd_key_bytes(&journal->full_keys[i]), etcd_key_bytes(key))) {
            return true;
        }
    }
    return false;
}

/* False: the step is full, or has that key already, which etcd does not take twice. */
static bool gather(struct etcd_journal *journal, const struct catalog_put *put)
{
    struct etcd_key key = etcd_key_of_record(journal->keys, put->key);
    size_t size_bytes = key.size_bytes + (put->removed ? 0 : put->value.size_bytes);
    size_t at = journal->count;

    if (at == ETCD_STEP_PUTS_MAX || has_key(journal, &key) ||
        (at > 0 && journal->size_bytes + size_bytes > ETCD_STEP_BYTES_MAX)) {
        return false;
    }
    journal->full_keys[at] = key;
    journal->operations[at] = (struct etcd_operation){
        .type = put->removed ? ETCD_DELETE : ETCD_PUT,
        .span.key = etcd_key_bytes(&journal->full_keys[at]),
        .value = put->value,
    };
    journal->count++;
    journal->size_bytes += size_bytes;
    return true;
}

/* --- a commit that one step cannot hold ---------------------------------------------------------- */

static enum status stage(struct etcd_journal *journal, struct bytes parcel, struct error *ret_error)
{
    const struct etcd_mark same = journal->mark;
    enum status status = STATUS_OK;
    uint32_t piece = 0;

    for (size_t at = 0; at < parcel.size_bytes && status == STATUS_OK; piece++) {
        size_t left = parcel.size_bytes - at;
        size_t size = left < ETCD_STEP_BYTES_MAX ? left : ETCD_STEP_BYTES_MAX;
        journal->full_keys[0] = etcd_key_of_stage(journal->keys, piece);
        journal->operations[0] = (struct etcd_operation){
            .type = ETCD_PUT,
            .span.key = etcd_key_bytes(&journal->full_keys[0]),
            .value = bytes_of(parcel.data + at, size),
        };
        journal->count = 1;
        at += size;
        status = step(journal, &same, ret_error);
    }
    return status;
}

static enum status corrupt_parcel(struct error *ret_error)
{
    return error_set(ret_error, STATUS_CORRUPT, "a commit that is staged in etcd is damaged");
}

/* Where the put of that number begins. */
static enum status skip(struct bytes parcel, uint64_t puts, size_t *ret_at, struct error *ret_error)
{
    struct catalog_put put;
    enum status status = STATUS_OK;

    *ret_at = 0;
    for (uint64_t i = 0; i < puts; i++) {
        if (!etcd_parcel_next(parcel, ret_at, &put, &status)) {
            return corrupt_parcel(ret_error);
        }
    }
    return STATUS_OK;
}

/* One batch of puts from *at on. */
static enum status roll_once(struct etcd_journal *journal,
                             struct bytes parcel,
                             size_t *at,
                             struct error *ret_error)
{
    struct etcd_mark next = journal->mark;
    struct catalog_put put;
    enum status status = STATUS_OK;
    size_t ahead = *at;

    while (etcd_parcel_next(parcel, &ahead, &put, &status) && gather(journal, &put)) {
        *at = ahead;
        next.done++;
    }
    return status == STATUS_OK ? step(journal, &next, ret_error) : corrupt_parcel(ret_error);
}

static enum status roll(struct etcd_journal *journal, struct bytes parcel, struct error *ret_error)
{
    size_t at = 0;
    enum status status = skip(parcel, journal->mark.done, &at, ret_error);

    while (at < parcel.size_bytes && status == STATUS_OK) {
        status = roll_once(journal, parcel, &at, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    const struct etcd_mark clean = {.reign = journal->mark.reign, .number = journal->mark.number};
    journal->operations[0] = (struct etcd_operation){
        .type = ETCD_DELETE,
        .span = {bytes_of_text(journal->keys->stage), bytes_of_text(journal->keys->stage_end)},
    };
    journal->count = 1;
    return step(journal, &clean, ret_error);
}

static struct etcd_mark next_mark(const struct etcd_journal *journal)
{
    return (struct etcd_mark){
        .reign = journal->reign,
        .number = journal->mark.reign == journal->reign ? journal->mark.number + 1 : 1,
    };
}

static enum status commit_large(struct etcd_journal *journal,
                                const struct catalog_put *puts,
                                size_t put_count,
                                struct error *ret_error)
{
    struct buffer parcel = BUFFER_INIT;
    struct etcd_mark next = next_mark(journal);

    for (size_t i = 0; i < put_count; i++) {
        etcd_parcel_put(&puts[i], &parcel);
    }
    if (parcel.failed) {
        buffer_deinit(&parcel);
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for a large commit");
    }
    next.parcel_bytes = parcel.size_bytes;
    next.parcel_checksum = checksum64(parcel.data, parcel.size_bytes, journal->reign);
    enum status status = stage(journal, buffer_bytes(&parcel), ret_error);
    if (status == STATUS_OK) {
        status = step(journal, &next, ret_error);
    }
    if (status == STATUS_OK) {
        status = roll(journal, buffer_bytes(&parcel), ret_error);
        journal->in_doubt |= status != STATUS_OK; /* committed, but not by us to the end */
    }
    buffer_deinit(&parcel);
    return status;
}

/* --- commit ------------------------------------------------------------------------------------- */

static enum status check_sizes(const struct catalog_put *puts,
                               size_t put_count,
                               struct error *ret_error)
{
    for (size_t i = 0; i < put_count; i++) {
        if (puts[i].value.size_bytes > ETCD_RECORD_BYTES_MAX) {
            return error_set(ret_error, STATUS_LIMIT,
                             "a record of the catalog would have %zu bytes; etcd takes up to %u",
                             puts[i].value.size_bytes, ETCD_RECORD_BYTES_MAX);
        }
    }
    return STATUS_OK;
}

/* What the caller has to know: it is not there, this reign is over, or it is unknown. */
static enum status conclude(const struct etcd_journal *journal,
                            enum status status,
                            struct error *ret_error)
{
    bool clean = status == STATUS_NO_SPACE || status == STATUS_NO_MEMORY || status == STATUS_LIMIT;
    if (status == STATUS_OK || status == STATUS_ABORTED || status == STATUS_CORRUPT ||
        (clean && !journal->in_doubt)) {
        return status;
    }
    if (ret_error != NULL) {
        ret_error->status = STATUS_IO;
    }
    return STATUS_IO;
}

enum status etcd_journal_commit(struct etcd_journal *journal,
                                const struct catalog_put *puts,
                                size_t put_count,
                                struct error *ret_error)
{
    const struct etcd_mark next = next_mark(journal);
    size_t gathered = 0;
    enum status status = check_sizes(puts, put_count, ret_error);

    journal->in_doubt = false;
    if (status != STATUS_OK) {
        return status;
    }
    while (gathered < put_count && gather(journal, &puts[gathered])) {
        gathered++;
    }
    if (gathered == put_count) {
        status = step(journal, &next, ret_error);
    } else {
        journal->count = 0;
        journal->size_bytes = 0;
        status = commit_large(journal, puts, put_count, ret_error);
    }
    return conclude(journal, status, ret_error);
}

/* --- opening ------------------------------------------------------------------------------------ */

static enum status read_mark(struct etcd_journal *journal, struct error *ret_error)
{
    const struct etcd_span span = {.key = bytes_of_text(journal->keys->mark)};
    struct buffer text = BUFFER_INIT;
    bool found = false;
    enum status status = etcd_read_first(journal->client, &span, &found, &text, ret_error);

    if (status == STATUS_OK && found) {
        status = etcd_mark_decode(buffer_bytes(&text), &journal->mark, ret_error);
    }
    buffer_deinit(&text);
    return status;
}

static enum status add_piece(void *context,
                             const struct etcd_key_value *item,
                             struct error *ret_error)
{
    struct buffer *parcel = context;
    buffer_append_bytes(parcel, item->value);
    return parcel->failed ? error_set(ret_error, STATUS_NO_MEMORY, "no memory for a staged commit")
                          : STATUS_OK;
}

/* An earlier reign has committed it, and not come to its end. */
static enum status roll_on(struct etcd_journal *journal, struct error *ret_error)
{
    const struct etcd_mark *mark = &journal->mark;
    const struct etcd_span span = {bytes_of_text(journal->keys->stage),
                                   bytes_of_text(journal->keys->stage_end)};
    struct buffer parcel = BUFFER_INIT;
    enum status status = etcd_scan(journal->client, &span, add_piece, &parcel, ret_error);

    if (status == STATUS_OK && (parcel.size_bytes < mark->parcel_bytes ||
                                checksum64(parcel.data, (size_t)mark->parcel_bytes, mark->reign) !=
                                    mark->parcel_checksum)) {
        status = corrupt_parcel(ret_error);
    }
    if (status == STATUS_OK) {
        status = roll(journal, bytes_of(parcel.data, (size_t)mark->parcel_bytes), ret_error);
    }
    buffer_deinit(&parcel);
    return status;
}

enum status etcd_journal_open(struct etcd_client *client,
                              const struct etcd_keys *keys,
                              uint64_t reign,
                              struct etcd_journal **ret_journal,
                              struct error *ret_error)
{
    ASSERT(reign != 0);
    struct etcd_journal *journal = memory_allocate_zeroed(1, sizeof *journal);
    if (journal == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to open the catalog in etcd");
    }
    journal->client = client;
    journal->keys = keys;
    journal->reign = reign;
    enum status status = read_mark(journal, ret_error);
    if (status == STATUS_OK && etcd_mark_is_staged(&journal->mark)) {
        status = roll_on(journal, ret_error);
    }
    if (status != STATUS_OK) {
        etcd_journal_close(journal);
        return status;
    }
    *ret_journal = journal;
    return STATUS_OK;
}

void etcd_journal_close(struct etcd_journal *journal)
{
    memory_free(journal);
}
