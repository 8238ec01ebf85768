#include "gateway/core/features.h"

#include "data.pb-c.h"
#include "gateway/core/base64.h"
#include "gateway/rpc/message.h"

#define FLAGS_BYTES_MAX   512
#define ARENA_BLOCK_BYTES 1024
#define ARENA_BYTES_MAX   (64 * 1024) /* flags that are not known take a struct each */

typedef Google__Bigtable__V2__FeatureFlags Flags;

struct features features_parse(struct bytes header)
{
    struct features features = {false, false};
    uint8_t bytes[FLAGS_BYTES_MAX];
    size_t size = 0;
    ProtobufCMessage *message = NULL;
    struct arena arena;
    if (header.size_bytes == 0 || !base64_decode(header, bytes, sizeof bytes, &size)) {
        return features;
    }
    arena_init(&arena, ARENA_BLOCK_BYTES, ARENA_BYTES_MAX);
    if (message_decode(&google__bigtable__v2__feature_flags__descriptor, bytes_of(bytes, size),
                       &arena, &message, NULL) == STATUS_OK) {
        const Flags *flags = (const Flags *)message;
        features.has_reverse_scans = flags->reverse_scans != 0;
        features.has_last_scanned_rows = flags->last_scanned_row_responses != 0;
    }
    arena_deinit(&arena);
    return features;
}
