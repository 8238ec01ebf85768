/*
 * ListHotTablets: what the master remembers of tablets that took much of their servers' time
 * (edubba_hotspots.h), of the instance's tables, hottest first, and of each tablet only the hottest
 * minute in a quarter of an hour.
 *
 * All clusters of an instance are one below, so each has the same list.
 */
#include "common/io/clock.h"
#include "gateway/core/hot_page.h"
#include "gateway/instance_admin/instances.h"
#include "gateway/instance_admin/methods.h"

typedef Google__Bigtable__Admin__V2__ListHotTabletsRequest ListHotTabletsRequest;
typedef Google__Bigtable__Admin__V2__ListHotTabletsResponse ListHotTabletsResponse;
typedef Google__Bigtable__Admin__V2__HotTablet HotTablet;
typedef Google__Bigtable__Admin__V2__Cluster Cluster;

#define HOUR_SECONDS   INT64_C(3600)
#define WINDOW_SECONDS (48 * HOUR_SECONDS)
#define PAST_SECONDS   (14 * 24 * HOUR_SECONDS)
#define SECOND_US      INT64_C(1000000)
#define INTERVAL_US    (15 * 60 * SECOND_US)
#define PAGE_COUNT_MAX 1000
#define PAGE_BYTES     (2 * 1024 * 1024) /* of memory: more than they are when encoded */

struct listing {
    struct admin_call *call;
    struct resource_name name;   /* of the cluster */
    struct hot_page_token token; /* the window; with has_last also where the page before ended */
    bool has_last;
    size_t page_max;
};

/* --- what is asked for -------------------------------------------------------------------------- */

static int64_t microseconds(int64_t seconds, const Google__Protobuf__Timestamp *time)
{
    return seconds * SECOND_US + (time != NULL ? time->nanos / 1000 : 0);
}

/* Where it is not said: a day before the end, or as much of one as may be asked for. */
static int64_t start_before(int64_t end, int64_t earliest)
{
    if (end < earliest) { /* that is wrong already */
        return end;
    }
    return end - earliest > 24 * HOUR_SECONDS ? end - 24 * HOUR_SECONDS : earliest;
}

static enum edubba_code check_times(struct listing *listing, const ListHotTabletsRequest *request)
{
    int64_t now_us = clock_wall_us();
    int64_t now = now_us / SECOND_US;
    int64_t end = request->end_time != NULL ? request->end_time->seconds : now;
    int64_t start = request->start_time != NULL ? request->start_time->seconds
                                                : start_before(end, now - PAST_SECONDS);
    const char *wrong = NULL;
    /* in this order no difference can overflow */
    if (start < now - PAST_SECONDS) {
        wrong = "Error in field 'start_time' : it is in the last 14 days";
    } else if (end < start) {
        wrong = "Error in field 'end_time' : it is not before start_time";
    } else if (end - start > WINDOW_SECONDS) {
        wrong = "Error in field 'end_time' : it is at most 48 hours behind start_time";
    }
    if (wrong != NULL) {
        return admin_call_fail(listing->call, EDUBBA_INVALID_ARGUMENT, "%s", wrong);
    }
    if (start > now) { /* nothing is there, and microseconds could be too many */
        start = now + 1;
        end = start;
    }
    end = end < now + HOUR_SECONDS ? end : now + HOUR_SECONDS;
    listing->token.start_us = microseconds(start, request->start_time);
    listing->token.end_us = request->end_time != NULL ? microseconds(end, request->end_time)
                                                      : now_us;
    return EDUBBA_OK;
}

static enum edubba_code check_page(struct listing *listing, const ListHotTabletsRequest *request)
{
    if (request->page_size < 0) {
        return admin_call_fail(listing->call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'page_size' : it cannot be negative");
    }
    listing->has_last = request->page_token[0] != '\0';
    if (listing->has_last && !hot_page_token_read(request->page_token, &listing->token)) {
        return admin_call_fail(listing->call, EDUBBA_INVALID_ARGUMENT,
                               "Error in field 'page_token' : it is none of this list");
    }
    size_t asked = (size_t)request->page_size;
    listing->page_max = asked > 0 && asked < PAGE_COUNT_MAX ? asked : PAGE_COUNT_MAX;
    return EDUBBA_OK;
}

/* The cluster that the list names: that of the request, or for "-" the instance's first. */
static enum edubba_code find_cluster(struct listing *listing, const char *parent)
{
    struct admin_call *call = listing->call;
    struct record record = {NULL, 0};
    struct record_list list = {0};
    enum edubba_code code = record_name(call, parent, RESOURCE_CLUSTER, &listing->name);

    if (code == EDUBBA_OK) {
        code = instances_get(call, &listing->name, &record);
    }
    if (code != EDUBBA_OK || !bytes_equal(listing->name.id, bytes_of_text("-"))) {
        return code == EDUBBA_OK ? record_get(call, &listing->name, &record) : code;
    }
    const struct resource_name instance = instances_of(&listing->name);
    code = instances_list_children(call, RESOURCE_CLUSTER, &instance, (struct record_page){NULL, 1},
                                   &list);
    if (code == EDUBBA_OK && list.count > 0) {
        listing->name.id = record_id(((const Cluster *)list.records[0].message)->name);
    }
    return code;
}

/* --- what is answered --------------------------------------------------------------------------- */

static Google__Protobuf__Timestamp *make_time(struct arena *arena, int64_t time_us)
{
    Google__Protobuf__Timestamp *time = arena_allocate(arena, sizeof *time);
    if (time != NULL) {
        google__protobuf__timestamp__init(time);
        time->seconds = time_us / SECOND_US;
        time->nanos = (int32_t)(time_us % SECOND_US * 1000);
    }
    return time;
}

static char *make_key(struct arena *arena, struct edubba_bytes key)
{
    char *text = arena_allocate(arena, 4 * key.size + 1);
    if (text != NULL) {
        hot_page_key_text(key, text);
    }
    return text;
}

/* NULL without memory. */
static HotTablet *make_tablet(struct listing *listing,
                              const struct edubba_hot_tablet *hot,
                              struct bytes table)
{
    struct admin_call *call = listing->call;
    const struct resource_name *cluster = &listing->name;
    HotTablet *tablet = arena_allocate(call->arena, sizeof *tablet);
    char *cluster_name = record_full_name(call, cluster);

