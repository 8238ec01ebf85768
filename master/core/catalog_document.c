#include "common/base/assert.h"
#include "master/core/catalog_parts.h"
#include "master/core/state/catalog_state.h"
#include "master/core/state/transaction.h"

/*
 * Documents: what the master keeps for others.  Nothing here depends on what they hold, and no
 * tablet server is told of them: only the catalog's version, which each transaction raises, moves
 * on for all.
 */

#define PAGE_BYTES_MAX (UINT64_C(1) << 20)

/* --- putting ---------------------------------------------------------------------------------- */

/* What is asked for, and beside each document the one that is there; NULL = there is none. */
struct put {
    struct put_documents_request request;
    const struct document_entry **present;
    size_t made_count; /* those that are not there yet */
};

static enum status check_document(const struct document *document, struct error *ret_error)
{
    if (document->name.size_bytes == 0 || document->name.size_bytes > LIMIT_DOCUMENT_NAME_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "the document's name has %zu bytes: it may have 1 to %d",
                         document->name.size_bytes, LIMIT_DOCUMENT_NAME_BYTES);
    }
    if (document->content.size_bytes > LIMIT_DOCUMENT_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "the document has %zu bytes: it may have up to %d",
                         document->content.size_bytes, LIMIT_DOCUMENT_BYTES);
    }
    if (document->content.size_bytes == 0 && document->version == 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "a document of no bytes is none: to delete one, say which version");
    }
    return STATUS_OK;
}

static enum status check_shape(const struct put_documents_request *request, struct error *ret_error)
{
    enum status status = STATUS_OK;
    if (request->document_count == 0 || request->document_count > LIMIT_DOCUMENTS_PER_PUT) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "%zu documents: 1 to %d are put at once", request->document_count,
                         LIMIT_DOCUMENTS_PER_PUT);
    }
    for (size_t i = 0; i < request->document_count && status == STATUS_OK; i++) {
        status = check_document(&request->documents[i], ret_error);
        for (size_t j = 0; j < i && status == STATUS_OK; j++) {
            if (bytes_equal(request->documents[i].name, request->documents[j].name)) {
                status = error_set(ret_error, STATUS_INVALID_ARGUMENT,
                                   "documents %zu and %zu have one name", j, i);
            }
        }
    }
    return status;
}

static uint64_t version_of(const struct document_entry *present)
{
    return present == NULL ? 0 : present->record.changed_version;
}

/* *ret_index: the first document whose version is another; document_count if none's is. */
static enum status find_present(struct catalog *catalog,
                                struct put *put,
                                size_t *ret_index,
                                struct error *ret_error)
{
    size_t count = put->request.document_count;
    size_t index = count;

    put->present = arena_allocate_array(&catalog->scratch, count, sizeof *put->present);
    if (put->present == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to put documents");
    }
    for (size_t i = 0; i < count; i++) {
        const struct document *document = &put->request.documents[i];
        put->present[i] = document_map_get(&catalog->documents, document->name);
        put->made_count += put->present[i] == NULL;
        if (index == count && version_of(put->present[i]) != document->version) {
            index = i;
        }
    }
    *ret_index = index;
    return STATUS_OK;
}

static enum status check_room(const struct document_map *documents,
                              const struct put *put,
                              struct error *ret_error)
{
    uint64_t size_bytes = documents->size_bytes;
    bool adds = false;
    for (size_t i = 0; i < put->request.document_count; i++) {
        const struct document *document = &put->request.documents[i];
        const struct document_entry *present = put->present[i];
        if (document->content.size_bytes > 0) {
            size_bytes += document_size_bytes(document->name, document->content);
            adds = true;
        }
        if (present != NULL) {
            size_bytes -= document_size_bytes(present->record.name, present->record.content);
        }
    }
    if (adds && size_bytes > LIMIT_DOCUMENTS_BYTES) {
        return error_set(ret_error, STATUS_RESOURCE_EXHAUSTED,
                         "%zu documents have %llu bytes already: all together may have %d",
                         documents->count, (unsigned long long)documents->size_bytes,
                         LIMIT_DOCUMENTS_BYTES);
    }
    return STATUS_OK;
}

