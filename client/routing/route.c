#include "client/routing/route.h"

#include "client/routing/request.h"
#include "common/base/assert.h"
#include "common/base/memory.h"

#define LOCATE_DEADLINE_MS       5000
#define REFRESH_INTERVAL_NS      (INT64_C(500) * 1000 * 1000) /* of one table, at most so often */
#define LOCATE_ARENA_BLOCK_BYTES 8192

/* Those who wait for locations of one table.  Made when first needed, and kept until that is forgotten. */
struct route {
    struct list_link link; /* in client->routes */
    struct edubba_client *client;
    uint64_t table;
    struct list_link waiters;
    bool is_asking;
    bool is_forgotten; /* it goes when nobody waits, and nothing is asked */
    struct request request;
    struct buffer asked_row;
    int64_t refreshed_ns; /* when it was asked though nobody waited */
};

static void ask(struct route *route, struct bytes row);

static void ask_for_first(struct route *route)
{
    ask(route, LIST_ELEMENT(route->waiters.next, struct route_waiter, link)->row);
}

/* NULL = nobody has asked yet. */
static struct route *route_find(struct edubba_client *client, uint64_t table)
{
    for (struct list_link *at = client->routes.next; at != &client->routes; at = at->next) {
        struct route *route = LIST_ELEMENT(at, struct route, link);
        if (route->table == table) {
            return route;
        }
    }
    return NULL;
}

static struct route *route_get(struct edubba_client *client, uint64_t table)
{
    struct route *route = route_find(client, table);
    if (route != NULL) {
        route->is_forgotten = false;
        return route;
    }
    route = memory_allocate_zeroed(1, sizeof *route);
    if (route != NULL) {
        route->client = client;
        route->table = table;
        list_init(&route->waiters);
        list_init(&route->link);
        list_append(&client->routes, &route->link);
    }
    return route;
}

/* The last thing that is done with it. */
static void drop_forgotten(struct route *route)
{
    if (route->is_forgotten && !route->is_asking && list_is_empty(&route->waiters)) {
        location_cache_forget_table(&route->client->locations, route->table);
        list_remove(&route->link);
        buffer_deinit(&route->asked_row);
        memory_free(route);
    }
}

/* Tell everyone who waits. */
static void tell_all(struct route *route, enum status status, struct bytes text)
{
    struct list_link waiters;
    list_move_all(&route->waiters, &waiters);
    for (struct list_link *at; (at = list_take_first(&waiters)) != NULL;) {
        struct route_waiter *waiter = LIST_ELEMENT(at, struct route_waiter, link);
        waiter->on_located(route->client, waiter, status, text);
    }
}

/* Tell those whose rows are known now, and whoever asked for the row that was asked for. */
static void tell_located(struct route *route)
{
    struct edubba_client *client = route->client;
    struct list_link waiters;
    list_move_all(&route->waiters, &waiters);
    for (struct list_link *at; (at = list_take_first(&waiters)) != NULL;) {
        struct route_waiter *waiter = LIST_ELEMENT(at, struct route_waiter, link);
        if (location_cache_find(&client->locations, route->table, waiter->row) != NULL) {
            waiter->on_located(client, waiter, STATUS_OK, BYTES_EMPTY);
        } else if (bytes_equal(waiter->row, buffer_bytes(&route->asked_row))) {
            waiter->on_located(client, waiter, STATUS_CLOSED,
                               bytes_of_text("nobody knows the tablet's location"));
        } else {
            list_append(&route->waiters, at);
        }
    }
}

/* What is known of another tablet, under a later version, may keep away what a master says of the very row that was
 * asked for: where a catalog was restored, tablets may be wider again, under versions of before. */
static enum status learn(struct route *route, const struct location *location, bool from_master)
{
    struct location_cache *locations = &route->client->locations;
    struct bytes asked = buffer_bytes(&route->asked_row);
    enum status status = location_cache_put(locations, location, from_master);
    if (status == STATUS_OK && from_master && row_range_contains(&location->range, asked) &&
        location_cache_find(locations, route->table, asked) == NULL) {
        location_cache_doubt(locations, route->table, &location->range);
        status = location_cache_put(locations, location, true);
    }
    return status;
}

static enum status learn_all(struct route *route,
                             struct bytes body,
                             bool from_master,
                             struct error *ret_error)
{
    struct locate_response response;
    struct arena arena;
    arena_init(&arena, LOCATE_ARENA_BLOCK_BYTES, SIZE_MAX);
    enum status status = locate_response_decode(body, &arena, &response, ret_error);
    for (size_t i = 0; status == STATUS_OK && i < response.location_count; i++) {
        struct location location = response.locations[i];
        location.table = route->table;
        status = learn(route, &location, from_master);
        if (status != STATUS_OK) {
            (void)error_set(ret_error, status, "out of memory");
        }
    }
    arena_deinit(&arena);
    return status;
}

