#include "master/coordinator/etcd_codec.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "common/base/base64.h"

/* --- asking ------------------------------------------------------------------------------------- */

static void put_text(struct buffer *out, const char *text)
{
    buffer_append_bytes(out, bytes_of_text(text));
}

/* "name":"base64" */
static void put_bytes(struct buffer *out, const char *name, struct bytes bytes)
{
    buffer_append_format(out, "\"%s\":\"", name);
    uint8_t *room = buffer_reserve(out, BASE64_TEXT_SIZE(bytes.size_bytes));
    if (room != NULL) {
        base64_encode(bytes, (char *)room);
        buffer_advance(out, BASE64_TEXT_SIZE(bytes.size_bytes) - 1);
    }
    buffer_append_u8(out, '"');
}

static void put_span(struct buffer *out, const struct etcd_span *span)
{
    put_bytes(out, "key", span->key);
    if (span->end.size_bytes > 0) {
        buffer_append_u8(out, ',');
        put_bytes(out, "range_end", span->end);
    }
}

static void put_comparison(struct buffer *out, const struct etcd_comparison *comparison)
{
    buffer_append_u8(out, '{');
    put_bytes(out, "key", comparison->key);
    switch (comparison->type) {
    case ETCD_CREATED_IS:
        buffer_append_format(out, ",\"target\":\"CREATE\",\"create_revision\":\"%" PRId64 "\"}",
                             comparison->created);
        break;
    case ETCD_VALUE_IS:
        put_text(out, ",\"target\":\"VALUE\",");
        put_bytes(out, "value", comparison->value);
        buffer_append_u8(out, '}');
        break;
    }
}

static void put_operation(struct buffer *out, const struct etcd_operation *operation)
{
    static const char *const names[] = {
        [ETCD_PUT] = "request_put",
        [ETCD_DELETE] = "request_delete_range",
        [ETCD_READ] = "request_range",
    };
    buffer_append_format(out, "{\"%s\":{", names[operation->type]);
    put_span(out, &operation->span);
    if (operation->type == ETCD_PUT) {
        buffer_append_u8(out, ',');
        put_bytes(out, "value", operation->value);
        buffer_append_format(out, ",\"lease\":\"%" PRId64 "\"", operation->lease);
    }
    put_text(out, "}}");
}

static void put_operations(struct buffer *out,
                           const char *name,
                           const struct etcd_operation *operations,
                           size_t count)
{
    buffer_append_format(out, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            buffer_append_u8(out, ',');
        }
        put_operation(out, &operations[i]);
    }
    buffer_append_u8(out, ']');
}

void etcd_transaction_encode(const struct etcd_transaction *transaction, struct buffer *out)
{
    put_text(out, "{\"compare\":[");
    for (size_t i = 0; i < transaction->comparison_count; i++) {
        if (i > 0) {
            buffer_append_u8(out, ',');
        }
        put_comparison(out, &transaction->comparisons[i]);
    }
    buffer_append_u8(out, ']');
    put_operations(out, "success", transaction->then, transaction->then_count);
    put_operations(out, "failure", transaction->otherwise, transaction->otherwise_count);
    buffer_append_u8(out, '}');
}

void etcd_range_encode(const struct etcd_span *span,
                       uint32_t limit,
                       int64_t revision,
                       struct buffer *out)
{
    buffer_append_u8(out, '{');
    put_span(out, span);
    buffer_append_format(out, ",\"limit\":\"%" PRIu32 "\",\"revision\":\"%" PRId64 "\"}", limit,
                         revision);
}

void etcd_grant_encode(int64_t ttl_s, struct buffer *out)
{
    buffer_append_format(out, "{\"TTL\":\"%" PRId64 "\"}", ttl_s);
}

void etcd_lease_encode(int64_t lease, struct buffer *out)
{
    buffer_append_format(out, "{\"ID\":\"%" PRId64 "\"}", lease);
}

/* --- answers ------------------------------------------------------------------------------------ */

/* What the parts of one answer share; the first thing that is wrong stays. */
struct decoding {
    struct arena *arena;
    enum status status;
    struct error *error;
};

static void refuse(struct decoding *decoding, const char *what)
{
    if (decoding->status == STATUS_OK) {
        decoding->status = error_set(decoding->error, STATUS_MALFORMED, "etcd's answer: %s", what);
    }
}

static void *take_memory(struct decoding *decoding, size_t count, size_t size_bytes)
{
    void *memory = arena_allocate_array(decoding->arena, count, size_bytes);
    if (memory == NULL && decoding->status == STATUS_OK) {
        decoding->status = error_set(decoding->error, STATUS_NO_MEMORY,
                                     "no memory for etcd's answer");
    }
    return memory;
}

static json_t *parse(struct decoding *decoding, struct bytes text)
{
    json_error_t error;
    json_t *root = json_loadb((const char *)text.data, text.size_bytes,
                              JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &error);
    if (!json_is_object(root)) {
        refuse(decoding, root == NULL ? error.text : "not an object");
    }
    return root;
}