    if (tablet == NULL || cluster_name == NULL) {
        return NULL;
    }
    google__bigtable__admin__v2__hot_tablet__init(tablet);
    tablet->name = admin_call_format(call, "%s/hotTablets/%llu-%lld", cluster_name,
                                     (unsigned long long)hot->tablet,
                                     (long long)(hot->start_us / SECOND_US));
    tablet->table_name = admin_call_format(
        call, "projects/%.*s/instances/%.*s/tables/%.*s", (int)cluster->project.size_bytes,
        (const char *)cluster->project.data, (int)cluster->instance.size_bytes,
        (const char *)cluster->instance.data, (int)table.size_bytes, (const char *)table.data);
    tablet->start_time = make_time(call->arena, hot->start_us);
    tablet->end_time = make_time(call->arena, hot->end_us);
    tablet->start_key = make_key(call->arena, hot->start);
    tablet->end_key = make_key(call->arena, hot->end);
    tablet->node_cpu_usage_percent = (float)hot->cpu_percent;
    return tablet->name != NULL && tablet->table_name != NULL && tablet->start_time != NULL &&
                   tablet->end_time != NULL && tablet->start_key != NULL && tablet->end_key != NULL
               ? tablet
               : NULL;
}

/* The page is full: where the next one begins. */
static enum edubba_code end_page(struct listing *listing,
                                 const struct edubba_hot_tablet *last,
                                 ListHotTabletsResponse *response)
{
    struct hot_page_token token = listing->token;
    token.percent = last->cpu_percent;
    token.last_us = last->start_us;
    token.tablet = last->tablet;
    char *text = arena_allocate(listing->call->arena, HOT_PAGE_TOKEN_SIZE);
    if (text == NULL) {
        return admin_call_no_memory(listing->call);
    }
    hot_page_token_write(&token, text);
    response->next_page_token = text;
    return EDUBBA_OK;
}

static enum edubba_code fill(struct listing *listing,
                             const struct edubba_hot_tablet *tablets,
                             size_t count,
                             ListHotTabletsResponse *response)
{
    struct admin_call *call = listing->call;
    const struct resource_name instance = instances_of(&listing->name);
    size_t room = count < listing->page_max ? count : listing->page_max;
    size_t used_bytes = call->arena->used_bytes;
    const struct edubba_hot_tablet *last = NULL;

    response->hot_tablets = arena_allocate_array(call->arena, room + 1, sizeof(HotTablet *));
    if (response->hot_tablets == NULL) {
        return admin_call_no_memory(call);
    }
    for (size_t i = 0; i < count; i++) {
        struct bytes table = BYTES_EMPTY;
        if (!resource_table_id(bytes_of_text(tablets[i].table), &instance, &call->gateway->home,
                               &table) ||
            (listing->has_last && !hot_page_is_behind(&listing->token, &tablets[i]))) {
            continue;
        }
        if (last != NULL && (response->n_hot_tablets == listing->page_max ||
                             call->arena->used_bytes - used_bytes > PAGE_BYTES)) {
            return end_page(listing, last, response);
        }
        HotTablet *made = make_tablet(listing, &tablets[i], table);
        if (made == NULL) {
            return admin_call_no_memory(call);
        }
        response->hot_tablets[response->n_hot_tablets++] = made;
        last = &tablets[i];
    }
    return EDUBBA_OK;
}

static enum edubba_code list(struct listing *listing, ListHotTabletsResponse *response)
{
    struct admin_call *call = listing->call;
    const struct edubba_hot_window window = {
        .start_us = listing->token.start_us,
        .end_us = listing->token.end_us,
        .interval_us = INTERVAL_US,
    };
    struct edubba_hot_tablet *tablets = NULL;
    size_t count = 0;
    enum edubba_code code = edubba_list_hot_tablets(call->gateway->client, &window, &tablets,
                                                    &count, &call->error);
    if (code == EDUBBA_OK) {
        code = fill(listing, tablets, count, response);
    }
    edubba_free(tablets);
    return code;
}

static enum edubba_code list_hot_tablets(struct admin_call *call,
                                         const ProtobufCMessage **ret_answer)
{
    const ListHotTabletsRequest *request = (const ListHotTabletsRequest *)call->request;
    struct listing listing = {.call = call};
    ListHotTabletsResponse *response = arena_allocate(call->arena, sizeof *response);

    if (response == NULL) {
        return admin_call_no_memory(call);
    }
    google__bigtable__admin__v2__list_hot_tablets_response__init(response);
    enum edubba_code code = find_cluster(&listing, request->parent);
    if (code == EDUBBA_OK) {
        code = check_times(&listing, request);
    }
    if (code == EDUBBA_OK) {
        code = check_page(&listing, request);
    }
    if (code == EDUBBA_OK) {
        code = list(&listing, response);
    }
    if (code == EDUBBA_OK) {
        *ret_answer = &response->base;
    }
    return code;
}

void instance_admin_list_hot_tablets(void *context,
                                     struct rpc_call *call,
                                     const ProtobufCMessage *request)
{
    admin_call_read(context, call, request, list_hot_tablets);
}
