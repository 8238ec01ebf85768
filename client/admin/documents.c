/* Documents: put, got and listed. */
#include "client/include/edubba_documents.h"

#include "client/loop/block.h"
#include "client/routing/master_call.h"
#include "common/base/memory.h"

#define ARENA_BLOCK_BYTES 65536

/* --- putting ---------------------------------------------------------------------------------- */

/* Another version is there. */
static enum status refuse(const struct edubba_document *document,
                          uint64_t version,
                          struct error *ret_error)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    return error_set(ret_error, STATUS_ABORTED,
                     "document '%s' has version %llu, not the expected %llu",
                     bytes_printable(client_bytes(document->name), text),
                     (unsigned long long)version, (unsigned long long)document->version);
}

/* Ask for it, and read what comes. */
static enum status put(struct edubba_client *client,
                       struct master_call *call,
                       const struct put_documents_request *request,
                       struct put_documents_response *ret_response)
{
    put_documents_request_encode(request, &call->body);
    enum status status = master_call_ask(client, call, METHOD_PUT_DOCUMENTS, false);
    if (status == STATUS_OK) {
        status = put_documents_response_decode(buffer_bytes(&call->answer), &call->arena,
                                               ret_response, &call->error);
    }
    if (status == STATUS_OK && !ret_response->applied &&
        ret_response->index >= request->document_count) {
        status = error_set(&call->error, STATUS_MALFORMED, "the master's answer names no document");
    }
    return status;
}

enum edubba_code edubba_put_documents(struct edubba_client *client,
                                      const struct edubba_document *documents,
                                      size_t count,
                                      uint64_t *version,
                                      size_t *index,
                                      struct edubba_error *error)
{
    struct master_call call;
    struct put_documents_response response = {0};
    if (count > EDUBBA_DOCUMENTS_PER_PUT_MAX) {
        return client_error(error, STATUS_INVALID_ARGUMENT,
                            "%zu documents: 1 to %d are put at once", count,
                            EDUBBA_DOCUMENTS_PER_PUT_MAX);
    }
    master_call_init(&call);
    struct document *list = arena_allocate_array(&call.arena, count, sizeof *list);
    enum status status = list == NULL ? client_status_no_memory(&call.error) : STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        list[i] = (struct document){client_bytes(documents[i].name),
                                    client_bytes(documents[i].content), documents[i].version};
    }
    const struct put_documents_request request = {list, count};
    if (status == STATUS_OK) {
        status = put(client, &call, &request, &response);
    }
    if (status == STATUS_OK && version != NULL) {
        *version = response.version;
    }
    if (status == STATUS_OK && index != NULL) {
        *index = (size_t)response.index;
    }
    if (status == STATUS_OK && !response.applied) {
        status = refuse(&documents[response.index], response.version, &call.error);
    }
    return master_call_conclude(&call, status, error);
}

enum edubba_code edubba_put_document(struct edubba_client *client,
                                     struct edubba_bytes name,
                                     struct edubba_bytes content,
                                     uint64_t expected,
                                     uint64_t *version,
                                     struct edubba_error *error)
{
    const struct edubba_document document = {name, content, expected};
    enum edubba_code code = edubba_put_documents(client, &document, 1, version, NULL, error);
    if (code == EDUBBA_OK && version != NULL && content.size == 0) {
        *version = 0;
    }
    return code;
}

/* --- listing ---------------------------------------------------------------------------------- */

/* What has come so far. */
struct collection {
    struct arena arena;
    struct document *documents;
    size_t count;
    size_t capacity;
};

static enum status collect(struct collection *collection,
                           const struct document *document,
                           struct error *ret_error)
{
    if (collection->count == collection->capacity) {
        size_t capacity = collection->capacity * 2 + 16;
        struct document *grown = memory_resize(collection->documents, capacity * sizeof *grown);
        if (grown == NULL) {
            return client_status_no_memory(ret_error);
        }
        collection->documents = grown;
        collection->capacity = capacity;
    }
    struct document copy = {
        .name = arena_copy(&collection->arena, document->name),
        .content = arena_copy(&collection->arena, document->content),
        .version = document->version,
    };
    if (copy.name.data == NULL || copy.content.data == NULL) {
        return client_status_no_memory(ret_error);
    }
    collection->documents[collection->count++] = copy;
    return STATUS_OK;
}

/* Where the next page begins: at the first name behind the last one that came. */
static struct bytes next_start(struct collection *collection)
{
    struct bytes last = collection->documents[collection->count - 1].name;
    uint8_t *start = arena_allocate(&collection->arena, last.size_bytes + 1);
    if (start == NULL) {
        return BYTES_EMPTY;
    }
    memcpy(start, last.data, last.size_bytes);
    start[last.size_bytes] = 0;
    return bytes_of(start, last.size_bytes + 1);
}