static void on_located(struct request *request,
                       enum status status,
                       struct bytes text,
                       struct bytes body)
{
    struct route *route = LIST_ELEMENT(request, struct route, request);
    struct error error = {0};

    if (status == STATUS_OK) {
        status = learn_all(route, body, request->answered_by_master, &error);
        text = bytes_of_text(error.text);
    }
    if (status == STATUS_OK) {
        tell_located(route);
    } else {
        if (status == STATUS_NOT_FOUND) {
            location_cache_forget_table(&route->client->locations, route->table);
        }
        /* Their own deadlines say how long it may be asked again. */
        tell_all(route, status == STATUS_DEADLINE_EXCEEDED ? STATUS_CLOSED : status, text);
    }
    route->is_asking = false;
    if (!list_is_empty(&route->waiters)) {
        ask_for_first(route);
    } else {
        drop_forgotten(route);
    }
}

/* If no master answers: the other members first, then the one that leads, or did. */
static void choose_first(struct request *request, uint64_t table, struct bytes row)
{
    const struct location_entry *known = location_cache_recall(&request->client->locations, table,
                                                               row);
    for (uint32_t i = 0; known != NULL && i < known->other_count; i++) {
        request->ask_first[request->ask_first_count++] = known->others[i];
    }
    if (known != NULL && known->address != LOCATION_NOT_SERVED) {
        request->ask_first[request->ask_first_count++] = known->address;
    }
}

static void ask(struct route *route, struct bytes row)
{
    buffer_reset(&route->asked_row);
    buffer_append_bytes(&route->asked_row, row);
    struct locate_request locate = {.table = route->table, .row = buffer_bytes(&route->asked_row)};

    route->request = (struct request){
        .client = route->client,
        .method = METHOD_LOCATE,
        .body = BUFFER_INIT,
        .address = REQUEST_TO_MASTER,
        .repeatable = true,
        .servers_may_answer = true,
        .deadline_ms = LOCATE_DEADLINE_MS,
        .on_done = on_located,
    };
    choose_first(&route->request, route->table, row);
    locate_request_encode(&locate, &route->request.body);
    if (route->asked_row.failed || route->request.body.failed) {
        buffer_deinit(&route->request.body);
        tell_all(route, STATUS_NO_MEMORY, bytes_of_text("out of memory"));
        return;
    }
    route->is_asking = true;
    request_start(&route->request);
}

void route_wait(struct edubba_client *client, uint64_t table, struct route_waiter *waiter)
{
    struct route *route = route_get(client, table);
    if (route == NULL) {
        waiter->on_located(client, waiter, STATUS_NO_MEMORY, bytes_of_text("out of memory"));
        return;
    }
    list_append(&route->waiters, &waiter->link);
    if (!route->is_asking) {
        ask_for_first(route);
    }
}

void route_refresh(struct edubba_client *client, uint64_t table, struct bytes row)
{
    struct route *route = route_get(client, table);
    int64_t now_ns = client->loop.now_ns;
    if (route != NULL && !route->is_asking &&
        (route->refreshed_ns == 0 || now_ns - route->refreshed_ns >= REFRESH_INTERVAL_NS)) {
        route->refreshed_ns = now_ns;
        ask(route, row);
    }
}

uint32_t route_asked(struct edubba_client *client, uint64_t table)
{
    const struct route *route = route_find(client, table);
    return route != NULL && route->is_asking ? route->request.asked : LOCATION_NOT_SERVED;
}

bool route_learn(struct edubba_client *client,
                 uint64_t table,
                 struct bytes row,
                 uint32_t address,
                 const struct location *location)
{
    location_cache_invalidate(&client->locations, table, row, address);
    if (location != NULL && location->table == table) {
        /* Without memory it stays unknown, and is asked for. */
        (void)location_cache_put(&client->locations, location, false);
    }
    /* A server whose map is behind may name itself, though it has just denied. */
    location_cache_invalidate(&client->locations, table, row, address);
    const struct location_entry *entry = location_cache_find(&client->locations, table, row);
    return entry != NULL && entry->address != LOCATION_NOT_SERVED;
}

void route_doubt(struct edubba_client *client, uint64_t table, struct bytes row)
{
    const struct location_entry *entry = location_cache_find(&client->locations, table, row);
    if (entry != NULL) {
        location_cache_invalidate(&client->locations, table, row, entry->address);
    }
}

void route_forget(struct edubba_client *client, uint64_t table)
{
    struct route *route = route_find(client, table);
    location_cache_forget_table(&client->locations, table);
    if (route != NULL) {
        route->is_forgotten = true;
        drop_forgotten(route);
    }
}

void routes_destroy(struct edubba_client *client)
{
    for (struct list_link *at; (at = list_take_first(&client->routes)) != NULL;) {
        struct route *route = LIST_ELEMENT(at, struct route, link);
        ASSERT(list_is_empty(&route->waiters));
        if (route->is_asking) {
            request_cancel(&route->request);
        }
        buffer_deinit(&route->asked_row);
        memory_free(route);
    }
}
