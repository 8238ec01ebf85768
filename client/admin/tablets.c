#include "client/admin/tablets.h"

#include "client/loop/block.h"
#include "client/routing/table.h"
#include "common/base/memory.h"

#define ARENA_BLOCK_BYTES 16384
#define LOCATE_COUNT      1000

void tablet_list_init(struct tablet_list *list)
{
    *list = (struct tablet_list){0};
    arena_init(&list->arena, ARENA_BLOCK_BYTES, SIZE_MAX);
}

void tablet_list_deinit(struct tablet_list *list)
{
    memory_free(list->tablets);
    arena_deinit(&list->arena);
    list->tablets = NULL;
    list->count = 0;
}

/* False without memory. */
static bool copy_bytes(struct arena *arena, struct bytes *bytes)
{
    *bytes = arena_copy(arena, *bytes);
    return bytes->data != NULL;
}

static enum status copy_location(struct arena *arena,
                                 const struct location *from,
                                 struct location *ret_copy)
{
    struct location copy = *from;
    copy.others = NULL; /* they are for who routes */
    copy.other_count = 0;
    if (!copy_bytes(arena, &copy.range.start) || !copy_bytes(arena, &copy.range.end) ||
        !copy_bytes(arena, &copy.address)) {
        return STATUS_NO_MEMORY;
    }
    *ret_copy = copy;
    return STATUS_OK;
}

static enum status copy_replicas(struct arena *arena,
                                 const struct located_replicas *from,
                                 struct located_replicas *ret_copy)
{
    struct located_replicas copy = *from;
    struct located_replica *replicas = arena_allocate_array(arena, from->replica_count,
                                                            sizeof *replicas);
    bool copied = replicas != NULL && copy_bytes(arena, &copy.row);
    for (size_t i = 0; copied && i < from->replica_count; i++) {
        replicas[i] = from->replicas[i];
        copied = copy_bytes(arena, &replicas[i].address);
    }
    copy.replicas = replicas;
    *ret_copy = copy;
    return copied ? STATUS_OK : STATUS_NO_MEMORY;
}

/* replicas NULL = not told. */
static enum status add(struct tablet_list *list,
                       const struct location *location,
                       const struct located_replicas *replicas)
{
    struct listed_tablet *tablets = list->tablets;
    if ((list->count & (list->count - 1)) == 0) { /* full at every power of two, and at none */
        size_t capacity = list->count == 0 ? 1 : 2 * list->count;
        tablets = memory_resize(tablets, capacity * sizeof *tablets);
        if (tablets == NULL) {
            return STATUS_NO_MEMORY;
        }
        list->tablets = tablets;
    }
    struct listed_tablet copy = {.has_replicas = replicas != NULL};
    enum status status = copy_location(&list->arena, location, &copy.location);
    if (status == STATUS_OK && replicas != NULL) {
        status = copy_replicas(&list->arena, replicas, &copy.replicas);
    }
    if (status == STATUS_OK) {
        tablets[list->count++] = copy;
    }
    return status;
}

static bool reaches(struct bytes end, struct bytes wanted)
{
    return end.size_bytes == 0 || (wanted.size_bytes > 0 && bytes_compare(end, wanted) >= 0);
}

/* Add one answer's tablets; *ret_row: where the next one begins; *ret_done: the range is covered. */
static enum status add_page(struct tablet_list *list,
                            const struct locate_response *response,
                            const struct row_range *range,
                            struct bytes *ret_row,
                            bool *ret_done,
                            struct error *ret_error)
{
    *ret_done = false;
    for (size_t i = 0; i < response->location_count && !*ret_done; i++) {
        const struct location *location = &response->locations[i];
        if (!row_range_contains(&location->range, *ret_row)) {
            return error_set(ret_error, STATUS_UNAVAILABLE,
                             "the table's tablets are not known yet");
        }
        const struct located_replicas *replicas = i < response->replicas_count
                                                      ? &response->replicas[i]
                                                      : NULL;
        if (add(list, location, replicas) != STATUS_OK) {
            return client_status_no_memory(ret_error);
        }
        *ret_row = list->tablets[list->count - 1].location.range.end;
        *ret_done = reaches(*ret_row, range->end);
    }
    if (response->location_count == 0) {
        return error_set(ret_error, STATUS_UNAVAILABLE, "the table's tablets are not known yet");
    }
    return STATUS_OK;
}