/* Ask for one page of documents.  *ret_more: others follow. */
static enum status fetch_page(struct edubba_client *client,
                              const struct list_documents_request *request,
                              struct collection *collection,
                              bool *ret_more,
                              struct error *ret_error)
{
    struct master_call call;
    struct list_documents_response response = {0};

    master_call_init(&call);
    list_documents_request_encode(request, &call.body);
    enum status status = master_call_ask(client, &call, METHOD_LIST_DOCUMENTS, true);
    if (status == STATUS_OK) {
        status = list_documents_response_decode(buffer_bytes(&call.answer), &call.arena, &response,
                                                &call.error);
    }
    if (status == STATUS_OK && response.more && response.document_count == 0) {
        status = error_set(&call.error, STATUS_MALFORMED, "the master's answer leads nowhere");
    }
    for (size_t i = 0; i < response.document_count && status == STATUS_OK; i++) {
        status = collect(collection, &response.documents[i], &call.error);
    }
    if (status == STATUS_OK) {
        *ret_more = response.more;
    } else {
        *ret_error = call.error;
    }
    (void)master_call_conclude(&call, status, NULL);
    return status;
}

static enum status fetch_all(struct edubba_client *client,
                             const struct list_documents_request *wanted,
                             struct collection *collection,
                             struct error *ret_error)
{
    struct list_documents_request request = *wanted;
    bool more = true;
    enum status status = STATUS_OK;

    while (more && status == STATUS_OK) {
        status = fetch_page(client, &request, collection, &more, ret_error);
        bool is_full = wanted->count_max != 0 && collection->count >= wanted->count_max;
        if (status != STATUS_OK || !more || is_full) {
            break;
        }
        request.start = next_start(collection);
        request.count_max = wanted->count_max == 0
                                ? 0
                                : wanted->count_max - (uint32_t)collection->count;
        if (request.start.data == NULL) {
            status = client_status_no_memory(ret_error);
        }
    }
    return status;
}

static struct edubba_document *write_documents(struct block *block,
                                               const struct collection *collection)
{
    struct edubba_document *documents = block_take(block, collection->count * sizeof *documents);
    for (size_t i = 0; i < collection->count; i++) {
        const struct document *from = &collection->documents[i];
        struct edubba_document to = {
            .name = block_bytes(block, from->name),
            .content = block_bytes(block, from->content),
            .version = from->version,
        };
        if (documents != NULL) {
            documents[i] = to;
        }
    }
    return documents;
}

enum edubba_code edubba_list_documents(struct edubba_client *client,
                                       struct edubba_bytes prefix,
                                       struct edubba_bytes start,
                                       uint32_t count_max,
                                       struct edubba_document **documents,
                                       size_t *count,
                                       struct edubba_error *error)
{
    const struct list_documents_request wanted = {client_bytes(prefix), client_bytes(start),
                                                  count_max};
    struct collection collection = {0};
    struct block block = BLOCK_MEASURING;
    struct error trouble = {0};

    arena_init(&collection.arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    enum status status = fetch_all(client, &wanted, &collection, &trouble);
    if (status == STATUS_OK) {
        (void)write_documents(&block, &collection);
        status = block_allocate(&block) ? STATUS_OK : client_status_no_memory(&trouble);
    }
    if (status == STATUS_OK) {
        *documents = write_documents(&block, &collection);
        *count = collection.count;
    }
    memory_free(collection.documents);
    arena_deinit(&collection.arena);
    return status == STATUS_OK ? client_success(error) : client_error_of(error, &trouble);
}

enum edubba_code edubba_get_document(struct edubba_client *client,
                                     struct edubba_bytes name,
                                     struct edubba_document **document,
                                     struct edubba_error *error)
{
    struct edubba_document *found = NULL;
    size_t count = 0;
    /* of all names that begin with this one, it is the first */
    enum edubba_code code = edubba_list_documents(client, name, name, 1, &found, &count, error);

    if (code != EDUBBA_OK) {
        return code;
    }
    if (count == 0 || !bytes_equal(client_bytes(found->name), client_bytes(name))) {
        char text[BYTES_PRINTABLE_SIZE_MAX];
        edubba_free(found);
        return client_error(error, STATUS_NOT_FOUND, "document '%s' was not found",
                            bytes_printable(client_bytes(name), text));
    }
    *document = found;
    return EDUBBA_OK;
}