/* Before anything is staged: what is committed is answered without need of memory. */
static enum status prepare_answer(struct open_request *request,
                                  struct put_documents_response response,
                                  struct error *ret_error)
{
    request->answer = effects_begin_message();
    put_documents_response_encode(&response, &request->answer);
    return request->answer.failed ? error_set(ret_error, STATUS_NO_MEMORY, "no memory to answer")
                                  : STATUS_OK;
}

/* A put that goes: it was checked. */
static enum status stage_put(struct transaction *transaction,
                             struct open_request *request,
                             const struct put *put,
                             struct error *ret_error)
{
    /* a version is given once, and only to one document */
    uint64_t number = transaction_next_documents(transaction, put->made_count);
    enum status status = prepare_answer(
        request, (struct put_documents_response){true, transaction->counters.version, 0},
        ret_error);

    for (size_t i = 0; i < put->request.document_count && status == STATUS_OK; i++) {
        const struct document *document = &put->request.documents[i];
        const struct document_entry *present = put->present[i];
        const struct document_record record = {
            .number = present == NULL ? number++ : present->record.number,
            .name = document->name,
            .content = document->content,
        };
        if (document->content.size_bytes == 0) {
            transaction_remove_document(transaction, present);
        } else {
            transaction_put_document(transaction, &record);
        }
    }
    return status;
}

enum status document_stage(struct catalog *catalog,
                           struct transaction *transaction,
                           struct open_request *request,
                           bool *ret_staged,
                           struct error *ret_error)
{
    struct put put = {.made_count = 0};
    size_t index = 0;
    enum status status = put_documents_request_decode(request->body, &catalog->scratch,
                                                      &put.request, ret_error);

    if (status == STATUS_OK) {
        status = check_shape(&put.request, ret_error);
    }
    if (status == STATUS_OK) {
        status = find_present(catalog, &put, &index, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    bool staged = index == put.request.document_count;
    if (!staged) {
        const struct put_documents_response response = {false, version_of(put.present[index]),
                                                        index};
        status = prepare_answer(request, response, ret_error);
    } else {
        status = check_room(&catalog->documents, &put, ret_error);
    }
    if (status == STATUS_OK && staged) {
        status = stage_put(transaction, request, &put, ret_error);
    }
    if (status == STATUS_OK) {
        *ret_staged = staged;
    }
    return status;
}

/* --- listing ---------------------------------------------------------------------------------- */

static bool is_in_page(const struct catalog *catalog,
                       const struct list_documents_request *list,
                       size_t index)
{
    return index < catalog->documents.count &&
           bytes_starts_with(catalog->documents.entries[index]->record.name, list->prefix);
}

/* How many documents from first on make an answer: one at least, where there is one. */
static size_t page_count(const struct catalog *catalog,
                         const struct list_documents_request *list,
                         size_t first)
{
    uint64_t size_bytes = 0;
    size_t count = 0;

    while (is_in_page(catalog, list, first + count) &&
           (list->count_max == 0 || count < list->count_max)) {
        const struct document_record *record = &catalog->documents.entries[first + count]->record;
        size_bytes += document_size_bytes(record->name, record->content);
        if (count > 0 && size_bytes > PAGE_BYTES_MAX) {
            break;
        }
        count++;
    }
    return count;
}

void read_list_documents(struct catalog *catalog,
                         uint64_t request,
                         const struct list_documents_request *list)
{
    struct bytes from = bytes_compare(list->start, list->prefix) > 0 ? list->start : list->prefix;
    size_t first = document_map_index(&catalog->documents, from);
    size_t count = page_count(catalog, list, first);
    struct document *documents = arena_allocate_array(&catalog->scratch, count + 1,
                                                      sizeof *documents);

    if (documents == NULL) {
        struct error error = {0};
        (void)error_set(&error, STATUS_RESOURCE_EXHAUSTED, "the master has no memory to answer");
        emit_error(catalog, request, &error);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct document_record *record = &catalog->documents.entries[first + i]->record;
        documents[i] = (struct document){record->name, record->content, record->changed_version};
    }
    struct buffer message = effects_begin_message();
    struct list_documents_response response = {
        .documents = documents,
        .document_count = count,
        .more = is_in_page(catalog, list, first + count),
    };
    list_documents_response_encode(&response, &message);
    emit_reply(catalog, request, &message);
}
