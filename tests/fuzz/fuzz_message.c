/*
 * Every message's decoder: the first byte selects it.  What decodes must survive encoding: decoding
 * that again and encoding it once more gives the same bytes.
 */
#include "common/base/assert.h"
#include "tabletserver/replica/replica_message.h"
#include "tests/support/message_codecs.h"

#define ARENA_LIMIT_BYTES (16 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

#define RECODE_HEAD(name)                                                                      \
    static enum status recode_##name(struct bytes in, struct arena *arena, struct buffer *out) \
    {                                                                                          \
        struct name head;                                                                      \
        struct bytes body;                                                                     \
        struct error error;                                                                    \
        (void)arena;                                                                           \
        enum status status = name##_decode(in, &head, &body, &error);                          \
        if (status == STATUS_OK) {                                                             \
            name##_encode(&head, out);                                                         \
            buffer_append_bytes(out, body);                                                    \
        }                                                                                      \
        return status;                                                                         \
    }

RECODE_HEAD(request_head)
RECODE_HEAD(response_head)

/* What tablet servers say to one another (tabletserver/replica). */
static enum status recode_replicate(struct bytes in, struct arena *arena, struct buffer *out)
{
    struct replica_batch batch;
    struct error error;
    enum status status = replica_batch_decode(in, arena, &batch, &error);
    if (status == STATUS_OK) {
        replica_batch_begin(&batch.head, out);
        for (size_t i = 0; i < batch.item_count; i++) {
            replica_batch_add(batch.items[i].tablet, &batch.items[i].message, out);
        }
    }
    return status;
}

static const message_recoder recoders[] = {
#define ENTRY(name) recode_##name,
    ENTRY(operations_request) ENTRY(operations_response) ENTRY(scan_request) ENTRY(scan_response)
        ENTRY(table) ENTRY(hello) ENTRY(hello_ack) ENTRY(request_head) ENTRY(response_head)
            MESSAGE_LIST(ENTRY) ENTRY(replicate)};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    if (size_bytes == 0) {
        return 0;
    }
    message_recoder recode = recoders[data[0] % (sizeof recoders / sizeof recoders[0])];
    struct arena arena;
    struct buffer first = BUFFER_INIT;
    struct buffer second = BUFFER_INIT;
    arena_init(&arena, 65536, ARENA_LIMIT_BYTES);
    if (recode(bytes_of(data + 1, size_bytes - 1), &arena, &first) == STATUS_OK) {
        arena_reset(&arena);
        ASSERT(recode(buffer_bytes(&first), &arena, &second) == STATUS_OK);
        ASSERT(bytes_equal(buffer_bytes(&first), buffer_bytes(&second)));
    }
    buffer_deinit(&first);
    buffer_deinit(&second);
    arena_deinit(&arena);
    return 0;
}
