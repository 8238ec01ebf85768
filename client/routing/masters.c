/* Who is the active master, by asking all of them. */
#include "client/include/edubba_masters.h"

#include "client/loop/block.h"
#include "client/loop/client.h"
#include "client/routing/request.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/transport/transport_address.h"

#define ANSWER_MS         1000
#define NS_PER_MS         INT64_C(1000000)
#define ARENA_BLOCK_BYTES 512
#define ADDRESS_BYTES_MAX 256

/* What one address has answered. */
struct found {
    char address[ADDRESS_BYTES_MAX];
    enum status status;
    struct error error;
    uint32_t state;
    char active[ADDRESS_BYTES_MAX];
    uint64_t reign;
    uint64_t cluster;
    bool is_server; /* a tablet server, as the active master says */
};

struct search {
    struct found found[EDUBBA_MASTERS_MAX];
    size_t count;
    int64_t end_ns; /* of all together */
};

/* Of what is left as much as each of so many has that are still to be asked, but no more than a second. */
static uint32_t patience_ms(const struct search *search, size_t still_to_ask)
{
    int64_t left_ms = (search->end_ns - clock_monotonic_ns()) / NS_PER_MS;
    int64_t each_ms = left_ms / (int64_t)still_to_ask;
    return each_ms < 1 ? 1 : each_ms > ANSWER_MS ? ANSWER_MS : (uint32_t)each_ms;
}

static void add(struct search *search, struct bytes address)
{
    if (address.size_bytes == 0 || address.size_bytes >= ADDRESS_BYTES_MAX ||
        search->count == EDUBBA_MASTERS_MAX) {
        return;
    }
    for (size_t i = 0; i < search->count; i++) {
        if (bytes_equal(bytes_of_text(search->found[i].address), address)) {
            return;
        }
    }
    struct found *found = &search->found[search->count++];
    memcpy(found->address, address.data, address.size_bytes);
    found->address[address.size_bytes] = '\0';
}

static enum status take_answer(struct found *found, struct bytes body)
{
    struct master_response response = {0};
    struct arena arena;