/* A decimal number, all of the text. */
static bool parse_number(const char *text, int64_t *ret_number)
{
    int64_t number = 0;
    bool negative = *text == '-';
    const char *at = text + negative;
    if (*at == '\0') {
        return false;
    }
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (int64_t)(*at - '0'), &number)) {
            return false;
        }
    }
    *ret_number = negative ? -number : number;
    return *at == '\0';
}

/* A 64-bit number, as text or as JSON's; 0 where it is left out. */
static int64_t number_of(struct decoding *decoding, const json_t *object, const char *name)
{
    const json_t *member = json_object_get(object, name);
    int64_t number = 0;
    if (member == NULL) {
        return 0;
    }
    if (json_is_integer(member)) {
        return (int64_t)json_integer_value(member);
    }
    if (!json_is_string(member) || !parse_number(json_string_value(member), &number)) {
        refuse(decoding, name);
    }
    return number;
}

static bool flag_of(struct decoding *decoding, const json_t *object, const char *name)
{
    const json_t *member = json_object_get(object, name);
    if (member != NULL && !json_is_boolean(member)) {
        refuse(decoding, name);
    }
    return json_is_true(member);
}

/* Empty where it is left out. */
static struct bytes bytes_of_member(struct decoding *decoding,
                                    const json_t *object,
                                    const char *name)
{
    const json_t *member = json_object_get(object, name);
    if (member == NULL) {
        return BYTES_EMPTY;
    }
    if (!json_is_string(member)) {
        refuse(decoding, name);
        return BYTES_EMPTY;
    }
    size_t text_bytes = json_string_length(member);
    size_t size_bytes = 0;
    uint8_t *room = take_memory(decoding, text_bytes / 4 * 3 + 3, 1);
    if (room == NULL) {
        return BYTES_EMPTY;
    }
    if (!base64_decode(bytes_of(json_string_value(member), text_bytes), room,
                       text_bytes / 4 * 3 + 3, &size_bytes)) {
        refuse(decoding, name);
        return BYTES_EMPTY;
    }
    return bytes_of(room, size_bytes);
}

/* NULL where it is left out. */
static const json_t *array_of(struct decoding *decoding, const json_t *object, const char *name)
{
    const json_t *member = json_object_get(object, name);
    if (member != NULL && !json_is_array(member)) {
        refuse(decoding, name);
        return NULL;
    }
    return member;
}

static void read_key_value(struct decoding *decoding,
                           const json_t *object,
                           struct etcd_key_value *ret_item)
{
    if (!json_is_object(object)) {
        refuse(decoding, "a pair of key and value is not an object");
        return;
    }
    *ret_item = (struct etcd_key_value){
        .key = bytes_of_member(decoding, object, "key"),
        .value = bytes_of_member(decoding, object, "value"),
        .created = number_of(decoding, object, "create_revision"),
        .lease = number_of(decoding, object, "lease"),
    };
    if (ret_item->key.size_bytes == 0 || ret_item->created <= 0) {
        refuse(decoding, "a pair without key or create_revision");
    }
}

static void read_range(struct decoding *decoding,
                       const json_t *object,
                       struct etcd_range *ret_range)
{
    const json_t *header = json_object_get(object, "header");
    const json_t *items = array_of(decoding, object, "kvs");
    size_t count = json_array_size(items);
    struct etcd_key_value *room = take_memory(decoding, count + 1, sizeof *room);

    *ret_range = (struct etcd_range){0};
    if (!json_is_object(header)) {
        refuse(decoding, "no header");
    }
    for (size_t i = 0; i < count && decoding->status == STATUS_OK; i++) {
        read_key_value(decoding, json_array_get(items, i), &room[i]);
    }
    *ret_range = (struct etcd_range){
        .revision = number_of(decoding, header, "revision"),
        .items = room,
        .count = count,
        .more = flag_of(decoding, object, "more"),
    };
    if (ret_range->revision <= 0) {
        refuse(decoding, "no revision");
    }
}

enum status etcd_range_decode(struct bytes text,
                              struct arena *arena,
                              struct etcd_range *ret_range,
                              struct error *ret_error)
{
    struct decoding decoding = {arena, STATUS_OK, ret_error};
    struct etcd_range range = {0};
    json_t *root = parse(&decoding, text);

    if (decoding.status == STATUS_OK) {
        read_range(&decoding, root, &range);
    }
    json_decref(root);
    if (decoding.status == STATUS_OK) {
        *ret_range = range;
    }
    return decoding.status;
}

static void read_outcome(struct decoding *decoding,
                         const json_t *root,
                         struct etcd_outcome *ret_outcome)
{
    const json_t *responses = array_of(decoding, root, "responses");
    size_t count = json_array_size(responses);
    struct etcd_range *ranges = take_memory(decoding, count + 1, sizeof *ranges);
    size_t range_count = 0;

