/*
 * Drives a catalog without a shell: events in, commits to a memory coordinator, replies kept; and
 * tablet servers that do what the master says, in a few lines.  For tests of the master's core.
 */
#ifndef TESTS_SUPPORT_CATALOG_DRIVER_H
#define TESTS_SUPPORT_CATALOG_DRIVER_H

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "master/coordinator/coordinator.h"
#include "master/core/catalog.h"

#define DRIVER_REPLIES_MAX 4096
#define DRIVER_HELD_MAX    2048
#define DRIVER_GENERATION  77
#define DRIVER_CLUSTER     1
#define SECOND_NS          INT64_C(1000000000)

struct driver_reply {
    uint64_t request;
    enum status status;
    char text[ERROR_TEXT_SIZE_MAX];
    struct buffer message;
    bool taken;
};

struct driver {
    struct catalog_settings settings;
    struct coordinator *coordinator;
    struct catalog *catalog;
    int64_t now_ns;
    uint64_t request;  /* the last one given */
    bool hold_commits; /* leave PERSIST for driver_commit() */
    void (*on_committed)(
        void); /* what the coordinator has acknowledged, nobody knows yet; or NULL */
    const struct catalog_put *puts;
    size_t put_count;
    uint64_t transaction; /* pending; 0 = none */
    struct driver_reply *replies;
    size_t reply_count;
    struct arena arena; /* decoded replies */
    size_t notes;
    char last_note[64];
    size_t loads;          /* reports that were handed over */
    uint64_t loaded_table; /* of the last one's first tablet; 0 = it has none */
    uint64_t loaded_writes;
};

static inline enum status driver_take(void *context,
                                      struct bytes key,
                                      struct bytes value,
                                      struct error *ret_error)
{
    return catalog_load(context, key, value, ret_error);
}

static inline void driver_load(struct driver *driver)
{
    struct error error = {0};
    cr_assert_eq(catalog_create(&driver->settings, &driver->catalog), STATUS_OK);
    cr_assert_eq(coordinator_load(driver->coordinator, driver_take, driver->catalog, &error),
                 STATUS_OK, "%s", error.text);
    cr_assert_eq(catalog_load_end(driver->catalog, driver->now_ns, &error), STATUS_OK, "%s",
                 error.text);
    catalog_check(driver->catalog);
}

static inline void driver_init(struct driver *driver)
{
    const struct coordinator_identity identity = {DRIVER_CLUSTER, DRIVER_GENERATION};
    *driver = (struct driver){.now_ns = SECOND_NS};
    catalog_settings_default(&driver->settings);
    driver->settings.sync_hold_ns = 0;
    driver->replies = memory_allocate_zeroed(DRIVER_REPLIES_MAX, sizeof *driver->replies);
    arena_init(&driver->arena, 65536, SIZE_MAX);
    cr_assert_eq(coordinator_create_memory(&identity, &driver->coordinator, NULL), STATUS_OK);
    driver_load(driver);
}

static inline void driver_forget_replies(struct driver *driver)
{
    for (size_t i = 0; i < driver->reply_count; i++) {
        buffer_deinit(&driver->replies[i].message);
    }
    driver->reply_count = 0;
    arena_reset(&driver->arena);
}

static inline void driver_deinit(struct driver *driver)
{
    driver_forget_replies(driver);
    memory_free(driver->replies);
    arena_deinit(&driver->arena);
    catalog_destroy(driver->catalog);
    coordinator_close(driver->coordinator);
}

static inline void driver_step(struct driver *driver, struct catalog_event event);

/* Commit what is pending and tell the catalog. */
static inline enum status driver_commit(struct driver *driver)
{
    struct error error = {0};
    struct catalog_event event = {.number = driver->transaction, .error = &error};
    cr_assert_neq(driver->transaction, 0);
    enum status status = coordinator_commit(driver->coordinator, driver->puts, driver->put_count,
                                            &error);
    event.type = status == STATUS_OK ? CATALOG_EVENT_PERSISTED : CATALOG_EVENT_PERSIST_FAILED;
    if (status == STATUS_OK && driver->on_committed != NULL) {
        driver->on_committed();
    }
    driver->transaction = 0;
    driver_step(driver, event);
    return status;
}

