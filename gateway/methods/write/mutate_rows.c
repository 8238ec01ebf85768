/*
 * MutateRows: many rows changed, each with an outcome of its own.
 *
 * All entries go to libedubba in one call and are completed together; then their outcomes are told,
 * in one message or, where they are many, in several at the pace of the reader.
 *
 *   an entry is malformed (no mutations, an empty key, a    the call fails; nothing is sent
 *   timestamp or an input that cannot be)
 *   a mutation does not go with its family's type, or       every entry fails, each naming its own
 *   there is no such family                                 row; nothing is sent
 *   a server refuses an entry                               that entry fails
 *
 * So does Bigtable, as was measured.  For the second, and for inputs, families must be known, and for timestamps how
 * fine the table's are.  They are, as of when the table was opened; before anything is refused for them, or where one
 * is not known, the table is opened anew, once.
 */
#include "gateway/methods/write/mutate_rows.h"

#include <stdio.h>
#include <string.h>

#include "common/base/limits.h"
#include "gateway/convert/convert.h"
#include "gateway/core/family_check.h"
#include "gateway/methods/call/table_call.h"
#include "gateway/methods/write/entry_check.h"
#include "gateway/methods/write/entry_message.h"

#define SCRATCH_BLOCK_BYTES (64 * 1024)
#define ENTRY_LIST          "Entry list"
#define REFUSAL             "Error while mutating the row '%s' (%s) : %s"
#define TYPE_MISMATCH       "Column family type mismatch"
#define NO_FAMILY           "Requested column family not found: '%s'"
#define NO_REASON           "The gateway has no memory for the reason"
#define NO_MEMORY           "No memory to tell the outcomes: what was asked may be done; try again"

typedef Google__Bigtable__V2__MutateRowsRequest Request;
typedef Google__Bigtable__V2__MutateRowsResponse Response;
typedef Google__Bigtable__V2__MutateRowsRequest__Entry Entry;

struct mutating {
    struct table_call on; /* first */
    const Request *request;
    struct entry_outcomes outcomes;
};

/* --- telling ---------------------------------------------------------------------------------- */

static void fail(struct mutating *mutating, enum edubba_code code, const char *text)
{
    struct rpc_call *call = mutating->on.call;
    entry_outcomes_deinit(&mutating->outcomes);
    rpc_fail(call, code, "%s", text);
}

/* Send the next message of the answer.  Called again each time that one was sent. */
static void tell(void *context)
{
    struct mutating *mutating = context;
    Response response;
    bool is_last = false;
    if (rpc_call_is_cancelled(mutating->on.call)) {
        fail(mutating, EDUBBA_CANCELLED, "The caller is gone");
    } else if (entry_outcomes_next(&mutating->outcomes, &response, &is_last) != STATUS_OK) {
        fail(mutating, EDUBBA_UNAVAILABLE, NO_MEMORY);
    } else if (is_last) { /* the outcomes lie in the call's arena, what they hold does not */
        struct entry_outcomes outcomes = mutating->outcomes;
        rpc_answer(mutating->on.call, &response.base);
        entry_outcomes_deinit(&outcomes);
    } else if (rpc_send(mutating->on.call, &response.base, tell, mutating) != STATUS_OK) {
        fail(mutating, EDUBBA_UNAVAILABLE, NO_MEMORY);
    }
}

/* Where there is no room for reasons, codes are told without: a call that failed as a whole would be made
 * again with all its entries, those that are done too. */
static enum status keep_failures(struct mutating *mutating, const struct edubba_rows_result *result)
{
    char text[SERVER_TEXT_SIZE_MAX];
    size_t size = result->failure_count * sizeof(struct entry_failure);
    for (size_t i = 0; i < result->failure_count; i++) {
        size += strlen(result->failures[i].text) + 1;
    }
    bool has_room = rpc_call_reserve(mutating->on.call, size);
    enum status status = entry_outcomes_reserve(&mutating->outcomes, result->failure_count);
    for (size_t i = 0; i < result->failure_count && status == STATUS_OK; i++) {
        const struct edubba_row_failure *failure = &result->failures[i];
        enum edubba_code code = table_call_translate(&mutating->on, failure->code, failure->text,
                                                     text);
        status = entry_outcomes_add(&mutating->outcomes, failure->entry, code,
                                    has_room ? text : NO_REASON);
    }
    return status;
}

/* Is the table not there, so that nothing was applied?  If it went away meanwhile, entries before it
 * did were, and it is the outcome of the others. */
static bool is_without_table(const struct edubba_rows_result *result)
{
    for (size_t i = 0; i < result->failure_count; i++) {
        if (!server_text_is_of_table(result->failures[i].code, result->failures[i].text)) {
            return false;
        }
    }
    return result->failure_count == result->entry_count;
}

/* A server that knows a family otherwise than we do, or not at all, has a newer schema. */
static void forget_old_families(struct mutating *mutating, const struct edubba_rows_result *result)
{
    for (size_t i = 0; i < result->failure_count; i++) {
        if (server_text_is_of_family(result->failures[i].code, result->failures[i].text)) {
            tables_forget_table(mutating->on.gateway->tables, mutating->on.table);
            return;
        }
    }
}

