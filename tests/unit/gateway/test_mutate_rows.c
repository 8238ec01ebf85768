/* MutateRows over a library and an RPC server made up, all on one thread. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "common/base/memory.h"
#include "data.pb-c.h"
#include "gateway/methods/call/table_call.h"
#include "gateway/methods/write/mutate_rows.h"

#define ENTRIES_MAX 4
#define NO_FAMILY \
    "Error while mutating the row 'r1' (p/i/T) : Requested column family not found: 'g'"

/* --- the library ------------------------------------------------------------------------------ */

static struct {
    struct open_table *table;
    struct waiting *waiting; /* to look at the table again */
    struct edubba_row_failure failures[ENTRIES_MAX];
    size_t failure_count;
    size_t submitted; /* how often */
    size_t forgotten;
    size_t opened;
    bool turns_micros; /* who opens the table anew finds it made anew, with finer times */
} fake;

struct open_table *tables_find(struct tables *tables, const char *name)
{
    (void)tables, (void)name;
    return fake.table;
}

enum edubba_code tables_open(struct tables *tables,
                             const char *name,
                             struct open_table **ret_table,
                             struct edubba_error *error)
{
    (void)tables, (void)name, (void)error;
    fake.opened++;
    fake.table->is_micros = fake.turns_micros;
    *ret_table = fake.table;
    return EDUBBA_OK;
}

void table_release(struct open_table *table)
{
    (void)table;
}

void tables_forget_table(struct tables *tables, const struct open_table *table)
{
    (void)tables, (void)table;
    fake.forgotten++;
}

bool waiters_add(struct waiters *waiters, struct waiting *waiting)
{
    (void)waiters;
    fake.waiting = waiting;
    return true;
}

enum edubba_code edubba_submit_rows(struct edubba_table *table,
                                    const struct edubba_entry *entries,
                                    size_t entry_count,
                                    uint32_t deadline_ms,
                                    edubba_rows_completion completion,
                                    void *context,
                                    struct edubba_error *error)
{
    const struct edubba_rows_result result = {
        .entry_count = entry_count,
        .failures = fake.failures,
        .failure_count = fake.failure_count,
    };
    (void)table, (void)entries, (void)deadline_ms, (void)error;
    fake.submitted++;
    completion(context, &result);
    return EDUBBA_OK;
}

/* --- the call --------------------------------------------------------------------------------- */

struct rpc_call {
    struct arena arena;
    uint64_t room_bytes; /* to be reserved */
    enum edubba_code code;
    size_t entry_count; /* that were told of */
    int32_t codes[ENTRIES_MAX];
    char texts[ENTRIES_MAX][256];
    char text[256]; /* of a call that failed */
};

struct arena *rpc_call_arena(struct rpc_call *call)
{
    return &call->arena;
}

bool rpc_call_reserve(struct rpc_call *call, uint64_t size_bytes)
{
    return size_bytes <= call->room_bytes;
}

uint64_t rpc_call_reserve_max(const struct rpc_call *call)
{
    return call->room_bytes;
}

uint32_t rpc_call_patience_ms(const struct rpc_call *call, uint32_t most_ms)
{
    (void)call;
    return most_ms;
}

struct bytes rpc_call_header(const struct rpc_call *call, const char *name)
{
    (void)call, (void)name;
    return BYTES_EMPTY;
}

void rpc_call_watch(struct rpc_call *call)
{
    (void)call;
}

void rpc_call_on_cancelled(struct rpc_call *call,
                           void (*on_cancelled)(void *context),
                           void *context)
{
    (void)call, (void)on_cancelled, (void)context;
}

bool rpc_call_is_cancelled(const struct rpc_call *call)
{
    (void)call;
    return false;
}

enum status rpc_send(struct rpc_call *call,
                     const ProtobufCMessage *message,
                     void (*on_sent)(void *context),
                     void *context)
{
    (void)call, (void)message, (void)on_sent, (void)context;
    cr_assert(false, "all outcomes fit one message");
    return STATUS_NO_MEMORY;
}

void rpc_answer(struct rpc_call *call, const ProtobufCMessage *message)
{
    const Google__Bigtable__V2__MutateRowsResponse
        *response = (const Google__Bigtable__V2__MutateRowsResponse *)message;
    for (size_t i = 0; i < response->n_entries; i++) {
        cr_assert_eq(response->entries[i]->index, (int64_t)i);
        call->codes[i] = response->entries[i]->status->code;
        (void)snprintf(call->texts[i], sizeof call->texts[i], "%s",
                       response->entries[i]->status->message);
    }
    call->entry_count = response->n_entries;
}

