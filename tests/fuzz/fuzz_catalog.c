/*
 * The master's core under hostile requests: the input is a list of (method, length, body); each is
 * a step, commits succeed at once, and after every step the catalog checks itself.  Every request
 * that is not answered at once must still be open; none is answered twice.
 */
#include <stdlib.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "master/coordinator/coordinator.h"
#include "master/core/catalog.h"

#define REQUESTS_MAX 256
#define STEP_NS      INT64_C(50000000)

static struct catalog *catalog;
static int64_t now_ns;
static bool answered[REQUESTS_MAX];

static const enum method methods[] = {
    METHOD_SYNC,           METHOD_CREATE_TABLE,     METHOD_ALTER_TABLE,   METHOD_DELETE_TABLE,
    METHOD_SPLIT_TABLET,   METHOD_LOCATE,           METHOD_GET_TABLE,     METHOD_LIST_TABLES,
    METHOD_LIST_SERVERS,   METHOD_STATUS,           METHOD_SCAN,          METHOD_PUT_DOCUMENTS,
    METHOD_LIST_DOCUMENTS, METHOD_LIST_HOT_TABLETS, METHOD_PROPOSE,       METHOD_DRAIN_SERVER,
    METHOD_MERGE_TABLETS,  METHOD_RECOVER,          METHOD_LIST_HOT_KEYS, METHOD_ADVISE,
    METHOD_LIST_EVENTS,
};

static enum status take(void *context,
                        struct bytes key,
                        struct bytes value,
                        struct error *ret_error)
{
    (void)context;
    return catalog_load(catalog, key, value, ret_error);
}

static void step(struct catalog_event event)
{
    struct catalog_effects effects;
    uint64_t transaction = 0;

    event.now_ns = now_ns;
    if (catalog_step(catalog, &event, &effects) != STATUS_OK) {
        return;
    }
    for (size_t i = 0; i < effects.count; i++) {
        struct catalog_effect *effect = &effects.items[i];
        if (effect->type == CATALOG_EFFECT_PERSIST) {
            ASSERT(transaction == 0);
            transaction = effect->number;
        } else if (effect->type == CATALOG_EFFECT_REPLY) {
            ASSERT(effect->number < REQUESTS_MAX);
            ASSERT(!answered[effect->number]);
            answered[effect->number] = true;
            buffer_deinit(&effect->message);
        }
    }
    catalog_check(catalog);
    if (transaction != 0) {
        step((struct catalog_event){.type = CATALOG_EVENT_PERSISTED, .number = transaction});
    }
}

/* A living server, so that tables can be made. */
static void introduce_server(void)
{
    const struct store_information store = {.number = 10, .free_bytes = UINT64_C(1) << 40};
    const struct sync_request sync = {
        .server = {.number = 1,
                   .address = bytes_of_text("tcp://127.0.0.1:1"),
                   .incarnation = 1,
                   .stores = &store,
                   .store_count = 1},
        .full = true,
        .replicates = true,
    };
    struct buffer body = BUFFER_INIT;
    sync_request_encode(&sync, &body);
    step((struct catalog_event){.type = CATALOG_EVENT_REQUEST,
                                .number = 0,
                                .method = METHOD_SYNC,
                                .body = buffer_bytes(&body)});
    buffer_deinit(&body);
}

static void run(const uint8_t *data, size_t size_bytes)
{
    uint64_t number = 0;
    while (size_bytes >= 3 && number + 1 < REQUESTS_MAX) {
        size_t body_bytes = (size_t)data[1] | (size_t)data[2] << 8;
        enum method method = methods[data[0] % (sizeof methods / sizeof *methods)];
        data += 3;
        size_bytes -= 3;
        body_bytes = body_bytes > size_bytes ? size_bytes : body_bytes;
        now_ns += STEP_NS;
        step((struct catalog_event){.type = CATALOG_EVENT_REQUEST,
                                    .number = ++number,
                                    .method = method,
                                    .body = bytes_of(data, body_bytes)});
        data += body_bytes;
        size_bytes -= body_bytes;
    }
    for (int i = 0; i < 8; i++) { /* and then time passes until nobody waits */
        now_ns += INT64_C(10000000000);
        step((struct catalog_event){.type = CATALOG_EVENT_TICK});
    }
    for (uint64_t i = 0; i <= number; i++) {
        ASSERT(answered[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    const struct coordinator_identity identity = {1, 7};
    struct coordinator *coordinator = NULL;
    struct catalog_settings settings;

    catalog_settings_default(&settings);
    memset(answered, 0, sizeof answered);
    now_ns = 1;
    ASSERT(coordinator_create_memory(&identity, &coordinator, NULL) == STATUS_OK);
    ASSERT(catalog_create(&settings, &catalog) == STATUS_OK);
    ASSERT(coordinator_load(coordinator, take, NULL, NULL) == STATUS_OK);
    ASSERT(catalog_load_end(catalog, now_ns, NULL) == STATUS_OK);
    introduce_server();
    run(data, size_bytes);
    catalog_destroy(catalog);
    coordinator_close(coordinator);
    return 0;
}