static inline void driver_perform(struct driver *driver, const struct catalog_effect *effect)
{
    if (effect->type == CATALOG_EFFECT_PERSIST) {
        cr_assert_eq(driver->transaction, 0, "two transactions are pending");
        driver->transaction = effect->number;
        driver->puts = effect->puts;
        driver->put_count = effect->put_count;
    } else if (effect->type == CATALOG_EFFECT_REPLY) {
        cr_assert_lt(driver->reply_count, DRIVER_REPLIES_MAX);
        struct driver_reply *reply = &driver->replies[driver->reply_count++];
        *reply = (struct driver_reply){effect->number, effect->status, "", effect->message, false};
        memcpy(reply->text, effect->text, sizeof reply->text);
    } else if (effect->type == CATALOG_EFFECT_LOAD) {
        bool any = effect->load->load_count > 0;
        driver->loads += 1;
        driver->loaded_table = any ? effect->load->loads[0].table : 0;
        driver->loaded_writes = any ? effect->load->loads[0].figures.writes : 0;
        located_report_destroy(effect->load);
    } else {
        driver->notes++;
        strncpy(driver->last_note, effect->note.event, sizeof driver->last_note - 1);
    }
}

static inline void driver_step(struct driver *driver, struct catalog_event event)
{
    struct catalog_effects effects;
    event.now_ns = driver->now_ns;
    event.now_us = driver->now_ns / 1000;
    cr_assert_eq(catalog_step(driver->catalog, &event, &effects), STATUS_OK);
    for (size_t i = 0; i < effects.count; i++) {
        driver_perform(driver, &effects.items[i]);
    }
    catalog_check(driver->catalog);
    if (driver->transaction != 0 && !driver->hold_commits) {
        (void)driver_commit(driver);
    }
}

/* Let time pass, with the ticks that the catalog asks for. */
static inline void driver_pass(struct driver *driver, int64_t ns)
{
    int64_t end_ns = driver->now_ns + ns;
    for (int64_t next_ns = catalog_deadline_ns(driver->catalog); next_ns <= end_ns;
         next_ns = catalog_deadline_ns(driver->catalog)) {
        driver->now_ns = next_ns > driver->now_ns ? next_ns : driver->now_ns + 1;
        driver_step(driver, (struct catalog_event){.type = CATALOG_EVENT_TICK});
    }
    driver->now_ns = end_ns > driver->now_ns ? end_ns : driver->now_ns;
}

/* The process dies and starts again: what is not in the coordinator is gone. */
static inline void driver_crash(struct driver *driver)
{
    catalog_destroy(driver->catalog);
    driver->transaction = 0;
    driver_load(driver);
}

/* Takes body's memory. */
static inline uint64_t driver_send(struct driver *driver, enum method method, struct buffer *body)
{
    struct catalog_event event = {
        .type = CATALOG_EVENT_REQUEST,
        .number = ++driver->request,
        .method = method,
        .body = buffer_bytes(body),
    };
    cr_assert_not(body->failed);
    driver_step(driver, event);
    buffer_deinit(body);
    return event.number;
}

/* NULL if it was not answered yet. */
static inline struct driver_reply *driver_reply(struct driver *driver, uint64_t request)
{
    struct driver_reply *found = NULL;
    for (size_t i = 0; i < driver->reply_count; i++) {
        if (driver->replies[i].request == request) {
            cr_assert_null(found, "request %lu was answered twice", (unsigned long)request);
            found = &driver->replies[i];
        }
    }
    return found;
}

/* The body of an OK answer. */
static inline struct bytes driver_body(struct driver *driver, uint64_t request)
{
    struct driver_reply *reply = driver_reply(driver, request);
    struct response_head head;
    struct bytes body;
    cr_assert_not_null(reply, "request %lu was not answered", (unsigned long)request);
    cr_assert_eq(reply->status, STATUS_OK, "%s: %s", status_name(reply->status), reply->text);
    cr_assert_eq(response_head_decode(buffer_bytes(&reply->message), &head, &body, NULL),
                 STATUS_OK);
    cr_assert_eq(head.status, STATUS_OK);
    return body;
}

/* --- requests --------------------------------------------------------------------------------- */

static inline uint64_t driver_create(struct driver *driver,
                                     const char *name,
                                     const char *const *splits,
                                     size_t split_count)
{
    struct family families[] = {{.name = bytes_of_text("f")}};
    struct bytes keys[LIMIT_SPLITS_PER_CREATE + 1];
    struct buffer body = BUFFER_INIT;
    for (size_t i = 0; i < split_count; i++) {
        keys[i] = bytes_of_text(splits[i]);
    }
    struct create_table_request create = {
        .table = {.id = bytes_of_text(name), .families = families, .family_count = 1},
        .splits = keys,
        .split_count = split_count,
    };
    create_table_request_encode(&create, &body);
    return driver_send(driver, METHOD_CREATE_TABLE, &body);
}

