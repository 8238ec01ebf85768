/* The sweep: names of tables, and sizes of tablets, from the catalog into the heat map. */
#include "common/io/clock.h"
#include "master/console/console_state.h"

#define SWEEP_PAUSE_US  INT64_C(5000000)
#define TABLETS_AT_ONCE 500
#define ARENA_BYTES     ((size_t)16384)
#define ARENA_MAX       ((size_t)64 << 20)

static void end(struct console *console)
{
    console->sweep.running = false;
    console->sweep.next_us = clock_wall_us() + SWEEP_PAUSE_US;
}

static void ask(struct console *console, enum method method)
{
    struct question *question = &console->sweep.question;
    question->method = method;
    question->answered = console_on_answer;
    question->context = console;
    if (question->body.failed || !console_ask(console, question)) {
        buffer_reset(&question->body);
        end(console);
    }
}

/* Tablets of tables that the heat map knows; of others nobody asks. */
static void ask_on(struct console *console)
{
    struct sweep *sweep = &console->sweep;
    const struct table_list *list = &sweep->tables;

    while (sweep->table < list->count &&
           heat_map_table(&console->heat, list->tables[sweep->table].number) == NULL) {
        sweep->table++;
        buffer_reset(&sweep->row);
    }
    if (sweep->table == list->count) {
        heat_map_sweep_end(&console->heat);
        end(console);
        return;
    }
    const struct locate_request locate = {
        .table = list->tables[sweep->table].number,
        .row = buffer_bytes(&sweep->row),
        .count_max = TABLETS_AT_ONCE,
        .detailed = true,
    };
    buffer_reset(&sweep->question.body);
    locate_request_encode(&locate, &sweep->question.body);
    ask(console, METHOD_LOCATE);
}

void sweep_begin(struct console *console, int64_t now_us)
{
    struct sweep *sweep = &console->sweep;

    if (sweep->running || (now_us < sweep->next_us && sweep->next_us - now_us <= SWEEP_PAUSE_US)) {
        return;
    }
    sweep->running = true;
    buffer_reset(&sweep->question.body);
    ask(console, METHOD_LIST_TABLES);
}

/* --- answers ------------------------------------------------------------------------------------ */

/* The list of tables; the old one stays where the new one cannot be had. */
static bool take_tables(struct sweep *sweep, struct bytes body)
{
    struct table_list list = {0};
    struct tables_response response = {0};
    struct error error = {0};

    arena_init(&list.arena, ARENA_BYTES, ARENA_MAX);
    bool taken = tables_response_decode(body, &list.arena, &response, &error) == STATUS_OK;
    if (taken) {
        list.tables = arena_allocate_array(&list.arena, response.table_count + 1,
                                           sizeof *list.tables);
        taken = list.tables != NULL;
    }
    for (size_t i = 0; taken && i < response.table_count; i++) {
        const struct table *table = &response.tables[i].table;
        list.tables[list.count++] = (struct named_table){table->number,
                                                         arena_copy(&list.arena, table->id)};
    }
    if (!taken) {
        arena_deinit(&list.arena);
        return false;
    }
    arena_deinit(&sweep->tables.arena);
    sweep->tables = list;
    return true;
}

/* False: there is something wrong. */
static bool take_tablets(struct console *console, struct bytes body)
{
    struct sweep *sweep = &console->sweep;
    struct locate_response response = {0};
    struct error error = {0};
    struct arena arena;
    uint64_t table = sweep->tables.tables[sweep->table].number;

    arena_init(&arena, ARENA_BYTES, ARENA_MAX);
    bool taken = locate_response_decode(body, &arena, &response, &error) == STATUS_OK &&
                 response.replicas_count == response.location_count;
    for (size_t i = 0; taken && i < response.location_count; i++) {
        heat_map_sweep(&console->heat, table, &response.locations[i].range,
                       response.replicas[i].size_bytes);
    }
    buffer_reset(&sweep->row);
    if (taken && response.location_count > 0) {
        buffer_append_bytes(&sweep->row, response.locations[response.location_count - 1].range.end);
    }
    arena_deinit(&arena);
    if (taken && sweep->row.size_bytes == 0) {
        sweep->table++;
    }
    return taken && !sweep->row.failed;
}

/* A table that was deleted meanwhile is passed over; anything else ends the sweep. */
static bool take(struct console *console)
{
    struct sweep *sweep = &console->sweep;
    struct question *question = &sweep->question;
    struct response_head head = {0};
    struct bytes body = BYTES_EMPTY;
    struct error error = {0};

    if (question->status == STATUS_NOT_FOUND && question->method == METHOD_LOCATE) {
        sweep->table++;
        buffer_reset(&sweep->row);
        return true;
    }
    if (question->status != STATUS_OK ||
        response_head_decode(buffer_bytes(&question->message), &head, &body, &error) != STATUS_OK) {
        return false;
    }
    if (question->method == METHOD_LOCATE) {
        return take_tablets(console, body);
    }
    sweep->table = 0;
    buffer_reset(&sweep->row);
    heat_map_sweep_begin(&console->heat);
    return take_tables(sweep, body);
}

void sweep_take_answer(struct console *console)
{
    struct question *question = &console->sweep.question;
    bool goes_on = take(console);

    buffer_deinit(&question->message);
    if (goes_on) {
        ask_on(console);
    } else {
        end(console);
    }
}

void sweep_deinit(struct sweep *sweep)
{
    arena_deinit(&sweep->tables.arena);
    buffer_deinit(&sweep->row);
    buffer_deinit(&sweep->question.body);
}

/* --- names -------------------------------------------------------------------------------------- */

uint64_t sweep_find_table(const struct sweep *sweep, struct bytes name)
{
    uint64_t number = 0;

    for (size_t i = 0; i < sweep->tables.count; i++) {
        if (bytes_equal(sweep->tables.tables[i].name, name)) {
            return sweep->tables.tables[i].number;
        }
    }
    for (size_t i = 0; i < name.size_bytes && name.size_bytes <= 19; i++) {
        if (name.data[i] < '0' || name.data[i] > '9') {
            return 0;
        }
        number = number * 10 + (uint64_t)(name.data[i] - '0');
    }
    return number;
}

enum status sweep_refuse_table(const struct sweep *sweep,
                               struct bytes asked,
                               struct error *ret_error)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    uint64_t number = sweep_find_table(sweep, asked);

    (void)bytes_printable(asked, text);
    if (asked.size_bytes == 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "table: which one?");
    }
    if (sweep->tables.count == 0) {
        return error_set(ret_error, STATUS_NOT_FOUND,
                         "nothing is known of table '%s': this master knows of no table (it may "
                         "stand by, or have just begun)",
                         text);
    }
    if (sweep_table_name(sweep, number).size_bytes == 0) {
        return error_set(ret_error, STATUS_NOT_FOUND,
                         "there is no table '%s' (one that was made just now is known in five "
                         "seconds)",
                         text);
    }
    return error_set(ret_error, STATUS_NOT_FOUND,
                     "table '%s' is there, and has had no load so far: put some on it, and ask "
                     "again",
                     text);
}

struct bytes sweep_table_name(const struct sweep *sweep, uint64_t number)
{
    for (size_t i = 0; i < sweep->tables.count; i++) {
        if (sweep->tables.tables[i].number == number) {
            return sweep->tables.tables[i].name;
        }
    }
    return BYTES_EMPTY;
}