static void on_completion(void *context, const struct edubba_rows_result *result)
{
    struct mutating *mutating = context;
    if (is_without_table(result)) {
        table_call_fail(&mutating->on, result->failures[0].code, result->failures[0].text);
        return;
    }
    entry_outcomes_init(&mutating->outcomes, result->entry_count);
    enum status status = keep_failures(mutating, result);
    forget_old_families(mutating, result);
    table_call_end(&mutating->on);
    if (status == STATUS_OK) {
        tell(mutating);
    } else {
        fail(mutating, EDUBBA_UNAVAILABLE, NO_MEMORY);
    }
}

/* --- families --------------------------------------------------------------------------------- */

/* The worst verdict on a family, and which mutation of which entry names that family. */
struct finding {
    enum family_verdict verdict;
    size_t entry;
    size_t mutation;
};

static struct finding check_families(const struct mutating *mutating,
                                     const struct edubba_entry *entries)
{
    struct finding worst = {FAMILY_FITS, 0, 0};
    for (size_t i = 0; i < mutating->request->n_entries; i++) {
        size_t mutation = 0;
        enum family_verdict verdict = family_check(
            &mutating->on.table->families, entries[i].mutations, entries[i].count, &mutation);
        if (verdict > worst.verdict) {
            worst = (struct finding){verdict, i, mutation};
        }
    }
    return worst;
}

/* What every entry is refused with. */
struct refusal {
    enum edubba_code code;
    char reason[sizeof NO_FAMILY + BYTES_PRINTABLE_SIZE_MAX];
};

static struct refusal make_refusal(const struct finding *finding,
                                   const struct edubba_entry *entries)
{
    struct refusal refusal = {EDUBBA_INVALID_ARGUMENT, TYPE_MISMATCH};
    char name[BYTES_PRINTABLE_SIZE_MAX];
    if (finding->verdict == FAMILY_IS_UNKNOWN) {
        struct edubba_bytes family = entries[finding->entry].mutations[finding->mutation].family;
        refusal.code = EDUBBA_NOT_FOUND;
        (void)snprintf(refusal.reason, sizeof refusal.reason, NO_FAMILY,
                       bytes_printable(bytes_of(family.data, family.size), name));
    }
    return refusal;
}

static enum status keep_refusals(struct mutating *mutating, const struct refusal *refusal)
{
    const Request *request = mutating->request;
    char row[BYTES_PRINTABLE_SIZE_MAX];
    char text[SERVER_TEXT_SIZE_MAX];
    size_t size = request->n_entries *
                  (sizeof(struct entry_failure) + sizeof row + strlen(mutating->on.full_name) +
                   sizeof REFUSAL + strlen(refusal->reason));
    bool has_room = rpc_call_reserve(mutating->on.call, size);
    enum status status = entry_outcomes_reserve(&mutating->outcomes, request->n_entries);
    for (size_t i = 0; i < request->n_entries && status == STATUS_OK; i++) {
        const ProtobufCBinaryData *key = &request->entries[i]->row_key;
        (void)snprintf(text, sizeof text, REFUSAL,
                       bytes_printable(bytes_of(key->data, key->len), row), mutating->on.full_name,
                       refusal->reason);
        status = entry_outcomes_add(&mutating->outcomes, i, refusal->code,
                                    has_room ? text : NO_REASON);
    }
    return status;
}

static void refuse_all(struct mutating *mutating, const struct refusal *refusal)
{
    entry_outcomes_init(&mutating->outcomes, mutating->request->n_entries);
    enum status status = keep_refusals(mutating, refusal);
    table_call_end(&mutating->on);
    if (status == STATUS_OK) {
        tell(mutating);
    } else {
        fail(mutating, EDUBBA_UNAVAILABLE, NO_MEMORY);
    }
}

/* False: the entries are not to be sent, and the call has been ended, or runs again. */
static bool may_send(struct mutating *mutating, const struct edubba_entry *entries)
{
    char text[ERROR_TEXT_SIZE_MAX];
    struct finding finding = check_families(mutating, entries);
    if (finding.verdict == FAMILY_FITS) {
        return true;
    }
    if (table_call_look_again(&mutating->on)) {
        return false;
    }
    if (finding.verdict == FAMILY_IS_UNKNOWN || finding.verdict == FAMILY_IS_OTHER_TYPE) {
        struct refusal refusal = make_refusal(&finding, entries);
        refuse_all(mutating, &refusal);
        return false;
    }
    (void)snprintf(text, sizeof text,
                   "Error in field '" ENTRY_LIST "' : Error in element #%zu : Error in field "
                   "'" API_MUTATION_LIST "' : Error in element #%zu : Error in field 'input' : "
                   "must use `%s`",
                   finding.entry, finding.mutation,
                   finding.verdict == FAMILY_ADDS_BYTES ? "bytes_value" : "int_value");
    table_call_refuse(&mutating->on, STATUS_INVALID_ARGUMENT, text);
    return false;
}

