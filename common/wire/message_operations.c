/* Many small requests in one message, and their results. */
#include "common/wire/message_parts.h"
#include "common/wire/writer.h"

#define OPERATION_WIRE_BYTES_MIN 3 /* array, kind, table */
#define RESULT_WIRE_BYTES_MIN    3 /* array, index, status */

/* MessagePack's first bytes of numbers: 8, 16, 32 and 64 bits follow, and 64 with a sign. */
#define NUMBER_8_BITS         0xcc
#define NUMBER_64_BITS        0xcf
#define NUMBER_64_BITS_SIGNED 0xd3

/* How many fields an operation has: kind, table, row; identity; what the kind needs. */
static size_t operation_fields(enum operation_kind kind)
{
    switch (kind) {
    case OPERATION_READ:
        return 4;
    case OPERATION_CHECK_AND_MUTATE:
        return 8;
    case OPERATION_MUTATE:
    case OPERATION_READ_MODIFY_WRITE:
    case OPERATION_DROP_RANGE:
        break;
    }
    return 6;
}

static void write_operation_fields(struct buffer *out, const struct operation *operation)
{
    switch (operation->kind) {
    case OPERATION_MUTATE:
        wire_write_mutations(out, operation->mutations, operation->mutation_count);
        return;
    case OPERATION_READ:
        wire_write_filter(out, operation->filter);
        return;
    case OPERATION_CHECK_AND_MUTATE:
        wire_write_mutations(out, operation->mutations, operation->mutation_count);
        wire_write_mutations(out, operation->otherwise, operation->otherwise_count);
        wire_write_filter(out, operation->filter);
        return;
    case OPERATION_READ_MODIFY_WRITE:
        wire_write_rmw_rules(out, operation->rules, operation->rule_count);
        return;
    case OPERATION_DROP_RANGE:
        wire_write_range(out, &operation->range);
        return;
    }
}

size_t operation_encode(const struct operation *operation, struct buffer *out)
{
    size_t begin = out->size_bytes;
    wire_write_array(out, operation_fields(operation->kind));
    wire_write_u64(out, operation->kind);
    wire_write_u64(out, operation->table);
    wire_write_bytes(out, operation->row);
    size_t key_begin = out->size_bytes - operation->row.size_bytes;
    if (operation->kind != OPERATION_READ) {
        wire_write_u64(out, operation->identity.sequence);
        wire_write_i64(out, operation->identity.first_attempt_us);
    }
    write_operation_fields(out, operation);
    return key_begin - begin; /* without memory it means nothing */
}

/* How many bytes a packed number takes that is not negative, by its first byte. */
static size_t number_bytes(uint8_t first)
{
    return first >= NUMBER_8_BITS && first <= NUMBER_64_BITS
               ? 1 + ((size_t)1 << (first - NUMBER_8_BITS))
               : 1;
}

void operation_set_first_attempt(uint8_t *encoded, size_t key_end, int64_t first_attempt_us)
{
    uint8_t *at = encoded + key_end + number_bytes(encoded[key_end]);
    bool is_whole = *at == NUMBER_64_BITS || *at == NUMBER_64_BITS_SIGNED;
    if (is_whole && first_attempt_us > UINT32_MAX) {
        for (unsigned i = 0; i < 8; i++) {
            at[1 + i] = (uint8_t)((uint64_t)first_attempt_us >> (56 - 8 * i));
        }
    }
}

void operations_request_begin(uint64_t client,
                              uint64_t first_unfinished,
                              size_t count,
                              struct buffer *out)
{
    wire_write_array(out, 3);
    wire_write_u64(out, client);
    wire_write_u64(out, first_unfinished);
    wire_write_array(out, count);
}

void operations_request_encode(const struct operations_request *request, struct buffer *out)
{
    operations_request_begin(request->client, request->first_unfinished, request->operation_count,
                             out);
    for (size_t i = 0; i < request->operation_count; i++) {
        (void)operation_encode(&request->operations[i], out);
    }
}

/* Read the fields that an operation of this kind has; the kind itself was read. */
static void read_operation_fields(struct wire_reader *reader,
                                  struct wire_array *parts,
                                  struct operation *operation)
{
    switch (operation->kind) {
    case OPERATION_MUTATE:
        operation->mutations = wire_read_mutations(reader, parts, "mutations",
                                                   &operation->mutation_count);
        return;
    case OPERATION_READ:
        operation->filter = wire_read_filter(reader, parts, &operation->filter_bytes);
        return;
    case OPERATION_CHECK_AND_MUTATE:
        operation->mutations = wire_read_mutations(reader, parts, "mutations",
                                                   &operation->mutation_count);
        operation->otherwise = wire_read_mutations(reader, parts, "otherwise",
                                                   &operation->otherwise_count);
        operation->filter = wire_read_filter(reader, parts, &operation->filter_bytes);
        return;
    case OPERATION_READ_MODIFY_WRITE:
        operation->rules = wire_read_rmw_rules(reader, parts, &operation->rule_count);
        return;
    case OPERATION_DROP_RANGE:
        operation->range = wire_read_range(reader, parts, "range");
        return;
    }
}