enum status tablet_list_fetch(struct tablet_list *list,
                              struct edubba_client *client,
                              const struct locate_request *table,
                              const struct row_range *range,
                              struct error *ret_error)
{
    struct bytes row = range->start;
    enum status status = STATUS_OK;
    bool done = false;

    tablet_list_deinit(list);
    tablet_list_init(list);
    while (status == STATUS_OK && !done) {
        struct locate_request locate = *table;
        struct locate_response response;
        struct buffer answer = BUFFER_INIT;
        struct arena arena;
        locate.row = row;
        locate.count_max = LOCATE_COUNT;
        arena_init(&arena, ARENA_BLOCK_BYTES, SIZE_MAX);
        status = table_locate(client, &locate, 0, &arena, &answer, &response, ret_error);
        if (status == STATUS_OK) {
            status = add_page(list, &response, range, &row, &done, ret_error);
        }
        buffer_deinit(&answer);
        arena_deinit(&arena);
    }
    return status;
}

/* --- for callers ------------------------------------------------------------------------------ */

const char *tablet_state_text(uint32_t state)
{
    switch (state) {
    case TABLET_CREATING:
        return "creating";
    case TABLET_SERVING:
        return "serving";
    case TABLET_SPLITTING:
        return "splitting";
    case TABLET_NOT_LED:
        return "not_led";
    default:
        return "unavailable";
    }
}

enum edubba_code tablet_list_answer(struct edubba_client *client,
                                    const struct locate_request *table,
                                    tablet_list_write write,
                                    void **ret_tablets,
                                    size_t *ret_count,
                                    struct edubba_error *ret_error)
{
    struct row_range all = {BYTES_EMPTY, BYTES_EMPTY};
    struct block block = BLOCK_MEASURING;
    struct tablet_list list;
    struct error trouble = {0};
    enum edubba_code code = EDUBBA_OK;

    if (client_check_may_block(client, ret_error) != EDUBBA_OK) {
        return EDUBBA_FAILED_PRECONDITION;
    }
    tablet_list_init(&list);
    if (tablet_list_fetch(&list, client, table, &all, &trouble) != STATUS_OK) {
        code = client_error_of(ret_error, &trouble);
    } else {
        (void)write(&block, &list);
        code = block_allocate(&block) ? client_success(ret_error) : client_no_memory(ret_error);
    }
    if (code == EDUBBA_OK) {
        *ret_tablets = write(&block, &list);
        *ret_count = list.count;
    }
    tablet_list_deinit(&list);
    return code;
}

static void *write_tablets(struct block *block, const struct tablet_list *list)
{
    struct edubba_tablet *tablets = block_take(block, list->count * sizeof *tablets);
    for (size_t i = 0; i < list->count; i++) {
        const struct location *from = &list->tablets[i].location;
        struct edubba_tablet to = {
            .number = from->tablet,
            .start = block_bytes(block, from->range.start),
            .end = block_bytes(block, from->range.end),
            .server = from->server,
            .address = block_text(block, from->address),
            .state = tablet_state_text(from->state),
        };
        if (tablets != NULL) {
            tablets[i] = to;
        }
    }
    return tablets;
}

enum edubba_code edubba_list_tablets(struct edubba_client *client,
                                     const char *table,
                                     struct edubba_tablet **tablets,
                                     size_t *count,
                                     struct edubba_error *error)
{
    const struct locate_request by_name = {.name = bytes_of_text(table)};
    void *list = NULL;
    enum edubba_code code = tablet_list_answer(client, &by_name, write_tablets, &list, count,
                                               error);
    if (code == EDUBBA_OK) {
        *tablets = list;
    }
    return code;
}