    arena_init(&arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    enum status status = master_response_decode(body, &arena, &response, &found->error);
    if (status == STATUS_OK && response.active.size_bytes < ADDRESS_BYTES_MAX) {
        found->state = response.state;
        found->reign = response.reign;
        found->cluster = response.cluster;
        if (response.active.size_bytes > 0) {
            memcpy(found->active, response.active.data, response.active.size_bytes);
        }
    }
    arena_deinit(&arena);
    return status;
}

static void ask(struct edubba_client *client, struct found *found, uint32_t deadline_ms)
{
    const struct request_options options = {
        .method = METHOD_MASTER,
        .address_text = found->address,
        .repeatable = true,
        .deadline_ms = deadline_ms,
        .unreachable_ms = 1,
    };
    struct buffer body = BUFFER_INIT;
    struct buffer answer = BUFFER_INIT;

    found->status = transport_address_check_dial(found->address, &found->error);
    if (found->status == STATUS_OK) {
        found->status = request_call(client, &options, &body, &answer, &found->error);
    }
    if (found->status == STATUS_OK) {
        found->status = take_answer(found, buffer_bytes(&answer));
        buffer_deinit(&answer);
    }
}

static bool is_no_master(const struct found *found)
{
    return found->status == STATUS_UNIMPLEMENTED || found->is_server;
}

static bool is_silent(const struct found *found)
{
    return found->status != STATUS_OK && !is_no_master(found);
}

static const char *state_of(const struct found *found)
{
    if (is_no_master(found)) {
        return "no master";
    }
    if (is_silent(found)) {
        return "silent";
    }
    switch (found->state) {
    case MASTER_ACTIVE:
        return "active";
    case MASTER_STANDBY:
        return "standby";
    default:
        return "in doubt";
    }
}

static struct edubba_master *write_masters(struct block *block, const struct search *search)
{
    struct edubba_master *masters = block_take(block, search->count * sizeof *masters);
    for (size_t i = 0; i < search->count; i++) {
        const struct found *found = &search->found[i];
        struct edubba_master master = {
            .address = block_text(block, bytes_of_text(found->address)),
            .state = state_of(found),
            .active = block_text(block, bytes_of_text(found->active)),
            .reign = found->reign,
            .cluster = found->cluster,
            .error = block_text(block, bytes_of_text(is_silent(found) ? found->error.text : "")),
        };
        if (masters != NULL) {
            masters[i] = master;
        }
    }
    return masters;
}

/* --- tablet servers that are away ------------------------------------------------------------- */

/* What is silent cannot say what it is; the active master knows every tablet server's address. */
static void note_servers(struct search *search, const struct servers_response *response)
{
    for (size_t i = 0; i < search->count; i++) {
        struct found *found = &search->found[i];
        for (size_t k = 0; k < response->server_count && is_silent(found); k++) {
            found->is_server = bytes_equal(bytes_of_text(found->address),
                                           response->servers[k].address);
        }
    }
}

/* Ask the active master which tablet servers there are: a silent address that is one of theirs is no master.
 * Where that fails it is told as a silent one. */
static void ask_for_servers(struct edubba_client *client,
                            struct search *search,
                            const struct found *active)
{
    const struct request_options options = {
        .method = METHOD_LIST_SERVERS,
        .address_text = active->address,
        .repeatable = true,
        .deadline_ms = patience_ms(search, 1),
        .unreachable_ms = 1,
    };
    struct servers_response response = {0};
    struct buffer body = BUFFER_INIT;
    struct buffer answer = BUFFER_INIT;
    struct error error = {0};
    struct arena arena;

    if (request_call(client, &options, &body, &answer, &error) != STATUS_OK) {
        return;
    }
    arena_init(&arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    if (servers_response_decode(buffer_bytes(&answer), &arena, &response, &error) == STATUS_OK) {
        note_servers(search, &response);
    }
    arena_deinit(&arena);
    buffer_deinit(&answer);
}

static void tell_servers_apart(struct edubba_client *client, struct search *search)
{
    const struct found *active = NULL;
    bool any_silent = false;
    for (size_t i = 0; i < search->count; i++) {
        const struct found *found = &search->found[i];
        any_silent |= is_silent(found);
        active = found->status == STATUS_OK && found->state == MASTER_ACTIVE ? found : active;
    }
    if (any_silent && active != NULL) {
        ask_for_servers(client, search, active);
    }
}

static void look(struct edubba_client *client, struct search *search)
{
    search->end_ns = clock_monotonic_ns() + client_blocking_deadline_ms(client) * NS_PER_MS;
    for (uint32_t i = 0; i < client->given_count; i++) {
        add(search, bytes_of_text(location_cache_address(&client->locations, client->masters[i])));
    }
    for (size_t i = 0; i < search->count; i++) {
        ask(client, &search->found[i], patience_ms(search, search->count - i));
        add(search, bytes_of_text(search->found[i].active));
    }
    tell_servers_apart(client, search);
}

enum edubba_code edubba_list_masters(const struct edubba_options *options,
                                     struct edubba_master **masters,
                                     size_t *count,
                                     struct edubba_error *error)
{
    struct edubba_client *client = NULL;
    struct block block = BLOCK_MEASURING;
    enum edubba_code code = client_open_unreached(options, &client, error);
    if (code != EDUBBA_OK) {
        return code;
    }
    struct search *search = memory_allocate_zeroed(1, sizeof *search);
    if (search != NULL) {
        look(client, search);
        (void)write_masters(&block, search);
        (void)block_allocate(&block); /* that it failed is said below */
    }
    edubba_client_close(client);
    if (block.memory == NULL) {
        memory_free(search);
        return client_no_memory(error);
    }
    *masters = write_masters(&block, search);
    *count = search->count;
    memory_free(search);
    return client_success(error);
}