/* --- asking ----------------------------------------------------------------------------------- */

static enum status check_counts(const Request *request, struct error *ret_error)
{
    size_t mutations = 0;
    if (request->n_entries == 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "No mutations provided");
    }
    for (size_t i = 0; i < request->n_entries; i++) {
        if (request->entries[i]->n_mutations == 0) {
            return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                             "Error in field '" ENTRY_LIST "' : Error in element #%zu : No "
                             "mutations provided",
                             i);
        }
        mutations += request->entries[i]->n_mutations;
    }
    return api_check_count(mutations, NULL, ret_error);
}

static enum status convert_entry(const Entry *in,
                                 bool is_micros,
                                 struct arena *scratch,
                                 struct edubba_entry *ret_entry,
                                 struct error *ret_error)
{
    struct edubba_mutation *mutations = NULL;
    const struct edubba_identity *identity = NULL;
    enum status status = api_convert_idempotency(in->idempotency, &in->row_key, scratch, &identity,
                                                 ret_error);
    if (status == STATUS_OK) {
        status = api_convert_mutations(in->mutations, in->n_mutations, API_MUTATION_LIST, is_micros,
                                       scratch, &mutations, ret_error);
    }
    if (status == STATUS_OK) {
        *ret_entry = (struct edubba_entry){api_bytes(in->row_key), mutations, in->n_mutations,
                                           identity};
        status = entry_check(ret_entry, is_micros, ret_error);
    }
    return status;
}

static enum status convert_entries(const Request *request,
                                   bool is_micros,
                                   struct arena *scratch,
                                   struct edubba_entry **ret_entries,
                                   struct error *ret_error)
{
    enum status status = check_counts(request, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct edubba_entry *entries = arena_allocate_array(scratch, request->n_entries,
                                                        sizeof *entries);
    if (entries == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < request->n_entries; i++) {
        struct error reason = {.status = STATUS_OK};
        status = convert_entry(request->entries[i], is_micros, scratch, &entries[i], &reason);
        if (status != STATUS_OK) {
            return error_set(ret_error, status,
                             "Error in field '" ENTRY_LIST "' : Error in element #%zu : %s", i,
                             reason.text);
        }
    }
    *ret_entries = entries;
    return STATUS_OK;
}

/* Are they refused only for times that are finer than the table's?  It may have been made anew since it was
 * opened, of another granularity, and no server would be asked whether it has. */
static bool is_too_fine(const struct mutating *mutating, struct arena *scratch)
{
    struct edubba_entry *entries = NULL;
    struct error reason = {.status = STATUS_OK};
    return !mutating->on.table->is_micros &&
           convert_entries(mutating->request, true, scratch, &entries, &reason) == STATUS_OK;
}

/* They are malformed, or there is no memory for them. */
static void refuse(struct mutating *mutating,
                   enum status status,
                   const char *text,
                   struct arena *scratch)
{
    bool looks = status == STATUS_INVALID_ARGUMENT && is_too_fine(mutating, scratch);
    if (!looks || !table_call_look_again(&mutating->on)) {
        table_call_refuse(&mutating->on, status, text);
    }
}

/* Submit them; true: on_completion ends the call, or has done so. */
static bool submit(struct mutating *mutating,
                   const struct edubba_entry *entries,
                   struct edubba_error *ret_refusal)
{
    struct table_call *on = &mutating->on;
    return edubba_submit_rows(on->table->handle, entries, mutating->request->n_entries,
                              table_call_patience_ms(on), on_completion, mutating,
                              ret_refusal) == EDUBBA_OK;
}

/* May run twice: again with the table opened anew, where a server did not know it (table_call.h). */
static void run(struct table_call *on)
{
    struct mutating *mutating = (struct mutating *)on;
    struct edubba_entry *entries = NULL;
    struct error error = {.status = STATUS_OK};
    struct edubba_error refusal = {0};
    struct arena scratch;
    arena_init(&scratch, SCRATCH_BLOCK_BYTES, SIZE_MAX); /* bounded by the request's size */
    enum status status = convert_entries(mutating->request, on->table->is_micros, &scratch,
                                         &entries, &error);
    if (status != STATUS_OK) {
        refuse(mutating, status, error.text, &scratch);
    } else if (may_send(mutating, entries) && !submit(mutating, entries, &refusal)) {
        table_call_fail(on, refusal.code, refusal.text);
    }
    arena_deinit(&scratch);
}

void mutate_rows(void *gateway, struct rpc_call *call, const ProtobufCMessage *message)
{
    const Request *request = (const Request *)message;
    const struct table_place place = {request->table_name, request->authorized_view_name, NULL,
                                      request->app_profile_id};
    struct mutating *mutating = table_call_allocate(gateway, call, sizeof *mutating);
    if (mutating != NULL) {
        mutating->request = request;
        rpc_call_watch(call); /* tell() asks */
        table_call_start(&mutating->on, &place, run);
    }
}
