/* Sample row keys: asked of each tablet in turn, offsets added up. */
#include "client/loop/block.h"
#include "client/routing/table.h"
#include "common/base/memory.h"
#include "common/io/clock.h"

#define ARENA_BLOCK_BYTES 8192
#define PAUSE_US          20000
#define US_PER_MS         1000
#define ATTEMPT_MS        2000 /* then the tablet is looked for again: it may have moved */

struct sampling {
    struct edubba_table *table;
    int64_t deadline_us;
    struct arena arena; /* of the samples */
    struct edubba_sample *samples;
    size_t count;
    size_t capacity;
    uint64_t offset_bytes; /* of the tablet that is asked */
    uint32_t attempt_ms; /* how long its server is waited for: one that is slow, longer each time */
    struct error uncut;  /* what the last attempt met that had its time; text "" = there was none */
};

static enum status add(struct sampling *sampling, struct bytes row, uint64_t offset_bytes)
{
    if (sampling->count == sampling->capacity) {
        size_t capacity = sampling->capacity == 0 ? 64 : 2 * sampling->capacity;
        struct edubba_sample *samples = memory_resize(sampling->samples,
                                                      capacity * sizeof *samples);
        if (samples == NULL) {
            return STATUS_NO_MEMORY;
        }
        sampling->samples = samples;
        sampling->capacity = capacity;
    }
    struct bytes copy = arena_copy(&sampling->arena, row);
    if (copy.data == NULL) {
        return STATUS_NO_MEMORY;
    }
    sampling->samples[sampling->count++] = (struct edubba_sample){client_public_bytes(copy),
                                                                  offset_bytes};
    return STATUS_OK;
}

/* Samples up to row are those of a tablet that was asked before, and has been joined with this one
 * since: how many. */
static size_t count_known(const struct sample_response *response, struct bytes row)
{
    size_t known = 0;
    while (known < response->sample_count && row.size_bytes > 0 &&
           bytes_compare(response->samples[known].row, row) <= 0) {
        known++;
    }
    return known;
}

/* The tablet's samples and its end; *ret_row: from where on they are wanted, then where the next
 * tablet begins. */
static enum status add_tablet(struct sampling *sampling,
                              const struct sample_response *response,
                              struct bytes *ret_row)
{
    enum status status = STATUS_OK;
    size_t known = count_known(response, *ret_row);
    uint64_t known_bytes = known > 0 ? response->samples[known - 1].offset_bytes : 0;
    for (size_t i = known; i < response->sample_count && status == STATUS_OK; i++) {
        status = add(sampling, response->samples[i].row,
                     sampling->offset_bytes + response->samples[i].offset_bytes - known_bytes);
    }
    sampling->offset_bytes += response->total_bytes - known_bytes;
    if (status == STATUS_OK) {
        status = add(sampling, response->tablet.end, sampling->offset_bytes);
    }
    if (status == STATUS_OK) {
        *ret_row = client_bytes(sampling->samples[sampling->count - 1].row);
    }
    return status;
}

/* Altogether; rounded up, that no attempt of what rounding leaves is made. */
static uint32_t left_ms(const struct sampling *sampling)
{
    int64_t left_us = sampling->deadline_us - clock_monotonic_ns() / 1000;
    return left_us < US_PER_MS ? 1 : (uint32_t)((left_us + US_PER_MS - 1) / US_PER_MS);
}

/* For the server that is asked now: no more than is left altogether. */
static uint32_t patience_ms(const struct sampling *sampling)
{
    uint32_t left = left_ms(sampling);
    return left < sampling->attempt_ms ? left : sampling->attempt_ms;
}

static enum status ask_server(struct sampling *sampling,
                              const struct location *tablet,
                              struct bytes *ret_row,
                              struct error *ret_error)
{
    struct edubba_client *client = sampling->table->client;
    struct sample_request request = {sampling->table->number, *ret_row};
    struct sample_response response;
    struct buffer body = BUFFER_INIT;
    struct buffer answer = BUFFER_INIT;
    struct arena arena;
    char *address = memory_copy_text(tablet->address);

