/*
 * Dropping a range of rows: one operation to every tablet that overlaps it.
 *
 * A tablet may split between being listed and being reached; then only the child that holds the
 * named row is dropped from.  So tablets are listed again afterwards, until a list brings none that
 * was not listed before: what comes of a split or of a merge is another tablet.
 */
#include "client/admin/tablets.h"
#include "client/include/edubba_gather.h"
#include "client/operations/convert.h"
#include "client/operations/submission.h"
#include "client/routing/table.h"
#include "common/base/memory.h"

#define ARENA_BLOCK_BYTES 4096
#define BOUND_BYTES_MAX   (LIMIT_ROW_KEY_BYTES + 1) /* the least key behind the longest */
#define ROUNDS_MAX        1000 /* splits faster than drops: give up rather than go on for ever */

struct drop {
    struct edubba_table *table;
    struct row_range range;
    uint64_t *listed; /* numbers of tablets, ascending */
    size_t listed_count;
    size_t listed_capacity;
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

/* How many of the tablets listed have lower numbers. */
static size_t listed_below(const struct drop *drop, uint64_t tablet)
{
    size_t low = 0;
    size_t high = drop->listed_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (drop->listed[middle] < tablet) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* *ret_is_new: it was not listed before. */
static enum status note_tablet(struct drop *drop,
                               uint64_t tablet,
                               bool *ret_is_new,
                               struct error *ret_error)
{
    size_t at = listed_below(drop, tablet);
    *ret_is_new = at == drop->listed_count || drop->listed[at] != tablet;
    if (!*ret_is_new) {
        return STATUS_OK;
    }
    if (drop->listed_count == drop->listed_capacity) {
        size_t capacity = drop->listed_capacity == 0 ? 64 : 2 * drop->listed_capacity;
        uint64_t *listed = memory_resize(drop->listed, capacity * sizeof *listed);
        if (listed == NULL) {
            return client_status_no_memory(ret_error);
        }
        drop->listed = listed;
        drop->listed_capacity = capacity;
    }
    memmove(&drop->listed[at + 1], &drop->listed[at],
            (drop->listed_count - at) * sizeof *drop->listed);
    drop->listed[at] = tablet;
    drop->listed_count++;
    return STATUS_OK;
}

/* Drop from one tablet, unless it was listed before. */
static enum status drop_from(struct drop *drop,
                             const struct location *tablet,
                             struct error *ret_error)
{
    struct edubba_client *client = drop->table->client;
    struct row_range part;
    if (!row_range_intersect(&tablet->range, &drop->range, &part)) {
        return STATUS_OK;
    }
    bool is_new = false;
    enum status status = note_tablet(drop, tablet->tablet, &is_new, ret_error);
    if (status != STATUS_OK || !is_new) {
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
    edubba_client_go(drop->table->client); /* where this thread gathers */
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
    size_t listed = 0;
    int rounds = 0;
    enum status status = STATUS_OK;

    tablet_list_init(&list);
    do {
        listed = drop->listed_count;
        status = tablet_list_fetch(&list, drop->table->client, &locate, &drop->range, ret_error);
        if (status == STATUS_OK) {
            status = drop_listed(drop, &list, ret_error);
        }
        if (rounds++ == ROUNDS_MAX) {
            status = error_set(ret_error, STATUS_ABORTED, "the table splits faster than it drops");
        }
    } while (status == STATUS_OK && drop->listed_count > listed);
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
    pthread_mutex_init(&drop.lock, NULL);
    pthread_cond_init(&drop.done, NULL);
    enum status status = run(&drop, &trouble);
    pthread_cond_destroy(&drop.done);
    pthread_mutex_destroy(&drop.lock);
    memory_free(drop.listed);
    return status == STATUS_OK ? client_success(error) : client_error_of(error, &trouble);
}

enum edubba_code edubba_drop_all_rows(struct edubba_table *table, struct edubba_error *error)
{
    const struct row_range all = {BYTES_EMPTY, BYTES_EMPTY};
    return drop_rows(table, &all, error);
}

enum edubba_code edubba_drop_row_range(struct edubba_table *table,
                                       struct edubba_bytes start,
                                       struct edubba_bytes end,
                                       struct edubba_error *error)
{
    struct row_range range = {client_bytes(start), client_bytes(end)};
    size_t longest = start.size > end.size ? start.size : end.size;
    if (longest > BOUND_BYTES_MAX) {
        return client_error(error, STATUS_INVALID_ARGUMENT,
                            "a bound of the range is %zu bytes, the limit is %d", longest,
                            BOUND_BYTES_MAX);
    }
    if (longest == 0) {
        return client_error(
            error, STATUS_INVALID_ARGUMENT,
            "a range without bounds is all rows: edubba_drop_all_rows() drops them");
    }
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
