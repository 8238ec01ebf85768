#include "common/base/assert.h"
#include "master/core/catalog_state.h"
#include "master/core/transaction.h"

/*
 * Documents: what the master keeps for others.  Nothing here depends on what they hold, and no
 * tablet server is told of them: only the catalog's version, which each transaction raises, moves
 * on for all.
 */

#define PAGE_BYTES_MAX (UINT64_C(1) << 20)

/* --- putting ---------------------------------------------------------------------------------- */

static enum status check_shape(const struct put_document_request *put, struct error *ret_error)
{
    if (put->name.size_bytes == 0 || put->name.size_bytes > LIMIT_DOCUMENT_NAME_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "the document's name has %zu bytes: it may have 1 to %d",
                         put->name.size_bytes, LIMIT_DOCUMENT_NAME_BYTES);
    }
    if (put->content.size_bytes > LIMIT_DOCUMENT_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "the document has %zu bytes: it may have up to %d",
                         put->content.size_bytes, LIMIT_DOCUMENT_BYTES);
    }
    if (put->content.size_bytes == 0 && put->version == 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "a document of no bytes is none: to delete one, say which version");
    }
    return STATUS_OK;
}

static enum status check_room(const struct document_map *documents,
                              const struct put_document_request *put,
                              const struct document_entry *present,
                              struct error *ret_error)
{
    uint64_t size_bytes = documents->size_bytes + document_size_bytes(put->name, put->content);
    if (present != NULL) {
        size_bytes -= document_size_bytes(present->record.name, present->record.content);
    }
    if (put->content.size_bytes > 0 && size_bytes > LIMIT_DOCUMENTS_BYTES) {
        return error_set(ret_error, STATUS_RESOURCE_EXHAUSTED,
                         "%zu documents have %llu bytes already: all together may have %d",
                         documents->count, (unsigned long long)documents->size_bytes,
                         LIMIT_DOCUMENTS_BYTES);
    }
    return STATUS_OK;
}

/* Before anything is staged: what is committed is answered without need of memory. */
static enum status prepare_answer(struct open_request *request,
                                  bool applied,
                                  uint64_t version,
                                  struct error *ret_error)
{
    struct put_document_response response = {applied, version};
    request->answer = effects_begin_message();
    put_document_response_encode(&response, &request->answer);
    return request->answer.failed ? error_set(ret_error, STATUS_NO_MEMORY, "no memory to answer")
                                  : STATUS_OK;
}

/* A put that goes: it was checked. */
static enum status stage_put(struct transaction *transaction,
                             struct open_request *request,
                             const struct put_document_request *put,
                             const struct document_entry *present,
                             struct error *ret_error)
{
    uint64_t version = transaction->counters.version;
    bool removes = put->content.size_bytes == 0;
    const struct document_record record = {
        /* a version is given once, and only to one document */
        .number = present == NULL ? version : present->record.number,
        .name = put->name,
        .content = put->content,
    };
    enum status status = prepare_answer(request, true, removes ? 0 : version, ret_error);

    if (status == STATUS_OK && removes) {
        transaction_remove_document(transaction, present);
    } else if (status == STATUS_OK) {
        transaction_put_document(transaction, &record);
    }
    return status;
}

enum status document_stage(struct catalog *catalog,
                           struct transaction *transaction,
                           struct open_request *request,
                           bool *ret_staged,
                           struct error *ret_error)
{
    struct put_document_request put;
    enum status status = put_document_request_decode(request->body, &catalog->scratch, &put,
                                                     ret_error);

    if (status == STATUS_OK) {
        status = check_shape(&put, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    const struct document_entry *present = document_map_get(&catalog->documents, put.name);
    uint64_t version = present == NULL ? 0 : present->record.changed_version;
    if (version != put.version) {
        status = prepare_answer(request, false, version, ret_error);
    } else {
        status = check_room(&catalog->documents, &put, present, ret_error);
    }
    if (status == STATUS_OK && version == put.version) {
        status = stage_put(transaction, request, &put, present, ret_error);
    }
    if (status == STATUS_OK) {
        *ret_staged = version == put.version;
    }
    return status;
}

void document_answer(struct catalog *catalog, struct open_request *request)
{
    uint64_t number = request->number;
    struct buffer message = request->answer;

    buffer_init(&request->answer);
    request_destroy(catalog, request);
    emit_reply(catalog, number, &message);
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