static inline uint64_t driver_by_name(struct driver *driver, enum method method, const char *name)
{
    struct buffer body = BUFFER_INIT;
    struct table_name_request request = {bytes_of_text(name)};
    table_name_request_encode(&request, &body);
    return driver_send(driver, method, &body);
}

static inline uint64_t driver_alter(struct driver *driver,
                                    const char *name,
                                    const struct alteration *alterations,
                                    size_t count)
{
    struct buffer body = BUFFER_INIT;
    struct alter_table_request alter = {bytes_of_text(name), alterations, count};
    alter_table_request_encode(&alter, &body);
    return driver_send(driver, METHOD_ALTER_TABLE, &body);
}

static inline uint64_t driver_split(struct driver *driver, const char *name, const char *row)
{
    struct buffer body = BUFFER_INIT;
    struct split_request split = {bytes_of_text(name), bytes_of_text(row)};
    split_request_encode(&split, &body);
    return driver_send(driver, METHOD_SPLIT_TABLET, &body);
}

static inline uint64_t driver_put_document(struct driver *driver,
                                           struct bytes name,
                                           struct bytes content,
                                           uint64_t version)
{
    struct buffer body = BUFFER_INIT;
    const struct document document = {name, content, version};
    const struct put_documents_request put = {&document, 1};
    put_documents_request_encode(&put, &body);
    return driver_send(driver, METHOD_PUT_DOCUMENTS, &body);
}

static inline uint64_t driver_put_documents(struct driver *driver,
                                            const struct document *documents,
                                            size_t count)
{
    struct buffer body = BUFFER_INIT;
    const struct put_documents_request put = {documents, count};
    put_documents_request_encode(&put, &body);
    return driver_send(driver, METHOD_PUT_DOCUMENTS, &body);
}

/* Of an OK answer. */
static inline struct put_documents_response driver_put_answer(struct driver *driver,
                                                              uint64_t request)
{
    struct put_documents_response response;
    cr_assert_eq(put_documents_response_decode(driver_body(driver, request), &driver->arena,
                                               &response, NULL),
                 STATUS_OK);
    return response;
}

static inline struct list_documents_response driver_list_documents(struct driver *driver,
                                                                   struct bytes prefix,
                                                                   struct bytes start,
                                                                   uint32_t count_max)
{
    struct buffer body = BUFFER_INIT;
    struct list_documents_request list = {prefix, start, count_max};
    struct list_documents_response response;
    list_documents_request_encode(&list, &body);
    uint64_t request = driver_send(driver, METHOD_LIST_DOCUMENTS, &body);
    cr_assert_eq(list_documents_response_decode(driver_body(driver, request), &driver->arena,
                                                &response, NULL),
                 STATUS_OK);
    return response;
}

static inline struct locate_response driver_locate(struct driver *driver,
                                                   const char *name,
                                                   const char *row)
{
    struct buffer body = BUFFER_INIT;
    struct locate_request locate = {.name = bytes_of_text(name), .row = bytes_of_text(row)};
    struct locate_response response;
    locate.count_max = 2000;
    locate_request_encode(&locate, &body);
    uint64_t request = driver_send(driver, METHOD_LOCATE, &body);
    cr_assert_eq(
        locate_response_decode(driver_body(driver, request), &driver->arena, &response, NULL),
        STATUS_OK);
    return response;
}

static inline struct table_response driver_table(struct driver *driver, uint64_t request)
{
    struct table_response response;
    cr_assert_eq(
        table_response_decode(driver_body(driver, request), &driver->arena, &response, NULL),
        STATUS_OK);
    return response;
}

static inline void driver_assert_refused(struct driver *driver,
                                         uint64_t request,
                                         enum status status,
                                         const char *part)
{
    const struct driver_reply *reply = driver_reply(driver, request);
    cr_assert_not_null(reply);
    cr_assert_eq(reply->status, status, "%s: %s", status_name(reply->status), reply->text);
    cr_assert_not_null(strstr(reply->text, part), "%s", reply->text);
}

/* --- a tablet server -------------------------------------------------------------------------- */

struct fake_server {
    uint64_t number;
    uint64_t incarnation;
    char address[32];
    const char *zone;
    struct store_information stores[4];
    size_t store_count;
    uint32_t unopened_count;
    uint64_t known_version;
    uint64_t known_generation;
    uint32_t interval_ms;
    bool more;
    bool idle; /* does not do what it is told */
    bool replicates;
    bool leaving;
    struct held_tablet held[DRIVER_HELD_MAX];
    size_t held_count;
    struct load_report load; /* goes along with its syncs */
};