    if (!json_is_object(json_object_get(root, "header"))) {
        refuse(decoding, "no header");
    }
    for (size_t i = 0; i < count && decoding->status == STATUS_OK; i++) {
        const json_t *range = json_object_get(json_array_get(responses, i), "response_range");
        if (range != NULL) {
            read_range(decoding, range, &ranges[range_count++]);
        }
    }
    *ret_outcome = (struct etcd_outcome){
        .succeeded = flag_of(decoding, root, "succeeded"),
        .ranges = ranges,
        .range_count = range_count,
    };
}

enum status etcd_outcome_decode(struct bytes text,
                                struct arena *arena,
                                struct etcd_outcome *ret_outcome,
                                struct error *ret_error)
{
    struct decoding decoding = {arena, STATUS_OK, ret_error};
    struct etcd_outcome outcome = {0};
    json_t *root = parse(&decoding, text);

    if (decoding.status == STATUS_OK) {
        read_outcome(&decoding, root, &outcome);
    }
    json_decref(root);
    if (decoding.status == STATUS_OK) {
        *ret_outcome = outcome;
    }
    return decoding.status;
}

static void read_lease(struct decoding *decoding,
                       const json_t *object,
                       struct etcd_lease *ret_lease)
{
    ret_lease->lease = number_of(decoding, object, "ID");
    ret_lease->ttl_s = number_of(decoding, object, "TTL");
    if (ret_lease->lease == 0 || ret_lease->ttl_s < 0 || ret_lease->ttl_s > INT32_MAX) {
        refuse(decoding, "no lease that could be");
    }
}

enum status etcd_grant_decode(struct bytes text,
                              struct etcd_lease *ret_lease,
                              struct error *ret_error)
{
    struct decoding decoding = {NULL, STATUS_OK, ret_error};
    struct etcd_lease lease = {0};
    json_t *root = parse(&decoding, text);

    if (decoding.status == STATUS_OK) {
        read_lease(&decoding, root, &lease);
    }
    if (decoding.status == STATUS_OK && lease.ttl_s == 0) {
        refuse(&decoding, "a lease of no length");
    }
    json_decref(root);
    if (decoding.status == STATUS_OK) {
        *ret_lease = lease;
    }
    return decoding.status;
}

/* A stream of one: what would be the answer stands in "result". */
enum status etcd_keep_alive_decode(struct bytes text,
                                   struct etcd_lease *ret_lease,
                                   struct error *ret_error)
{
    struct decoding decoding = {NULL, STATUS_OK, ret_error};
    struct etcd_lease lease = {0};
    json_t *root = parse(&decoding, text);
    const json_t *result = json_object_get(root, "result");

    if (decoding.status == STATUS_OK && !json_is_object(result)) {
        refuse(&decoding, "no result");
    }
    if (decoding.status == STATUS_OK) {
        read_lease(&decoding, result, &lease);
    }
    json_decref(root);
    if (decoding.status == STATUS_OK) {
        *ret_lease = lease;
    }
    return decoding.status;
}

/* gRPC's numbers are ours below 17; what is not sure to be final may be over soon. */
static enum status status_of_refusal(int64_t code, const char *text)
{
    if (code == STATUS_RESOURCE_EXHAUSTED && strstr(text, "space exceeded") != NULL) {
        return STATUS_NO_SPACE;
    }
    if ((code == STATUS_INVALID_ARGUMENT && strstr(text, "too large") != NULL) ||
        (code == STATUS_RESOURCE_EXHAUSTED && strstr(text, "larger than max") != NULL)) {
        return STATUS_LIMIT;
    }
    if (code == STATUS_INVALID_ARGUMENT || code == STATUS_NOT_FOUND ||
        code == STATUS_OUT_OF_RANGE) {
        return (enum status)code;
    }
    return code == STATUS_PERMISSION_DENIED || code == STATUS_UNAUTHENTICATED
               ? STATUS_PERMISSION_DENIED
               : STATUS_UNAVAILABLE;
}

enum status etcd_refusal_decode(struct bytes text, long http_status, struct error *ret_error)
{
    json_t *root = json_loadb((const char *)text.data, text.size_bytes, JSON_DISABLE_EOF_CHECK,
                              NULL);
    const json_t *body = json_object_get(root, "error");
    body = json_is_object(body) ? body : root; /* as streams have it */
    const char *message = json_string_value(json_object_get(body, "message"));
    const json_t *code = json_object_get(body, "code");
    code = code != NULL ? code : json_object_get(body, "grpc_code");
    enum status status = STATUS_UNAVAILABLE;
    if (message == NULL) {
        (void)error_set(ret_error, status, "HTTP status %ld", http_status);
    } else {
        status = status_of_refusal((int64_t)json_integer_value(code), message);
        (void)error_set(ret_error, status, "%.200s", message);
    }
    json_decref(root);
    return status;
}
