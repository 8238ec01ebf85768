/*
 * Requests of the data API and schemas, from bytes to what libedubba is given.  The first byte says which.  What
 * is no request is refused; what is one converts, or is refused with a text.
 */
#include <string.h>

#include "common/base/assert.h"
#include "common/base/limits.h"
#include "gateway/convert/convert.h"
#include "gateway/convert/convert_schema.h"
#include "gateway/core/features.h"
#include "gateway/core/server_text.h"
#include "gateway/rpc/message.h"

#define ARENA_BYTES_MAX (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(enum status status, const struct error *error)
{
    ASSERT(status == STATUS_OK || status == STATUS_NO_MEMORY || error->text[0] != '\0');
}

static void take_filter(const Google__Bigtable__V2__RowFilter *in)
{
    struct edubba_filter *filter = NULL;
    struct error error = {.status = STATUS_OK};
    expect(api_convert_filter(in, &filter, &error), &error);
    edubba_filter_free(filter);
}

static void take_mutations(Google__Bigtable__V2__Mutation *const *in,
                           size_t count,
                           struct arena *arena)
{
    struct edubba_mutation *mutations = NULL;
    struct error error = {.status = STATUS_OK};
    expect(api_convert_mutations(in, count, API_MUTATION_LIST, false, arena, &mutations, &error),
           &error);
}

static void take_read_rows(const ProtobufCMessage *message, struct arena *arena)
{
    const Google__Bigtable__V2__ReadRowsRequest
        *in = (const Google__Bigtable__V2__ReadRowsRequest *)message;
    struct edubba_scan_options options = {0};
    take_filter(in->filter);
    if (api_convert_row_set(in->rows, arena, &options) == STATUS_OK) {
        ASSERT(in->rows == NULL || options.key_count <= in->rows->n_row_keys);
    }
}

static void take_mutate_rows(const ProtobufCMessage *message, struct arena *arena)
{
    const Google__Bigtable__V2__MutateRowsRequest
        *in = (const Google__Bigtable__V2__MutateRowsRequest *)message;
    const struct edubba_identity *identity = NULL;
    struct error error = {.status = STATUS_OK};
    for (size_t i = 0; i < in->n_entries; i++) {
        take_mutations(in->entries[i]->mutations, in->entries[i]->n_mutations, arena);
        expect(api_convert_idempotency(in->entries[i]->idempotency, &in->entries[i]->row_key, arena,
                                       &identity, &error),
               &error);
    }
}

static void take_check_and_mutate(const ProtobufCMessage *message, struct arena *arena)
{
    const Google__Bigtable__V2__CheckAndMutateRowRequest
        *in = (const Google__Bigtable__V2__CheckAndMutateRowRequest *)message;
    take_filter(in->predicate_filter);
    take_mutations(in->true_mutations, in->n_true_mutations, arena);
    take_mutations(in->false_mutations, in->n_false_mutations, arena);
}

static void take_read_modify_write(const ProtobufCMessage *message, struct arena *arena)
{
    const Google__Bigtable__V2__ReadModifyWriteRowRequest
        *in = (const Google__Bigtable__V2__ReadModifyWriteRowRequest *)message;
    struct edubba_rmw_rule *rules = NULL;
    struct error error = {.status = STATUS_OK};
    expect(api_convert_rules(in->rules, in->n_rules, arena, &rules, &error), &error);
}

static void take_create_table(const ProtobufCMessage *message, struct arena *arena)
{
    const Google__Bigtable__Admin__V2__CreateTableRequest
        *in = (const Google__Bigtable__Admin__V2__CreateTableRequest *)message;
    struct edubba_schema schema;
    struct error error = {.status = STATUS_OK};
    enum status status = convert_schema(in->table, "T", arena, &schema, &error);
    if (status != STATUS_UNIMPLEMENTED) {
        expect(status, &error);
    }
}

/* Any text, as if a server had said it. */
static void take_text(const uint8_t *data, size_t size)
{
    char text[600];
    char renamed[SERVER_TEXT_SIZE_MAX];
    uint8_t key[LIMIT_ROW_KEY_BYTES];
    size_t key_size = 0;
    size_t length = size < sizeof text - 1 ? size : sizeof text - 1;
    if (length > 0) {
        memcpy(text, data, length);
    }
    text[length] = '\0';
    server_text_rename(text, "T", "projects/p/instances/i/tables/T", renamed);
    ASSERT(!server_text_large_row(text, key, &key_size) || key_size <= sizeof key);
    (void)server_text_is_of_table(EDUBBA_NOT_FOUND, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        const ProtobufCMessageDescriptor *descriptor;
        void (*take)(const ProtobufCMessage *message, struct arena *arena);
    } requests[] = {
        {&google__bigtable__v2__read_rows_request__descriptor, take_read_rows},
        {&google__bigtable__v2__mutate_rows_request__descriptor, take_mutate_rows},
        {&google__bigtable__v2__check_and_mutate_row_request__descriptor, take_check_and_mutate},
        {&google__bigtable__v2__read_modify_write_row_request__descriptor, take_read_modify_write},
        {&google__bigtable__admin__v2__create_table_request__descriptor, take_create_table},
    };
    const size_t count = sizeof requests / sizeof *requests;
    ProtobufCMessage *message = NULL;
    struct arena arena;
    if (size == 0) {
        return 0;
    }
    size_t which = data[0] % (count + 2);
    struct bytes in = bytes_of(data + 1, size - 1);
    if (which == count) {
        (void)features_parse(in);
        return 0;
    }
    if (which > count) {
        take_text(in.data, in.size_bytes);
        return 0;
    }
    arena_init(&arena, 4096, ARENA_BYTES_MAX);
    if (message_decode(requests[which].descriptor, in, &arena, &message, NULL) == STATUS_OK) {
        requests[which].take(message, &arena);
    }
    arena_deinit(&arena);
    return 0;
}