static void read_operation(struct wire_reader *reader,
                           struct wire_array *fields,
                           struct operation *operation)
{
    struct wire_array parts = wire_read_array(reader, fields, "operation");
    operation->kind = (enum operation_kind)wire_read_choice(reader, &parts, "operation.kind",
                                                            OPERATION_MUTATE, OPERATION_DROP_RANGE);
    operation->table = wire_read_u64(reader, &parts, "operation.table");
    operation->row = wire_read_bytes(reader, &parts, "operation.row");
    if (operation->kind != OPERATION_READ) {
        operation->identity.sequence = wire_read_u64(reader, &parts, "operation.sequence");
        operation->identity.first_attempt_us = wire_read_i64(reader, &parts,
                                                             "operation.first_attempt_us");
    }
    read_operation_fields(reader, &parts, operation);
    wire_array_end(reader, &parts);
}

enum status operations_request_decode(struct bytes in,
                                      struct arena *arena,
                                      struct operations_request *ret_request,
                                      struct error *ret_error)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct operation),
        .wire_bytes_min = OPERATION_WIRE_BYTES_MIN,
        .count_max = LIMIT_OPERATIONS_PER_MESSAGE,
    };
    struct wire_reader reader = wire_reader_open(in, arena, "operations_request", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct operations_request request = {0};
    request.client = wire_read_u64(&reader, &fields, "client");
    request.first_unfinished = wire_read_u64(&reader, &fields, "first_unfinished");
    struct operation *operations = wire_read_list(&reader, &fields, "operations", shape, &list);
    request.operations = operations;
    request.operation_count = list.left;
    for (size_t i = 0; i < request.operation_count && reader.status == STATUS_OK; i++) {
        read_operation(&reader, &list, &operations[i]);
    }
    wire_array_end(&reader, &list);
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_request = request;
    }
    return status;
}

static void write_result(struct buffer *out, const struct operation_result *result)
{
    /* Nearly all results are short: leave out what is zero at the end. */
    size_t fields = 2;
    fields = result->text.size_bytes > 0 ? 3 : fields;
    fields = result->matched ? 4 : fields;
    fields = result->rows.size_bytes > 0 ? 5 : fields;
    fields = result->has_location ? 6 : fields;
    wire_write_array(out, fields);
    wire_write_u64(out, result->index);
    wire_write_u64(out, result->status);
    if (fields > 2) {
        wire_write_bytes(out, result->text);
    }
    if (fields > 3) {
        wire_write_bool(out, result->matched);
    }
    if (fields > 4) {
        wire_write_bytes(out, result->rows);
    }
    if (fields > 5) {
        wire_write_location(out, &result->location);
    }
}

void operations_response_encode(const struct operations_response *response, struct buffer *out)
{
    wire_write_array(out, 1);
    wire_write_array(out, response->result_count);
    for (size_t i = 0; i < response->result_count; i++) {
        write_result(out, &response->results[i]);
    }
}

static void read_result(struct wire_reader *reader,
                        struct wire_array *fields,
                        struct operation_result *result)
{
    struct wire_array parts = wire_read_array(reader, fields, "result");
    result->index = wire_read_u32(reader, &parts, "result.index");
    result->status = wire_read_u32(reader, &parts, "result.status");
    result->text = wire_read_bytes(reader, &parts, "result.text");
    result->matched = wire_read_bool(reader, &parts, "result.matched");
    result->rows = wire_read_bytes(reader, &parts, "result.rows");
    result->has_location = wire_read_location_if(reader, &parts, &result->location);
    wire_array_end(reader, &parts);
}

enum status operations_response_decode(struct bytes in,
                                       struct arena *arena,
                                       struct operations_response *ret_response,
                                       struct error *ret_error)
{
    static const struct wire_list_shape shape = {
        .element_bytes = sizeof(struct operation_result),
        .wire_bytes_min = RESULT_WIRE_BYTES_MIN,
        .count_max = LIMIT_OPERATIONS_PER_MESSAGE,
    };
    struct wire_reader reader = wire_reader_open(in, arena, "operations_response", ret_error);
    struct wire_array fields = wire_read_message(&reader);
    struct wire_array list = {0};
    struct operation_result *results = wire_read_list(&reader, &fields, "results", shape, &list);
    size_t count = list.left;
    for (size_t i = 0; i < count && reader.status == STATUS_OK; i++) {
        read_result(&reader, &list, &results[i]);
    }
    wire_array_end(&reader, &list);
    enum status status = wire_reader_finish(&reader, &fields);
    if (status == STATUS_OK) {
        *ret_response = (struct operations_response){results, count};
    }
    return status;
}