void rpc_finish(struct rpc_call *call, const struct rpc_status *status)
{
    call->code = status->code;
}

void rpc_finish_ok(struct rpc_call *call)
{
    (void)call;
}

void rpc_fail(struct rpc_call *call, enum edubba_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(call->text, sizeof call->text, format, arguments);
    va_end(arguments);
    call->code = code;
}

/* Two rows, good and that of the key: of each a cell, the second's of that time. */
static void run_with(struct rpc_call *call,
                     const char *family,
                     enum edubba_aggregate aggregate,
                     const char *key,
                     int64_t timestamp_us)
{
    static char table[] = "projects/p/instances/i/tables/T";
    static char name[] = "f";
    struct gateway gateway = {
        .home = {bytes_of_text("edubba"), bytes_of_text("edubba")},
        .deadline_max_ms = 1000,
    };
    const struct edubba_family known = {.name = family, .aggregate = aggregate};
    static uint8_t keys[2][8];
    Google__Bigtable__V2__Mutation__SetCell cell[2];
    Google__Bigtable__V2__Mutation mutation[2];
    Google__Bigtable__V2__Mutation *mutations[] = {&mutation[0], &mutation[1]};
    Google__Bigtable__V2__MutateRowsRequest__Entry entry[2];
    Google__Bigtable__V2__MutateRowsRequest__Entry *entries[] = {&entry[0], &entry[1]};
    Google__Bigtable__V2__MutateRowsRequest request;
    memcpy(keys[0], "good", 4);
    memcpy(keys[1], key, strlen(key));
    for (size_t i = 0; i < 2; i++) {
        google__bigtable__v2__mutation__set_cell__init(&cell[i]);
        google__bigtable__v2__mutation__init(&mutation[i]);
        google__bigtable__v2__mutate_rows_request__entry__init(&entry[i]);
        cell[i].family_name = name;
        cell[i].timestamp_micros = i == 0 ? 0 : timestamp_us;
        mutation[i].mutation_case = GOOGLE__BIGTABLE__V2__MUTATION__MUTATION_SET_CELL;
        mutation[i].set_cell = &cell[i];
        entry[i].row_key = (ProtobufCBinaryData){i == 0 ? 4 : strlen(key), keys[i]};
        entry[i].mutations = &mutations[i];
        entry[i].n_mutations = 1;
    }
    google__bigtable__v2__mutate_rows_request__init(&request);
    fake.submitted = 0;
    fake.forgotten = 0;
    fake.opened = 0;
    request.table_name = table;
    request.entries = entries;
    request.n_entries = 2;
    fake.table = memory_allocate_zeroed(1, sizeof *fake.table + 8);
    fake.table->asked_ns = INT64_MAX; /* it is as it is now, whoever asks */
    cr_assert_eq(family_types_init(&fake.table->families, &known, 1), STATUS_OK);
    arena_init(&call->arena, 4096, SIZE_MAX);
    gateway.questions = questions_create(NULL, &gateway, 1000);
    mutate_rows(&gateway, call, &request.base);
    if (fake.waiting != NULL) {
        fake.waiting->run(fake.waiting);
        fake.waiting = NULL;
    }
    questions_destroy(gateway.questions);
    arena_deinit(&call->arena);
    family_types_deinit(&fake.table->families);
    memory_free(fake.table);
}

static void run(struct rpc_call *call, const char *family, enum edubba_aggregate aggregate)
{
    run_with(call, family, aggregate, "other", 0);
}

Test(mutate_rows, each_entry_is_told_how_it_ended_and_why)
{
    struct rpc_call call = {.room_bytes = 4096};
    fake.failures[0] = (struct edubba_row_failure){1, EDUBBA_NOT_FOUND, NO_FAMILY};
    fake.failure_count = 1;
    run(&call, "f", EDUBBA_PLAIN);
    cr_assert_eq(call.entry_count, 2);
    cr_assert_eq(call.codes[0], EDUBBA_OK);
    cr_assert_eq(call.codes[1], EDUBBA_NOT_FOUND);
    cr_assert_not_null(strstr(call.texts[1], "'r1' (projects/p/instances/i/tables/T)"), "%s",
                       call.texts[1]);
    cr_assert_eq(fake.forgotten, 1, "the server knows that the family has gone");
}

