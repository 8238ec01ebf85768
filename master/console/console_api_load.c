/* /api/v1/load: what servers and tablets do right now. */
#include <stdlib.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "master/console/console_api.h"
#include "master/console/console_json.h"

#define TABLETS_DEFAULT 100
#define TABLETS_MAX     1000

static void tell_rates(struct buffer *out, const struct heat_rates *rates)
{
    const struct {
        const char *name;
        double value;
    } all[] = {
        {"reads", rates->reads},
        {"read_rows", rates->read_rows},
        {"read_bytes", rates->read_bytes},
        {"read_cpu", rates->read_cpu},
        {"writes", rates->writes},
        {"write_cells", rates->write_cells},
        {"write_bytes", rates->write_bytes},
        {"write_cpu", rates->write_cpu},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        buffer_append_format(out, ",\"%s\":", all[i].name);
        json_number(out, all[i].value);
    }
}

static void tell_server(struct buffer *out, const struct heat_live_server *server, int64_t now_us)
{
    buffer_append_format(out, "{\"number\":");
    json_id(out, server->number);
    buffer_append_format(out,
                         ",\"age_us\":%lld,\"capacity\":", (long long)(now_us - server->heard_us));
    json_number(out, server->capacity);
    tell_rates(out, &server->rates);
    buffer_append_u8(out, '}');
}

static void tell_keys(struct buffer *out, const struct heat_live_tablet *tablet)
{
    for (size_t i = 0; i < tablet->frequent_count; i++) {
        const struct heat_live_key *key = &tablet->frequent[i];
        buffer_append_format(out, "%s{\"key\":", i == 0 ? "" : ",");
        json_key(out, bytes_of(key->key, key->key_bytes));
        buffer_append_format(out, ",\"reads\":");
        json_number(out, key->reads);
        buffer_append_format(out, ",\"writes\":");
        json_number(out, key->writes);
        buffer_append_format(out, ",\"share\":");
        json_number(out, key->share);
        buffer_append_u8(out, '}');
    }
}

static void tell_tablet(struct buffer *out,
                        const struct console *console,
                        const struct heat_live_tablet *tablet,
                        int64_t now_us)
{
    buffer_append_format(out, "{\"tablet\":");
    json_id(out, tablet->tablet);
    buffer_append_format(out, ",\"table\":");
    json_id(out, tablet->table);
    buffer_append_format(out, ",\"name\":");
    json_text(out, sweep_table_name(&console->sweep, tablet->table));
    buffer_append_format(out, ",\"server\":");
    json_id(out, tablet->server);
    buffer_append_format(out, ",\"start\":");
    json_key(out, tablet->range.start);
    buffer_append_format(out, ",\"end\":");
    json_key(out, tablet->range.end);
    buffer_append_format(out,
                         ",\"age_us\":%lld,\"appended\":", (long long)(now_us - tablet->heard_us));
    json_number(out, tablet->appended);
    tell_rates(out, &tablet->rates);
    buffer_append_format(out, ",\"keys\":[");
    tell_keys(out, tablet);
    buffer_append_format(out, "]}");
}

/* --- the busiest first -------------------------------------------------------------------------- */

static int busiest_first(const void *a, const void *b)
{
    const struct heat_live_tablet *x = *(const struct heat_live_tablet *const *)a;
    const struct heat_live_tablet *y = *(const struct heat_live_tablet *const *)b;
    double of_x = heat_rates_cpu(&x->rates);
    double of_y = heat_rates_cpu(&y->rates);
    if (of_x > of_y || of_x < of_y) {
        return of_x > of_y ? -1 : 1;
    }
    return (x->tablet > y->tablet) - (x->tablet < y->tablet);
}

static size_t gather(const struct heat_live *live,
                     uint64_t table,
                     const struct heat_live_tablet **ret_tablets)
{
    size_t count = 0;
    LIST_FOREACH(const struct heat_live_server, server, &live->servers) {
        LIST_FOREACH(const struct heat_live_tablet, tablet, &server->tablets) {
            if (table == 0 || tablet->table == table) {
                ret_tablets[count++] = tablet;
            }
        }
    }
    qsort(ret_tablets, count, sizeof(const struct heat_live_tablet *), busiest_first);
    return count;
}

static enum status tell(struct console *console,
                        uint64_t table,
                        size_t tablets_max,
                        struct buffer *out,
                        struct error *ret_error)
{
    int64_t now_us = clock_wall_us();
    bool first = true;
    const struct heat_live_tablet **tablets = memory_allocate_zeroed(
        console->live.tablets.count + 1, sizeof(const struct heat_live_tablet *));

    if (tablets == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory");
    }
    size_t count = gather(&console->live, table, tablets);
    buffer_append_format(out, "{\"now_us\":%lld,\"servers\":[", (long long)now_us);
    LIST_FOREACH(const struct heat_live_server, server, &console->live.servers) {
        buffer_append_format(out, first ? "" : ",");
        tell_server(out, server, now_us);
        first = false;
    }
    buffer_append_format(out, "],\"tablet_count\":%zu,\"tablets\":[", count);
    for (size_t i = 0; i < count && i < tablets_max; i++) {
        buffer_append_format(out, i == 0 ? "" : ",");
        tell_tablet(out, console, tablets[i], now_us);
    }
    buffer_append_format(out, "]}\n");
    memory_free(tablets);
    return STATUS_OK;
}

enum status api_load(struct console *console,
                     const struct query *query,
                     struct buffer *out,
                     struct error *ret_error)
{
    static const char *const known[] = {"table", "count", NULL};
    struct bytes name = query_text(query, "table");
    uint64_t table = name.size_bytes == 0 ? 0 : sweep_find_table(&console->sweep, name);
    int64_t count = TABLETS_DEFAULT;
    enum status status = query_check(query, known, ret_error);

    if (status == STATUS_OK) {
        status = query_number(query, "count", 1, TABLETS_MAX, &count, ret_error);
    }
    if (status == STATUS_OK && name.size_bytes > 0 && table == 0) {
        status = sweep_refuse_table(&console->sweep, name, ret_error);
    }
    return status == STATUS_OK ? tell(console, table, (size_t)count, out, ret_error) : status;
}
