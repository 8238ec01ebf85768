#include "gateway/instance_admin/records.h"

#include <stdio.h>
#include <string.h>

#include "client/include/edubba_documents.h"
#include "common/base/assert.h"
#include "gateway/rpc/message.h"

#define PUT_ATTEMPTS 3 /* where answers are lost */

_Static_assert(RECORD_CHANGES_MAX <= EDUBBA_DOCUMENTS_PER_PUT_MAX, "changes go in one put");

/* How resources of one kind are named, and which message they are. */
struct kind {
    const char *collection; /* in names of the API */
    const ProtobufCMessageDescriptor *descriptor;
};

static const struct kind *kind_of(enum resource_kind kind)
{
    static const struct kind instances = {"", &google__bigtable__admin__v2__instance__descriptor};
    static const struct kind clusters = {"clusters",
                                         &google__bigtable__admin__v2__cluster__descriptor};
    static const struct kind profiles = {"appProfiles",
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
static struct edubba_bytes document_name(const struct resource_name *name,
                                         char text[RESOURCE_DOCUMENT_BYTES_MAX])
{
    return edubba_bytes_of(text, resource_document_name(name, text));
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
    enum status status = message_decode_kept(kind->descriptor, content, call->arena, &message,
                                             &error);
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
    char text[RESOURCE_DOCUMENT_BYTES_MAX];
    struct edubba_document *document = NULL;
    enum edubba_code code = edubba_get_document(call->gateway->client, document_name(name, text),
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

/* --- putting ---------------------------------------------------------------------------------- */

struct pack {
    char name[RESOURCE_DOCUMENT_BYTES_MAX];
};

/* The change as a document: its name in *pack, its content in the arena. */
static enum edubba_code pack_change(struct admin_call *call,
                                    const struct record_change *change,
                                    struct pack *pack,
                                    struct edubba_document *ret_document)
{
    const struct resource_name *name = &change->name;
    const struct kind *kind = kind_of(name->kind);
    size_t size = change->message != NULL ? protobuf_c_message_get_packed_size(change->message) : 0;
    if (size > RECORD_BYTES_MAX) {
        return admin_call_fail(call, EDUBBA_INVALID_ARGUMENT,
                               "The %s has %zu bytes: %d are the most",
                               kind->descriptor->short_name, size, RECORD_BYTES_MAX);
    }
    uint8_t *content = arena_allocate(call->arena, size + 1);
    if (content == NULL) {
        return admin_call_no_memory(call);
    }
    if (change->message != NULL) {
        size = protobuf_c_message_pack(change->message, content);
    }
    *ret_document = (struct edubba_document){
        .name = document_name(name, pack->name),
        .content = edubba_bytes_of(content, size),
        .version = change->expected,
    };
    return EDUBBA_OK;
}

/* Is it there as it is wanted?  Where it is, *ret_version is its version. */
static enum edubba_code look_for(struct admin_call *call,
                                 const struct edubba_document *wanted,
                                 bool *ret_is_there,
                                 uint64_t *ret_version)
{
    struct edubba_document *found = NULL;
    enum edubba_code code = edubba_get_document(call->gateway->client, wanted->name, &found,
                                                &call->error);
    if (code == EDUBBA_NOT_FOUND) {
        *ret_is_there = wanted->content.size == 0;
        return EDUBBA_OK;
    }
    if (code == EDUBBA_OK) {
        *ret_is_there = bytes_equal(bytes_of(found->content.data, found->content.size),
                                    bytes_of(wanted->content.data, wanted->content.size));
        *ret_version = found->version;
    }
    edubba_free(found);
    return code;
}

static enum edubba_code put_documents(struct admin_call *call,
                                      const struct edubba_document *documents,
                                      size_t count,
                                      uint64_t *ret_version)
{
    enum edubba_code code = EDUBBA_UNAVAILABLE;
    for (int i = 0; i < PUT_ATTEMPTS && code == EDUBBA_UNAVAILABLE; i++) {
        bool is_there = false;
        code = edubba_put_documents(call->gateway->client, documents, count, ret_version, NULL,
                                    &call->error);
        bool is_known = code == EDUBBA_OK || (code == EDUBBA_ABORTED && i == 0);
        if (is_known || (code != EDUBBA_ABORTED && code != EDUBBA_UNAVAILABLE)) {
            return code;
        }
        /* This one or the one before may have taken place. */
        enum edubba_code looked = look_for(call, &documents[0], &is_there, ret_version);
        if (looked != EDUBBA_OK || is_there) {
            return looked;
        }
    }
    return code == EDUBBA_UNAVAILABLE
               ? admin_call_fail(call, code,
                                 "The master cannot be reached: it may or may not have "
                                 "been done")
               : admin_call_fail(call, code, "Somebody else has changed it meanwhile");
}

enum edubba_code record_put_all(struct admin_call *call,
                                const struct record_change *changes,
                                size_t count,
                                uint64_t *ret_version)
{
    struct pack *packs = arena_allocate_array(call->arena, count, sizeof *packs);
    struct edubba_document *documents = arena_allocate_array(call->arena, count, sizeof *documents);
    enum edubba_code code = EDUBBA_OK;
    uint64_t version = 0;

    ASSERT(count >= 1 && count <= RECORD_CHANGES_MAX);
    if (packs == NULL || documents == NULL) {
        return admin_call_no_memory(call);
    }
    for (size_t i = 0; i < count && code == EDUBBA_OK; i++) {
        code = pack_change(call, &changes[i], &packs[i], &documents[i]);
    }
    if (code == EDUBBA_OK) {
        code = put_documents(call, documents, count, &version);
    }
    if (code == EDUBBA_OK && ret_version != NULL) {
        *ret_version = version;
    }
    return code;
}

enum edubba_code record_put(struct admin_call *call,
                            const struct resource_name *name,
                            const ProtobufCMessage *message,
                            uint64_t expected,
                            uint64_t *ret_version)
{
    const struct record_change change = {*name, message, expected};
    return record_put_all(call, &change, 1, ret_version);
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

/* How many of the documents make the page; fewer than there are: others follow. */
static size_t count_page(const struct edubba_document *documents, size_t count, uint32_t count_max)
{
    size_t size = 0;
    size_t taken = 0;
    while (taken < count && taken < count_max && (taken == 0 || size < RECORD_PAGE_BYTES)) {
        size += documents[taken++].content.size;
    }
    return taken;
}

/* The first so many documents into the list. */
static enum edubba_code take_documents(struct admin_call *call,
                                       const struct kind *kind,
                                       const struct edubba_document *documents,
                                       size_t count,
                                       struct record_list *ret_list)
{
    struct record_list list = {.count = count};
    enum edubba_code code = EDUBBA_OK;

    list.records = arena_allocate_array(call->arena, count + 1, sizeof *list.records);
    if (list.records == NULL) {
        return admin_call_no_memory(call);
    }
    for (size_t i = 0; i < count && code == EDUBBA_OK; i++) {
        code = read_document(call, kind, &documents[i], &list.records[i]);
    }
    if (code == EDUBBA_OK) {
        *ret_list = list;
    }
    return code;
}

static struct edubba_bytes list_prefix(enum resource_kind kind,
                                       const struct resource_name *parent,
                                       char text[RESOURCE_DOCUMENT_BYTES_MAX])
{
    bool is_any = bytes_equal(parent->instance, bytes_of_text("-"));
    const struct resource_name all = {
        .kind = kind,
        .project = parent->project,
        .instance = is_any ? BYTES_EMPTY : parent->instance,
    };
    return document_name(&all, text);
}

enum edubba_code record_list(struct admin_call *call,
                             enum resource_kind kind,
                             const struct resource_name *parent,
                             struct record_list *ret_list)
{
    char text[RESOURCE_DOCUMENT_BYTES_MAX];
    struct edubba_document *documents = NULL;
    size_t count = 0;
    enum edubba_code code = edubba_list_documents(call->gateway->client,
                                                  list_prefix(kind, parent, text), EDUBBA_NOTHING,
                                                  0, &documents, &count, &call->error);
    if (code == EDUBBA_OK) {
        code = take_documents(call, kind_of(kind), documents, count, ret_list);
        edubba_free(documents);
    }
    return code;
}

enum edubba_code record_list_page(struct admin_call *call,
                                  enum resource_kind kind,
                                  const struct resource_name *parent,
                                  struct record_page page,
                                  struct record_list *ret_list)
{
    char text[RESOURCE_DOCUMENT_BYTES_MAX];
    struct edubba_bytes prefix = list_prefix(kind, parent, text);
    bool is_bounded = page.count_max > 0 && page.count_max < RECORD_PAGE_COUNT;
    uint32_t count_max = is_bounded ? page.count_max : RECORD_PAGE_COUNT;
    struct edubba_document *documents = NULL;
    struct edubba_bytes start = EDUBBA_NOTHING;
    size_t count = 0;
    enum edubba_code code = page_start(call, prefix, page.from, &start);

    if (code == EDUBBA_OK) { /* one more says whether there is a next page */
        code = edubba_list_documents(call->gateway->client, prefix, start, count_max + 1,
                                     &documents, &count, &call->error);
    }
    if (code != EDUBBA_OK) {
        return code;
    }
    size_t taken = count_page(documents, count, count_max);
    code = take_documents(call, kind_of(kind), documents, taken, ret_list);
    if (code == EDUBBA_OK && taken < count) {
        ret_list->next = admin_call_format(call, "%.*s", (int)documents[taken].name.size,
                                           (const char *)documents[taken].name.data);
        code = ret_list->next == NULL ? admin_call_no_memory(call) : EDUBBA_OK;
    }
    edubba_free(documents);
    return code;
}
