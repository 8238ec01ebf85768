#include "tabletserver/storage/record/dedupe.h"

#include "common/base/assert.h"
#include "common/base/limits.h"
#include "common/base/memory.h"
#include "common/base/stamp.h"
#include "tabletserver/storage/record/dedupe_table.h"

/* What one recorded request may cost in forgetting old ones: more than it adds, so that the old
 * ones go faster than new ones come. */
#define EXPIRE_COUNT_A_RECORD 4

/* A push-back is worth a larger sweep first. */
#define EXPIRE_COUNT_WHEN_FULL 64

enum status dedupe_create(const struct dedupe_limits *limits, struct dedupe **ret_dedupe)
{
    struct dedupe *dedupe = memory_allocate_zeroed(1, sizeof *dedupe);
    if (dedupe == NULL) {
        return STATUS_NO_MEMORY;
    }
    dedupe->limits = *limits;
    enum status status = dedupe_table_init(dedupe);
    if (status != STATUS_OK) {
        dedupe_destroy(dedupe);
        return status;
    }
    *ret_dedupe = dedupe;
    return STATUS_OK;
}

void dedupe_destroy(struct dedupe *dedupe)
{
    if (dedupe != NULL) {
        dedupe_table_deinit(dedupe);
        memory_free(dedupe);
    }
}

/*
 * Until when a retry could still be let in.  Every attempt of a request carries the time of the
 * first, t; it is let in while now <= t + window, and never when t > now + window.  So a request
 * seen at `now` may come again until min(t, now + window) + window, and its client and record stay
 * until then: what is refused by age alone is exactly what may have been forgotten.
 */
static int64_t keep_until(int64_t first_attempt_us, int64_t now_us)
{
    int64_t latest = now_us + LIMIT_DEDUPE_WINDOW_US;
    int64_t start = first_attempt_us > now_us ? first_attempt_us : now_us;
    return (start < latest ? start : latest) + LIMIT_DEDUPE_WINDOW_US;
}

static bool is_outside_window(int64_t first_attempt_us, int64_t now_us)
{
    return first_attempt_us < now_us - LIMIT_DEDUPE_WINDOW_US ||
           first_attempt_us > now_us + LIMIT_DEDUPE_WINDOW_US;
}

static bool may_admit(const struct dedupe *dedupe, bool is_new_client)
{
    return dedupe->request_count < dedupe->limits.records_max &&
           (!is_new_client || dedupe->client_count < dedupe->limits.clients_max);
}

static enum dedupe_verdict admit(struct dedupe *dedupe,
                                 uint64_t id,
                                 const struct dedupe_client *client,
                                 int64_t now_us)
{
    if (may_admit(dedupe, client == NULL)) {
        return DEDUPE_NEW;
    }
    dedupe_table_expire(dedupe, now_us, EXPIRE_COUNT_WHEN_FULL);
    return may_admit(dedupe, dedupe_table_client(dedupe, id) == NULL) ? DEDUPE_NEW : DEDUPE_FULL;
}

static bool may_keep(const struct dedupe *dedupe, size_t result_bytes)
{
    return dedupe->result_bytes <= dedupe->limits.result_bytes_max &&
           result_bytes <= dedupe->limits.result_bytes_max - dedupe->result_bytes;
}

bool dedupe_has_room(struct dedupe *dedupe, size_t result_bytes, uint64_t now_clock)
{
    if (!may_keep(dedupe, result_bytes)) {
        dedupe_table_expire(dedupe, hlc_to_us(now_clock), EXPIRE_COUNT_WHEN_FULL);
    }
    return may_keep(dedupe, result_bytes);
}

enum dedupe_verdict dedupe_check(struct dedupe *dedupe,
                                 const struct request_id *request,
                                 uint64_t now_clock,
                                 struct bytes *ret_result,
                                 uint64_t *ret_sequence)
{
    if (request->client == 0) {
        return DEDUPE_NEW;
    }
    int64_t now_us = hlc_to_us(now_clock);
    if (is_outside_window(request->first_attempt_us, now_us) ||
        request->sequence < request->first_unfinished) {
        return DEDUPE_EXPIRED;
    }
    struct dedupe_client *client = dedupe_table_client(dedupe, request->client);
    if (client != NULL) {
        dedupe_table_trim(dedupe, client, request->first_unfinished);
        if (request->sequence < client->first_unfinished) {
            return DEDUPE_EXPIRED;
        }
    }
    const struct dedupe_record *record = NULL;
    if (client != NULL) {
        record = dedupe_table_record(dedupe, client, request->sequence);
    }
    if (record == NULL) {
        return admit(dedupe, request->client, client, now_us);
    }
    if (record->log_sequence > dedupe->committed_sequence) {
        *ret_sequence = record->log_sequence;
        return DEDUPE_PENDING;
    }
    *ret_result = bytes_of(record->result, record->result_size);
    return DEDUPE_DONE;
}

enum status dedupe_record(struct dedupe *dedupe,
                          const struct request_id *request,
                          uint64_t sequence,
                          uint64_t clock,
                          struct bytes result)
{
    if (request->client == 0) {
        return STATUS_OK;
    }
    int64_t now_us = hlc_to_us(clock);
    dedupe_table_expire(dedupe, now_us, EXPIRE_COUNT_A_RECORD);
    struct dedupe_client *client = dedupe_table_client(dedupe, request->client);
    if (client == NULL) {
        client = dedupe_table_add_client(dedupe, request->client);
        if (client == NULL) {
            return STATUS_NO_MEMORY;
        }
    }
    int64_t until_us = keep_until(request->first_attempt_us, now_us);
    dedupe_table_touch_client(dedupe, client, until_us);
    dedupe_table_trim(dedupe, client, request->first_unfinished);
    if (request->sequence < client->first_unfinished ||
        dedupe_table_record(dedupe, client, request->sequence) != NULL) {
        return STATUS_OK;
    }
    const struct dedupe_record *record = dedupe_table_add_request(dedupe, client, request->sequence,
                                                                  result, sequence, until_us);
    return record != NULL ? STATUS_OK : STATUS_NO_MEMORY;
}

enum status dedupe_reserve(struct dedupe *dedupe, uint32_t records, size_t result_bytes)
{
    if (records > dedupe->limits.records_max - dedupe->request_count ||
        dedupe->request_count > dedupe->limits.records_max) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    /* Each result may be rounded up; result_bytes covers them all together. */
    size_t size_bytes = records * (dedupe_table_record_size_bytes(0) + 8) + result_bytes;
    return dedupe_table_reserve(dedupe, size_bytes);
}

void dedupe_commit(struct dedupe *dedupe, uint64_t sequence)
{
    if (sequence > dedupe->committed_sequence) {
        dedupe->committed_sequence = sequence;
    }
}

void dedupe_drop_above(struct dedupe *dedupe, uint64_t sequence)
{
    ASSERT(sequence >= dedupe->committed_sequence);
    dedupe_table_drop_above(dedupe, sequence);
}

uint32_t dedupe_record_count(const struct dedupe *dedupe)
{
    return dedupe->request_count;
}

uint32_t dedupe_client_count(const struct dedupe *dedupe)
{
    return dedupe->client_count;
}