    if (address == NULL) {
        return client_status_no_memory(ret_error);
    }
    struct request_options options = {.method = METHOD_SAMPLE,
                                      .address_text = address,
                                      .repeatable = true,
                                      .deadline_ms = patience_ms(sampling)};
    sample_request_encode(&request, &body);
    arena_init(&arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    enum status status = request_call(client, &options, &body, &answer, ret_error);
    if (status == STATUS_OK) {
        status = sample_response_decode(buffer_bytes(&answer), &arena, &response, ret_error);
    }
    if (status == STATUS_OK && add_tablet(sampling, &response, ret_row) != STATUS_OK) {
        status = client_status_no_memory(ret_error);
    }
    buffer_deinit(&answer);
    arena_deinit(&arena);
    memory_free(address);
    return status;
}

/* The tablet that holds *ret_row; NOT_OWNER when it has just moved. */
static enum status sample_next(struct sampling *sampling,
                               struct bytes *ret_row,
                               struct error *ret_error)
{
    struct locate_request locate = {
        .table = sampling->table->number, .row = *ret_row, .count_max = 1};
    struct locate_response response;
    struct buffer answer = BUFFER_INIT;
    struct arena arena;

    arena_init(&arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    enum status status = table_locate(sampling->table->client, &locate, left_ms(sampling), &arena,
                                      &answer, &response, ret_error);
    if (status == STATUS_OK &&
        (response.location_count == 0 || response.locations[0].address.size_bytes == 0)) {
        status = error_set(ret_error, STATUS_NOT_OWNER, "a tablet of the table is not served now");
    }
    if (status == STATUS_OK) {
        status = ask_server(sampling, &response.locations[0], ret_row, ret_error);
    }
    buffer_deinit(&answer);
    arena_deinit(&arena);
    return status;
}

static bool may_pass(enum status status)
{
    return status == STATUS_NOT_OWNER || status == STATUS_UNAVAILABLE ||
           status == STATUS_DEADLINE_EXCEEDED;
}

/* Of all attempts.  The last one often has only the time that was left, and learns nothing: what one
 * before it met says more.  ret_error: what the last one met. */
static enum status expire(const struct sampling *sampling, bool was_cut, struct error *ret_error)
{
    struct error last = *ret_error;
    bool has_more = was_cut && sampling->uncut.text[0] != '\0';
    return error_set(ret_error, STATUS_DEADLINE_EXCEEDED,
                     "the deadline of %u ms has passed; the last attempt: %s%s%s",
                     client_blocking_deadline_ms(sampling->table->client), last.text,
                     has_more ? "; the one before it: " : "", has_more ? sampling->uncut.text : "");
}

static enum status run(struct sampling *sampling, struct error *ret_error)
{
    struct bytes row = BYTES_EMPTY;
    sampling->attempt_ms = ATTEMPT_MS;
    for (;;) {
        bool is_short = left_ms(sampling) < sampling->attempt_ms;
        enum status status = sample_next(sampling, &row, ret_error);
        bool was_slow = status == STATUS_DEADLINE_EXCEEDED;
        sampling->attempt_ms = was_slow ? 2 * sampling->attempt_ms : ATTEMPT_MS;
        if (may_pass(status)) {
            if (clock_monotonic_ns() / 1000 >= sampling->deadline_us) {
                return expire(sampling, is_short && was_slow, ret_error);
            }
            if (!(is_short && was_slow)) {
                sampling->uncut = *ret_error;
            }
            clock_sleep_us(PAUSE_US);
        } else if (status != STATUS_OK || row.size_bytes == 0) {
            return status;
        }
    }
}

static struct edubba_sample *write_samples(struct block *block, const struct sampling *sampling)
{
    struct edubba_sample *samples = block_take(block, sampling->count * sizeof *samples);
    for (size_t i = 0; i < sampling->count; i++) {
        struct edubba_sample sample = sampling->samples[i];
        sample.row.data = block_text(block, client_bytes(sample.row));
        if (samples != NULL) {
            samples[i] = sample;
        }
    }
    return samples;
}

enum edubba_code edubba_sample_row_keys(struct edubba_table *table,
                                        struct edubba_sample **samples,
                                        size_t *count,
                                        struct edubba_error *error)
{
    struct sampling sampling = {.table = table};
    struct block block = BLOCK_MEASURING;
    struct error trouble = {0};
    enum edubba_code code = EDUBBA_OK;

    if (client_check_may_block(table->client, error) != EDUBBA_OK) {
        return EDUBBA_FAILED_PRECONDITION;
    }
    sampling.deadline_us = clock_monotonic_ns() / 1000 +
                           (int64_t)client_blocking_deadline_ms(table->client) * US_PER_MS;
    arena_init(&sampling.arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    if (run(&sampling, &trouble) != STATUS_OK) {
        code = client_error_of(error, &trouble);
    } else {
        (void)write_samples(&block, &sampling);
        code = block_allocate(&block) ? client_success(error) : client_no_memory(error);
    }
    if (code == EDUBBA_OK) {
        *samples = write_samples(&block, &sampling);
        *count = sampling.count;
    }
    arena_deinit(&sampling.arena);
    memory_free(sampling.samples);
    return code;
}
