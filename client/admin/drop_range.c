/*
 * Dropping a range of rows: one operation to every tablet that overlaps it.
 *
 * A tablet may split between being listed and being reached; then only the child that holds the
 * named row is dropped from.  So tablets are listed again afterwards: whichever does not hold a row
 * that was named before is named now, until a list brings nothing new.
 */
#include "client/admin/tablets.h"
#include "client/operations/convert.h"
#include "client/operations/submission.h"
#include "client/routing/table.h"
#include "common/base/memory.h"

#define ARENA_BLOCK_BYTES 4096
#define ROUNDS_MAX        1000 /* splits faster than drops: give up rather than go on for ever */

struct drop {
    struct edubba_table *table;
    struct row_range range;
    struct arena arena;  /* of the rows named */
    struct bytes *named; /* ascending */
    size_t named_count;
    size_t named_capacity;
    pthread_mutex_t lock;
    pthread_cond_t done;
    size_t left; /* operations on their way */
    struct error error;
};

static void on_completion(void *context, const struct edubba_result *result)
{
    struct drop *drop = context;
    pthread_mutex_lock(&drop->lock);
    if (result->code != EDUBBA_OK && drop->error.status == STATUS_OK) {
        (void)error_set(&drop->error, (enum status)result->code, "%s", result->text);
    }
    drop->left--;
    if (drop->left == 0) {
        pthread_cond_signal(&drop->done);
    }
    pthread_mutex_unlock(&drop->lock);
}

/* How many named rows are before row. */
static size_t named_before(const struct drop *drop, struct bytes row)
{
    size_t low = 0;
    size_t high = drop->named_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bytes_compare(drop->named[middle], row) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static enum status name_row(struct drop *drop, struct bytes row, struct error *ret_error)
{
    size_t at = named_before(drop, row);
    if (drop->named_count == drop->named_capacity) {
        size_t capacity = drop->named_capacity == 0 ? 64 : 2 * drop->named_capacity;
        struct bytes *named = memory_resize(drop->named, capacity * sizeof *named);
        if (named == NULL) {
            return client_status_no_memory(ret_error);
        }
        drop->named = named;
        drop->named_capacity = capacity;
    }
    struct bytes copy = arena_copy(&drop->arena, row);
    if (copy.data == NULL) {
        return client_status_no_memory(ret_error);
    }
    memmove(&drop->named[at + 1], &drop->named[at], (drop->named_count - at) * sizeof copy);
    drop->named[at] = copy;
    drop->named_count++;
    return STATUS_OK;
}

/* Drop from one tablet, unless a row of it was named before. */
static enum status drop_from(struct drop *drop,
                             const struct location *tablet,
                             struct error *ret_error)
{
    struct edubba_client *client = drop->table->client;
    struct row_range part;
    if (!row_range_intersect(&tablet->range, &drop->range, &part)) {
        return STATUS_OK;
    }
    size_t at = named_before(drop, part.start);
    if (at < drop->named_count && row_range_contains(&part, drop->named[at])) {
        return STATUS_OK;
    }
    enum status status = name_row(drop, part.start, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct operation operation = {
        .kind = OPERATION_DROP_RANGE,
        .table = drop->table->number,
        .row = part.start,
        .range = drop->range,
    };
    pthread_mutex_lock(&drop->lock);
    drop->left++;
    pthread_mutex_unlock(&drop->lock);
    status = submission_start(client, &operation, NULL, client_blocking_deadline_ms(client),
                              on_completion, drop, ret_error);
    if (status != STATUS_OK) {
        pthread_mutex_lock(&drop->lock);
        drop->left--;
        pthread_mutex_unlock(&drop->lock);
    }
    return status;
}

static void wait_for_all(struct drop *drop)
{
    pthread_mutex_lock(&drop->lock);
    while (drop->left > 0) {
        pthread_cond_wait(&drop->done, &drop->lock);
    }
    pthread_mutex_unlock(&drop->lock);
}

static enum status drop_listed(struct drop *drop,
                               const struct tablet_list *list,
                               struct error *ret_error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < list->count && status == STATUS_OK; i++) {
        status = drop_from(drop, &list->tablets[i].location, ret_error);
    }
    wait_for_all(drop);
    if (status == STATUS_OK && drop->error.status != STATUS_OK) {
        *ret_error = drop->error;
        status = drop->error.status;
    }
    return status;
}

static enum status run(struct drop *drop, struct error *ret_error)
{
    struct locate_request locate = {.table = drop->table->number};
    struct tablet_list list;
    size_t named = 0;
    int rounds = 0;
    enum status status = STATUS_OK;

    tablet_list_init(&list);
    do {
        named = drop->named_count;
        status = tablet_list_fetch(&list, drop->table->client, &locate, &drop->range, ret_error);
        if (status == STATUS_OK) {
            status = drop_listed(drop, &list, ret_error);
        }
        if (rounds++ == ROUNDS_MAX) {
            status = error_set(ret_error, STATUS_ABORTED, "the table splits faster than it drops");
        }
    } while (status == STATUS_OK && drop->named_count > named);
    tablet_list_deinit(&list);
    return status;
}

static enum edubba_code drop_rows(struct edubba_table *table,
                                  const struct row_range *range,
                                  struct edubba_error *error)
{
    struct drop drop = {.table = table, .range = *range};
    struct error trouble = {0};
    if (client_check_may_block(table->client, error) != EDUBBA_OK) {
        return EDUBBA_FAILED_PRECONDITION;
    }
    arena_init(&drop.arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    pthread_mutex_init(&drop.lock, NULL);
    pthread_cond_init(&drop.done, NULL);
    enum status status = run(&drop, &trouble);
    pthread_cond_destroy(&drop.done);
    pthread_mutex_destroy(&drop.lock);
    arena_deinit(&drop.arena);
    memory_free(drop.named);
    return status == STATUS_OK ? client_success(error) : client_error_of(error, &trouble);
}

enum edubba_code edubba_drop_row_range(struct edubba_table *table,
                                       struct edubba_bytes start,
                                       struct edubba_bytes end,
                                       struct edubba_error *error)
{
    struct row_range range = {client_bytes(start), client_bytes(end)};
    if (end.size > 0 && bytes_compare(range.start, range.end) > 0) {
        return client_error(error, STATUS_INVALID_ARGUMENT,
                            "the range's start lies behind its end");
    }
    if (end.size > 0 && bytes_equal(range.start, range.end)) {
        return client_success(error); /* holds no row */
    }
    return drop_rows(table, &range, error);
}

enum edubba_code edubba_drop_prefix(struct edubba_table *table,
                                    struct edubba_bytes prefix,
                                    struct edubba_error *error)
{
    struct row_range range;
    struct arena arena;
    if (prefix.size == 0 || prefix.size > LIMIT_ROW_KEY_BYTES) {
        return client_error(error, STATUS_INVALID_ARGUMENT,
                            "a row key prefix has 1 to %d bytes, not %zu", LIMIT_ROW_KEY_BYTES,
                            prefix.size);
    }
    arena_init(&arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    enum edubba_code code = row_range_of_prefix(&arena, client_bytes(prefix), &range) == STATUS_OK
                                ? drop_rows(table, &range, error)
                                : client_no_memory(error);
    arena_deinit(&arena);
    return code;
}
