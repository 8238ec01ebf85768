#include "gateway/instance_admin/records.h"

#include <stdio.h>
#include <string.h>

#include "client/include/edubba_documents.h"
#include "common/base/assert.h"
#include "gateway/rpc/message.h"

#define DOCUMENT_NAME_BYTES_MAX 320 /* three parts of 80 bytes fit */

/* How a kind is kept. */
struct kind {
    const char *prefix;
    const char *collection; /* in names of the API */
    const ProtobufCMessageDescriptor *descriptor;
};

static const struct kind *kind_of(enum resource_kind kind)
{
    static const struct kind instances = {"bigtable/instances/", "",
                                          &google__bigtable__admin__v2__instance__descriptor};
    static const struct kind clusters = {"bigtable/clusters/", "clusters",
                                         &google__bigtable__admin__v2__cluster__descriptor};
    static const struct kind profiles = {"bigtable/appProfiles/", "appProfiles",
                                         &google__bigtable__admin__v2__app_profile__descriptor};
    switch (kind) {
    case RESOURCE_INSTANCE:
        return &instances;
    case RESOURCE_CLUSTER:
        return &clusters;
    case RESOURCE_APP_PROFILE:
        return &profiles;
    case RESOURCE_PROJECT:
    case RESOURCE_TABLE:
        break;
    }
    UNREACHABLE();
}

/* --- names ------------------------------------------------------------------------------------ */

char *record_full_name(struct admin_call *call, const struct resource_name *name)
{
    int project = (int)name->project.size_bytes;
    int instance = (int)name->instance.size_bytes;
    if (name->kind == RESOURCE_INSTANCE) {
        return admin_call_format(call, "projects/%.*s/instances/%.*s", project,
                                 (const char *)name->project.data, instance,
                                 (const char *)name->instance.data);
    }
    return admin_call_format(call, "projects/%.*s/instances/%.*s/%s/%.*s", project,
                             (const char *)name->project.data, instance,
                             (const char *)name->instance.data, kind_of(name->kind)->collection,
                             (int)name->id.size_bytes, (const char *)name->id.data);
}

struct bytes record_id(const char *full_name)
{
    const char *slash = strrchr(full_name, '/');
    return bytes_of_text(slash != NULL ? slash + 1 : full_name);
}

enum edubba_code record_name(struct admin_call *call,
                             const char *text,
                             enum resource_kind kind,
                             struct resource_name *ret_name)
{
    struct error error = {.status = STATUS_OK};
    enum status status = resource_name_parse(bytes_of_text(text), kind, ret_name, &error);
    return admin_call_check(call, status, &error);
}

/* The document's name, or with nothing behind the instance (and the project) what begins all of
 * theirs. */
static struct edubba_bytes document_name(const struct kind *kind,
                                         struct bytes project,
                                         struct bytes instance,
                                         struct bytes id,
                                         char text[DOCUMENT_NAME_BYTES_MAX])
{
    int size = snprintf(text, DOCUMENT_NAME_BYTES_MAX, "%s%.*s/%.*s%s%.*s", kind->prefix,
                        (int)project.size_bytes, (const char *)project.data,
                        (int)instance.size_bytes,
                        instance.size_bytes > 0 ? (const char *)instance.data : "",
                        kind->collection[0] != '\0' && instance.size_bytes > 0 ? "/" : "",
                        (int)id.size_bytes, id.size_bytes > 0 ? (const char *)id.data : "");
    ASSERT(size > 0);
    ASSERT(size < DOCUMENT_NAME_BYTES_MAX);
    return edubba_bytes_of(text, (size_t)size);
}

/* --- one -------------------------------------------------------------------------------------- */

/* Borrows nothing of the document. */
static enum edubba_code read_document(struct admin_call *call,
                                      const struct kind *kind,
                                      const struct edubba_document *document,
                                      struct record *ret_record)
{
    struct error error = {.status = STATUS_OK};
    struct bytes content = bytes_of(document->content.data, document->content.size);
    ProtobufCMessage *message = NULL;
    enum status status = message_decode(kind->descriptor, content, call->arena, &message, &error);
    if (status == STATUS_NO_MEMORY) {
        return admin_call_no_memory(call);
    }
    if (status != STATUS_OK) {
        return admin_call_fail(call, EDUBBA_DATA_LOSS, "Document '%.*s' holds no %s",
                               (int)document->name.size, (const char *)document->name.data,
                               kind->descriptor->short_name);
    }
    *ret_record = (struct record){message, document->version};
    return EDUBBA_OK;
}

enum edubba_code record_find(struct admin_call *call,
                             const struct resource_name *name,
                             struct record *ret_record)
{
    const struct kind *kind = kind_of(name->kind);
    char text[DOCUMENT_NAME_BYTES_MAX];
    struct edubba_document *document = NULL;
    enum edubba_code code = edubba_get_document(
        call->gateway->client, document_name(kind, name->project, name->instance, name->id, text),
        &document, &call->error);
    if (code == EDUBBA_NOT_FOUND) {
        *ret_record = (struct record){NULL, 0};
        return EDUBBA_OK;
    }
    if (code != EDUBBA_OK) {
        return code;
    }
    code = read_document(call, kind, document, ret_record);
    edubba_free(document);
    return code;
}

