/*
 * Messages of the API from bytes: the first byte selects which.  Whatever decodes keeps within the
 * arena's limit, and survives being encoded: decoded again it gives the same bytes.  Whatever lies
 * too deep is refused before it is followed.
 */
#include <stddef.h>
#include <stdint.h>

#include "admin.pb-c.h"
#include "common/base/assert.h"
#include "common/base/buffer.h"
#include "data.pb-c.h"
#include "gateway/rpc/message.h"
#include "iam.pb-c.h"
#include "longrunning.pb-c.h"

#define ARENA_LIMIT_BYTES (4 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

static const ProtobufCMessageDescriptor *const kinds[] = {
    &google__bigtable__v2__read_rows_request__descriptor,
    &google__bigtable__v2__sample_row_keys_request__descriptor,
    &google__bigtable__v2__mutate_row_request__descriptor,
    &google__bigtable__v2__mutate_rows_request__descriptor,
    &google__bigtable__v2__check_and_mutate_row_request__descriptor,
    &google__bigtable__v2__read_modify_write_row_request__descriptor,
    &google__bigtable__v2__ping_and_warm_request__descriptor,
    &google__bigtable__admin__v2__create_table_request__descriptor,
    &google__bigtable__admin__v2__list_tables_request__descriptor,
    &google__bigtable__admin__v2__get_table_request__descriptor,
    &google__bigtable__admin__v2__update_table_request__descriptor,
    &google__bigtable__admin__v2__delete_table_request__descriptor,
    &google__bigtable__admin__v2__modify_column_families_request__descriptor,
    &google__bigtable__admin__v2__drop_row_range_request__descriptor,
    &google__bigtable__admin__v2__generate_consistency_token_request__descriptor,
    &google__bigtable__admin__v2__check_consistency_request__descriptor,
    &google__bigtable__admin__v2__create_instance_request__descriptor,
    &google__bigtable__admin__v2__get_instance_request__descriptor,
    &google__bigtable__admin__v2__list_instances_request__descriptor,
    &google__bigtable__admin__v2__partial_update_instance_request__descriptor,
    &google__bigtable__admin__v2__delete_instance_request__descriptor,
    &google__bigtable__admin__v2__create_cluster_request__descriptor,
    &google__bigtable__admin__v2__get_cluster_request__descriptor,
    &google__bigtable__admin__v2__list_clusters_request__descriptor,
    &google__bigtable__admin__v2__partial_update_cluster_request__descriptor,
    &google__bigtable__admin__v2__delete_cluster_request__descriptor,
    &google__bigtable__admin__v2__create_app_profile_request__descriptor,
    &google__bigtable__admin__v2__get_app_profile_request__descriptor,
    &google__bigtable__admin__v2__list_app_profiles_request__descriptor,
    &google__bigtable__admin__v2__update_app_profile_request__descriptor,
    &google__bigtable__admin__v2__delete_app_profile_request__descriptor,
    &google__bigtable__admin__v2__list_hot_tablets_request__descriptor,
    &google__iam__v1__get_iam_policy_request__descriptor,
    &google__iam__v1__set_iam_policy_request__descriptor,
    &google__iam__v1__test_iam_permissions_request__descriptor,
    &google__longrunning__get_operation_request__descriptor,
    &google__longrunning__wait_operation_request__descriptor,
    &google__longrunning__list_operations_request__descriptor,
    &google__longrunning__cancel_operation_request__descriptor,
    &google__longrunning__delete_operation_request__descriptor,
};

/* False: it is no such message. */
static bool recode(const ProtobufCMessageDescriptor *kind, struct bytes in, struct buffer *out)
{
    struct arena arena;
    struct error error = {.status = STATUS_OK};
    ProtobufCMessage *message = NULL;
    arena_init(&arena, 4096, ARENA_LIMIT_BYTES);
    enum status status = message_decode(kind, in, &arena, &message, &error);
    ASSERT(arena.used_bytes <= ARENA_LIMIT_BYTES);
    ASSERT(status == STATUS_OK || status == STATUS_INVALID_ARGUMENT || status == STATUS_NO_MEMORY);
    ASSERT(status == error.status);
    if (status == STATUS_OK) {
        ASSERT(message->descriptor == kind);
        ASSERT(message_look(kind, in, MESSAGE_NESTING_MAX) == MESSAGE_IS_GOOD);
        size_t size = protobuf_c_message_get_packed_size(message);
        uint8_t *room = buffer_reserve(out, size + 1);
        ASSERT(room != NULL && protobuf_c_message_pack(message, room) == size);
        buffer_advance(out, size);
    }
    arena_deinit(&arena);
    return status == STATUS_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    if (size_bytes == 0) {
        return 0;
    }
    const ProtobufCMessageDescriptor *kind = kinds[data[0] % (sizeof kinds / sizeof *kinds)];
    struct buffer once = BUFFER_INIT;
    struct buffer twice = BUFFER_INIT;
    if (recode(kind, bytes_of(data + 1, size_bytes - 1), &once)) {
        bool is_good = recode(kind, buffer_bytes(&once), &twice);
        ASSERT(is_good);
        ASSERT(bytes_equal(buffer_bytes(&once), buffer_bytes(&twice)));
    }
    buffer_deinit(&once);
    buffer_deinit(&twice);
    return 0;
}
