/* Where in tablets the load is, and what that says about a table's keys: a master's answers, for people. */
#include "client/include/edubba_hotspots.h"
#include "client/loop/block.h"
#include "client/routing/master_call.h"

/* --- hot keys ----------------------------------------------------------------------------------- */

/* What makes of a detail's figures, which are of one report, rates of the last seconds. */
struct scales {
    double seconds;
    double reads;
    double writes;
};

static double divided(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static struct scales scales_of(const struct hot_keys *from)
{
    struct scales scales = {.seconds = (double)from->elapsed_ns / 1e9};
    double reads = 0;
    double writes = 0;
    for (size_t i = 0; i < from->detail.point_count; i++) {
        reads += (double)from->detail.points[i].reads;
        writes += (double)from->detail.points[i].writes;
    }
    scales.reads = divided(divided((double)from->figures.read_rows, scales.seconds), reads);
    scales.writes = divided(divided((double)from->figures.writes, scales.seconds), writes);
    return scales;
}

static const struct edubba_hot_point *write_points(struct block *block,
                                                   const struct load_detail *detail,
                                                   const struct scales *scales)
{
    struct edubba_hot_point *points = block_take(block, detail->point_count * sizeof *points);
    for (size_t i = 0; i < detail->point_count; i++) {
        const struct load_point *from = &detail->points[i];
        struct edubba_hot_point to = {
            .row = block_bytes(block, from->row),
            .reads = (double)from->reads * scales->reads,
            .writes = (double)from->writes * scales->writes,
            .crossing = (double)from->crossing * scales->reads,
        };
        if (points != NULL) {
            points[i] = to;
        }
    }
    return points;
}

static const struct edubba_hot_key *write_keys(struct block *block,
                                               const struct load_detail *detail,
                                               const struct scales *scales)
{
    struct edubba_hot_key *keys = block_take(block, detail->key_count * sizeof *keys);
    for (size_t i = 0; i < detail->key_count; i++) {
        const struct load_key *from = &detail->keys[i];
        struct edubba_hot_key to = {
            .row = block_bytes(block, from->row),
            .reads = (double)from->reads * scales->reads,
            .writes = (double)from->writes * scales->writes,
        };
        if (keys != NULL) {
            keys[i] = to;
        }
    }
    return keys;
}

static struct edubba_hot_keys write_tablet(struct block *block, const struct hot_keys *from)
{
    const struct load_figures *figures = &from->figures;
    struct scales scales = scales_of(from);
    double capacity = (double)from->capacity_ns / 100;
    double reads = (double)figures->reads * 1000;
    double writes = (double)figures->writes * 1000;

    return (struct edubba_hot_keys){
        .table = block_text(block, from->table_name),
        .tablet = from->tablet,
        .server = from->server,
        .start = block_bytes(block, from->range.start),
        .end = block_bytes(block, from->range.end),
        .age_us = from->age_us < INT64_MAX ? (int64_t)from->age_us : INT64_MAX,
        .cpu_percent = divided((double)figures->read_cpu_ns + (double)figures->write_cpu_ns,
                               capacity),
        .read_cpu_percent = divided((double)figures->read_cpu_ns, capacity),
        .write_cpu_percent = divided((double)figures->write_cpu_ns, capacity),
        .reads = divided((double)figures->reads, scales.seconds),
        .read_rows = divided((double)figures->read_rows, scales.seconds),
        .read_bytes = divided((double)figures->read_bytes, scales.seconds),
        .writes = divided((double)figures->writes, scales.seconds),
        .write_bytes = divided((double)figures->write_bytes, scales.seconds),
        .read_wait_us = divided((double)figures->read_wait_ns, reads),
        .read_latency_us = divided((double)figures->read_latency_ns, reads),
        .write_wait_us = divided((double)figures->write_wait_ns, writes),
        .write_latency_us = divided((double)figures->write_latency_ns, writes),
        .appended_percent = (double)from->detail.appended_permille / 10,
        .observations = from->detail.observations,
        .points = write_points(block, &from->detail, &scales),
        .point_count = from->detail.point_count,
        .keys = write_keys(block, &from->detail, &scales),
        .key_count = from->detail.key_count,
    };
}

static void *write_tablets(struct block *block, const void *answer)
{
    const struct list_hot_keys_response *response = answer;
    struct edubba_hot_keys *list = block_take(block, response->tablet_count * sizeof *list);
    for (size_t i = 0; i < response->tablet_count; i++) {
        struct edubba_hot_keys to = write_tablet(block, &response->tablets[i]);
        if (list != NULL) {
            list[i] = to;
        }
    }
    return list;
}

/* Measured, then filled.  NULL without memory. */
static void *write_block(void *(*write)(struct block *block, const void *answer),
                         const void *answer)
{
    struct block block = BLOCK_MEASURING;
    (void)write(&block, answer);
    return block_allocate(&block) ? write(&block, answer) : NULL;
}

enum edubba_code edubba_list_hot_keys(struct edubba_client *client,
                                      const char *table,
                                      uint32_t count_max,
                                      struct edubba_hot_keys **list,
                                      size_t *count,
                                      bool *more,
                                      struct edubba_error *error)
{
    const struct list_hot_keys_request request = {bytes_of_text(table), count_max};
    struct list_hot_keys_response response = {0};
    struct master_call call;

    master_call_init(&call);
    list_hot_keys_request_encode(&request, &call.body);
    enum status status = master_call_ask(client, &call, METHOD_LIST_HOT_KEYS, true);
    if (status == STATUS_OK) {
        status = list_hot_keys_response_decode(buffer_bytes(&call.answer), &call.arena, &response,
                                               &call.error);
    }
    struct edubba_hot_keys *written = status == STATUS_OK ? write_block(write_tablets, &response)
                                                          : NULL;
    if (status == STATUS_OK && written == NULL) {
        status = client_status_no_memory(&call.error);
    }
    if (status == STATUS_OK) {
        *list = written;
        *count = response.tablet_count;
        *more = response.more;
    }
    return master_call_conclude(&call, status, error);
}

/* --- advice ------------------------------------------------------------------------------------- */

static void *write_findings(struct block *block, const void *answer)
{
    const struct advise_response *response = answer;
    struct edubba_advice *list = block_take(block, response->finding_count * sizeof *list);
    for (size_t i = 0; i < response->finding_count; i++) {
        const struct advice_finding *from = &response->findings[i];
        struct edubba_advice to = {
            .kind = from->kind <= INT32_MAX ? (int)from->kind : 0,
            .share_percent = (double)from->share_permille / 10,
            .tablet = from->tablet,
            .start = block_bytes(block, from->range.start),
            .end = block_bytes(block, from->range.end),
            .key = block_bytes(block, from->key),
            .text = block_text(block, from->text),
            .pattern = block_text(block, from->pattern),
            .cure = block_text(block, from->cure),
        };
        if (list != NULL) {
            list[i] = to;
        }
    }
    return list;
}

enum edubba_code edubba_advise(struct edubba_client *client,
                               const char *table,
                               struct edubba_advice **advice,
                               size_t *count,
                               struct edubba_advice_basis *basis,
                               struct edubba_error *error)
{
    struct advise_response response = {0};
    struct master_call call;

    master_call_init(&call);
    advise_request_encode(&(struct advise_request){bytes_of_text(table)}, &call.body);
    enum status status = master_call_ask(client, &call, METHOD_ADVISE, true);
    if (status == STATUS_OK) {
        status = advise_response_decode(buffer_bytes(&call.answer), &call.arena, &response,
                                        &call.error);
    }
    struct edubba_advice *written = status == STATUS_OK ? write_block(write_findings, &response)
                                                        : NULL;
    if (status == STATUS_OK && written == NULL) {
        status = client_status_no_memory(&call.error);
    }
    if (status == STATUS_OK) {
        *advice = written;
        *count = response.finding_count;
    }
    if (status == STATUS_OK && basis != NULL) {
        *basis = (struct edubba_advice_basis){
            .observations = response.observations,
            .operations_per_second = response.operations_per_second,
            .tablet_count = response.tablet_count,
            .busy_count = response.busy_count,
            .age_us = response.age_us <= INT64_MAX ? (int64_t)response.age_us : INT64_MAX,
        };
    }
    return master_call_conclude(&call, status, error);
}