enum edubba_code record_get(struct admin_call *call,
                            const struct resource_name *name,
                            struct record *ret_record)
{
    struct record record = {NULL, 0};
    enum edubba_code code = record_find(call, name, &record);
    if (code == EDUBBA_OK && record.message == NULL) {
        const char *text = record_full_name(call, name);
        return text == NULL ? admin_call_no_memory(call)
                            : admin_call_fail(call, EDUBBA_NOT_FOUND, "Not found: %s", text);
    }
    if (code == EDUBBA_OK) {
        *ret_record = record;
    }
    return code;
}

enum edubba_code record_put(struct admin_call *call,
                            const struct resource_name *name,
                            const ProtobufCMessage *message,
                            uint64_t expected,
                            uint64_t *ret_version)
{
    char text[DOCUMENT_NAME_BYTES_MAX];
    size_t size = message != NULL ? protobuf_c_message_get_packed_size(message) : 0;
    uint8_t *content = arena_allocate(call->arena, size + 1);
    uint64_t version = 0;
    if (content == NULL) {
        return admin_call_no_memory(call);
    }
    if (message != NULL) {
        size = protobuf_c_message_pack(message, content);
    }
    enum edubba_code code = edubba_put_document(
        call->gateway->client,
        document_name(kind_of(name->kind), name->project, name->instance, name->id, text),
        edubba_bytes_of(content, size), expected, &version, &call->error);
    if (code == EDUBBA_OK && ret_version != NULL) {
        *ret_version = version;
    }
    return code;
}

enum edubba_code record_replace(struct admin_call *call,
                                const struct resource_name *name,
                                const ProtobufCMessage *message)
{
    enum edubba_code code = EDUBBA_ABORTED;
    for (int i = 0; i < RECORD_ATTEMPTS && code == EDUBBA_ABORTED; i++) {
        struct record before = {NULL, 0};
        code = record_find(call, name, &before);
        if (code == EDUBBA_OK && (message != NULL || before.message != NULL)) {
            code = record_put(call, name, message, before.version, NULL);
        }
    }
    return code;
}

/* --- many ------------------------------------------------------------------------------------- */

/* Where a page begins: `from`, if it is a document's name that begins with the prefix. */
static enum edubba_code page_start(struct admin_call *call,
                                   struct edubba_bytes prefix,
                                   const char *from,
                                   struct edubba_bytes *ret_start)
{
    struct bytes start = bytes_of_text(from != NULL ? from : "");
    if (start.size_bytes > 0 && !bytes_starts_with(start, bytes_of(prefix.data, prefix.size))) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'page_token' : it is none of this list");
    }
    *ret_start = edubba_bytes_of(start.data, start.size_bytes);
    return EDUBBA_OK;
}

/* The documents into the list; one more than count_max says that there is a next page. */
static enum edubba_code take_page(struct admin_call *call,
                                  const struct kind *kind,
                                  const struct edubba_document *documents,
                                  size_t count,
                                  uint32_t count_max,
                                  struct record_list *ret_list)
{
    bool has_next = count_max != 0 && count > count_max;
    struct record_list list = {.count = has_next ? count_max : count};
    enum edubba_code code = EDUBBA_OK;

    list.records = arena_allocate_array(call->arena, list.count + 1, sizeof *list.records);
    if (has_next) {
        struct edubba_bytes next = documents[count_max].name;
        list.next = admin_call_format(call, "%.*s", (int)next.size, (const char *)next.data);
    }
    if (list.records == NULL || (has_next && list.next == NULL)) {
        return admin_call_no_memory(call);
    }
    for (size_t i = 0; i < list.count && code == EDUBBA_OK; i++) {
        code = read_document(call, kind, &documents[i], &list.records[i]);
    }
    if (code == EDUBBA_OK) {
        *ret_list = list;
    }
    return code;
}

enum edubba_code record_list(struct admin_call *call,
                             enum resource_kind kind,
                             const struct resource_name *parent,
                             const char *from,
                             uint32_t count_max,
                             struct record_list *ret_list)
{
    bool is_any = bytes_equal(parent->instance, bytes_of_text("-"));
    struct bytes instance = is_any ? BYTES_EMPTY : parent->instance;
    char text[DOCUMENT_NAME_BYTES_MAX];
    struct edubba_bytes prefix = document_name(kind_of(kind), parent->project, instance,
                                               BYTES_EMPTY, text);
    struct edubba_document *documents = NULL;
    struct edubba_bytes start = EDUBBA_NOTHING;
    size_t count = 0;
    enum edubba_code code = page_start(call, prefix, from, &start);

    if (code == EDUBBA_OK) {
        code = edubba_list_documents(call->gateway->client, prefix, start,
                                     count_max == 0 ? 0 : count_max + 1, &documents, &count,
                                     &call->error);
    }
    if (code != EDUBBA_OK) {
        return code;
    }
    code = take_page(call, kind_of(kind), documents, count, count_max, ret_list);
    edubba_free(documents);
    return code;
}