/* The first entry is done, and would be done again if the call failed as a whole. */
Test(mutate_rows, without_room_for_reasons_each_entry_is_told_how_it_ended)
{
    struct rpc_call call = {.room_bytes = 16};
    fake.failures[0] = (struct edubba_row_failure){1, EDUBBA_NOT_FOUND, NO_FAMILY};
    fake.failure_count = 1;
    run(&call, "f", EDUBBA_PLAIN);
    cr_assert_eq(call.code, EDUBBA_OK, "the call does not fail");
    cr_assert_eq(call.entry_count, 2);
    cr_assert_eq(call.codes[0], EDUBBA_OK);
    cr_assert_eq(call.codes[1], EDUBBA_NOT_FOUND);
    cr_assert_str_eq(call.texts[1], "The gateway has no memory for the reason");
}

Test(mutate_rows, what_does_not_go_with_its_family_is_refused_with_room_or_without)
{
    struct rpc_call roomy = {.room_bytes = 65536};
    struct rpc_call full = {.room_bytes = 16};
    run(&roomy, "f", EDUBBA_INTSUM);
    run(&full, "f", EDUBBA_INTSUM);
    cr_assert_eq(roomy.entry_count, 2);
    cr_assert_eq(full.entry_count, 2);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(roomy.codes[i], EDUBBA_INVALID_ARGUMENT);
        cr_assert_not_null(strstr(roomy.texts[i], "Column family type mismatch"), "%s",
                           roomy.texts[i]);
        cr_assert_eq(full.codes[i], EDUBBA_INVALID_ARGUMENT);
    }
}

/* As was measured of Bigtable: the good entry fails, too, and nothing is written. */
Test(mutate_rows, a_family_that_is_not_there_fails_every_entry)
{
    struct rpc_call call = {.room_bytes = 65536};
    run(&call, "g", EDUBBA_PLAIN);
    cr_assert_eq(fake.submitted, 0);
    cr_assert_eq(call.code, EDUBBA_OK);
    cr_assert_eq(call.entry_count, 2);
    cr_assert_eq(call.codes[0], EDUBBA_NOT_FOUND);
    cr_assert_str_eq(call.texts[0], "Error while mutating the row 'good' "
                                    "(projects/p/instances/i/tables/T) : Requested column family "
                                    "not found: 'f'");
    cr_assert_eq(call.codes[1], EDUBBA_NOT_FOUND);
    cr_assert_not_null(strstr(call.texts[1], "'other'"), "%s", call.texts[1]);
}

/* So it was of a timestamp that the table has not, and of an empty key. */
Test(mutate_rows, an_entry_that_is_malformed_fails_the_call)
{
    struct rpc_call fine = {.room_bytes = 65536};
    struct rpc_call time = {.room_bytes = 65536};
    struct rpc_call key = {.room_bytes = 65536};
    fake.failure_count = 0;
    run_with(&fine, "f", EDUBBA_PLAIN, "other", EDUBBA_NOW);
    cr_assert_eq(fake.submitted, 1);
    cr_assert_eq(fine.entry_count, 2);

    run_with(&time, "f", EDUBBA_PLAIN, "other", 1234);
    cr_assert_eq(fake.submitted, 0);
    cr_assert_eq(time.code, EDUBBA_INVALID_ARGUMENT);
    cr_assert_eq(time.entry_count, 0);
    cr_assert_str_eq(time.text,
                     "Error in field 'Entry list' : Error in element #1 : Error in field "
                     "'Mutation list' : Error in element #0 : Timestamp granularity "
                     "mismatch. Expected a multiple of 1000 (millisecond granularity), "
                     "but got 1234.");

    run_with(&key, "f", EDUBBA_PLAIN, "", 0);
    cr_assert_eq(fake.submitted, 0);
    cr_assert_eq(key.code, EDUBBA_INVALID_ARGUMENT);
    cr_assert_str_eq(key.text,
                     "Error in field 'Entry list' : Error in element #1 : Row keys must be "
                     "non-empty");
}

/* Another gateway has deleted the table, and made it anew: no server is asked before the entries are checked. */
Test(mutate_rows, what_is_too_fine_for_the_table_is_looked_at_again_before_it_is_refused)
{
    struct rpc_call finer = {.room_bytes = 65536};
    struct rpc_call negative = {.room_bytes = 65536};
    fake.failure_count = 0;
    fake.turns_micros = true;
    run_with(&finer, "f", EDUBBA_PLAIN, "other", 1234);
    cr_assert_eq(finer.code, EDUBBA_OK, "%s", finer.text);
    cr_assert_eq(finer.entry_count, 2);
    cr_assert_eq(fake.submitted, 1);
    cr_assert_eq(fake.opened, 1);

    run_with(&negative, "f", EDUBBA_PLAIN, "other", -1234);
    cr_assert_eq(negative.code, EDUBBA_INVALID_ARGUMENT);
    cr_assert_eq(fake.opened, 0, "no table takes such a time");
    fake.turns_micros = false;
}