static inline void fake_init(struct fake_server *server, uint64_t number)
{
    *server = (struct fake_server){.number = number, .incarnation = 1, .zone = "a"};
    snprintf(server->address, sizeof server->address, "tcp://127.0.0.1:%lu",
             (unsigned long)(7400 + number));
    server->stores[0] = (struct store_information){
        .number = number * 10, .folder = bytes_of_text("data"), .free_bytes = UINT64_C(1) << 40};
    server->store_count = 1;
}

static inline struct held_tablet *fake_held(struct fake_server *server, uint64_t tablet)
{
    for (size_t i = 0; i < server->held_count; i++) {
        if (server->held[i].tablet == tablet) {
            return &server->held[i];
        }
    }
    return NULL;
}

static inline void fake_drop(struct fake_server *server, uint64_t tablet)
{
    struct held_tablet *held = fake_held(server, tablet);
    if (held != NULL) {
        *held = server->held[--server->held_count];
    }
}

static inline void fake_hold(struct fake_server *server,
                             uint64_t tablet,
                             uint64_t store,
                             enum held_state state)
{
    if (fake_held(server, tablet) == NULL) {
        cr_assert_lt(server->held_count, DRIVER_HELD_MAX);
        server->held[server->held_count++] = (struct held_tablet){
            .tablet = tablet, .store = store, .state = state};
    }
}

static inline uint64_t fake_send(struct driver *driver, struct fake_server *server)
{
    struct buffer body = BUFFER_INIT;
    struct sync_request sync = {
        .server = {.number = server->number,
                   .address = bytes_of_text(server->address),
                   .zone = bytes_of_text(server->zone),
                   .incarnation = server->incarnation,
                   .stores = server->stores,
                   .store_count = server->store_count,
                   .unopened_count = server->unopened_count},
        .known_version = server->known_version,
        .known_generation = server->known_generation,
        .full = true,
        .held = server->held,
        .held_count = server->held_count,
        .load = server->load,
        .replicates = server->replicates,
        .leaving = server->leaving,
    };
    sync_request_encode(&sync, &body);
    return driver_send(driver, METHOD_SYNC, &body);
}

static inline void fake_obey(struct fake_server *server, const struct sync_response *response)
{
    for (size_t i = 0; i < response->tablet_count; i++) {
        const struct assigned_tablet *tablet = &response->tablets[i];
        uint64_t number = tablet->location.tablet;
        if (tablet->removed) {
            fake_drop(server, number);
        } else if (tablet->location.server != server->number) {
            fake_drop(server, number);
        } else if (tablet->location.state == TABLET_CREATING) {
            fake_hold(server, number, tablet->store, HELD_CREATED);
        } else if (tablet->location.state == TABLET_SPLITTING &&
                   fake_held(server, tablet->parent) != NULL) {
            fake_hold(server, number, tablet->store, HELD_SERVING);
        }
    }
    for (size_t i = 0; i < response->tablet_count; i++) { /* parents whose children are made */
        if (response->tablets[i].location.state == TABLET_SPLITTING &&
            response->tablets[i].location.server == server->number) {
            fake_drop(server, response->tablets[i].parent);
        }
    }
}

/* Take the answer in and do what it says. */
static inline void fake_take(struct driver *driver, struct fake_server *server, uint64_t request)
{
    struct sync_response response;
    cr_assert_eq(
        sync_response_decode(driver_body(driver, request), &driver->arena, &response, NULL),
        STATUS_OK);
    cr_assert_eq(response.generation, DRIVER_GENERATION);
    if (!server->idle) {
        fake_obey(server, &response);
    }
    server->known_version = response.version;
    server->known_generation = response.generation;
    server->interval_ms = response.interval_ms;
    server->more = response.more;
}

static inline void fake_sync(struct driver *driver, struct fake_server *server)
{
    fake_take(driver, server, fake_send(driver, server));
}

/* Enough rounds for anything to settle. */
static inline void fakes_settle(struct driver *driver, struct fake_server *servers, size_t count)
{
    for (int round = 0; round < 6; round++) {
        for (size_t i = 0; i < count; i++) {
            fake_sync(driver, &servers[i]);
        }
        driver->now_ns += 10000000;
    }
}

#endif /* TESTS_SUPPORT_CATALOG_DRIVER_H */
