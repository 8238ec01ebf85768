#include "gateway/methods/write/entry_message.h"

#include <string.h>

#include "common/base/assert.h"

#define ARENA_BLOCK_BYTES (64 * 1024)

typedef Google__Bigtable__V2__MutateRowsResponse Response;
typedef Google__Bigtable__V2__MutateRowsResponse__Entry Entry;
typedef Google__Rpc__Status Status;

void entry_outcomes_init(struct entry_outcomes *outcomes, size_t entry_count)
{
    *outcomes = (struct entry_outcomes){.entry_count = entry_count};
    arena_init(&outcomes->arena, ARENA_BLOCK_BYTES, SIZE_MAX); /* bounded by the entries */
    arena_init(&outcomes->message, ARENA_BLOCK_BYTES, SIZE_MAX);
}

void entry_outcomes_deinit(struct entry_outcomes *outcomes)
{
    arena_deinit(&outcomes->arena);
    arena_deinit(&outcomes->message);
}

/* --- failures --------------------------------------------------------------------------------- */

enum status entry_outcomes_reserve(struct entry_outcomes *outcomes, size_t failure_count)
{
    outcomes->failures = arena_allocate_array(&outcomes->arena, failure_count,
                                              sizeof *outcomes->failures);
    return outcomes->failures != NULL ? STATUS_OK : STATUS_NO_MEMORY;
}

enum status entry_outcomes_add(struct entry_outcomes *outcomes,
                               size_t entry,
                               enum edubba_code code,
                               const char *text)
{
    struct entry_failure *failures = outcomes->failures;
    size_t count = outcomes->failure_count;
    ASSERT(entry < outcomes->entry_count);
    ASSERT(count == 0 || failures[count - 1].entry < entry);
    /* Many fail for one reason. */
    const char *kept = count > 0 && strcmp(failures[count - 1].text, text) == 0
                           ? failures[count - 1].text
                           : arena_copy_text(&outcomes->arena, bytes_of_text(text));
    if (kept == NULL) {
        return STATUS_NO_MEMORY;
    }
    failures[count] = (struct entry_failure){entry, code, kept};
    outcomes->failure_count++;
    return STATUS_OK;
}

/* --- messages --------------------------------------------------------------------------------- */

static Status *make_status(struct entry_outcomes *outcomes, const struct entry_failure *failure)
{
    union {
        const char *in;
        char *out; /* packing only reads it */
    } text = {.in = failure->text};
    Status *status = arena_allocate(&outcomes->message, sizeof *status);
    if (status != NULL) {
        google__rpc__status__init(status);
        status->code = (int32_t)failure->code;
        status->message = text.out;
    }
    return status;
}

/* The failure of the next entry, NULL if it went well. */
static const struct entry_failure *take_failure(struct entry_outcomes *outcomes)
{
    if (outcomes->next_failure == outcomes->failure_count ||
        outcomes->failures[outcomes->next_failure].entry != outcomes->next_entry) {
        return NULL;
    }
    outcomes->next_failure++;
    return &outcomes->failures[outcomes->next_failure - 1];
}

enum status entry_outcomes_next(struct entry_outcomes *outcomes,
                                Response *ret_response,
                                bool *ret_is_last)
{
    size_t left = outcomes->entry_count - outcomes->next_entry;
    size_t count_max = left < ENTRY_MESSAGE_ENTRIES_MAX ? left : ENTRY_MESSAGE_ENTRIES_MAX;
    size_t count = 0;
    size_t text_bytes = 0;
    arena_reset(&outcomes->message);
    Entry *entries = arena_allocate_array(&outcomes->message, count_max, sizeof *entries);
    Entry **list = arena_allocate_array(&outcomes->message, count_max, sizeof(Entry *));
    Status *success = arena_allocate(&outcomes->message, sizeof *success);
    if (entries == NULL || list == NULL || success == NULL) {
        return STATUS_NO_MEMORY;
    }
    google__rpc__status__init(success);
    while (count < count_max && text_bytes < ENTRY_MESSAGE_BYTES) {
        Entry *entry = &entries[count];
        const struct entry_failure *failure = take_failure(outcomes);
        google__bigtable__v2__mutate_rows_response__entry__init(entry);
        entry->index = (int64_t)outcomes->next_entry;
        entry->status = failure != NULL ? make_status(outcomes, failure) : success;
        if (entry->status == NULL) {
            return STATUS_NO_MEMORY;
        }
        text_bytes += failure != NULL ? strlen(failure->text) : 0;
        list[count] = entry;
        count++;
        outcomes->next_entry++;
    }
    google__bigtable__v2__mutate_rows_response__init(ret_response);
    ret_response->entries = list;
    ret_response->n_entries = count;
    *ret_is_last = outcomes->next_entry == outcomes->entry_count;
    return STATUS_OK;
}
