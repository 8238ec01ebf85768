/* Who is the active master, by asking all of them. */
#include "client/include/edubba_masters.h"

#include "client/block.h"
#include "client/client.h"
#include "client/request.h"
#include "common/base/memory.h"
#include "common/io/transport_address.h"

#define ANSWER_MS         1000
#define ARENA_BLOCK_BYTES 512
#define ADDRESS_BYTES_MAX 256

/* What one of them said. */
struct found {
    char address[ADDRESS_BYTES_MAX];
    enum status status;
    struct error error;
    uint32_t state;
    char active[ADDRESS_BYTES_MAX];
    uint64_t reign;
    uint64_t cluster;
};

struct search {
    struct found found[EDUBBA_MASTERS_MAX];
    size_t count;
};

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

static void ask(struct edubba_client *client, struct found *found)
{
    const struct request_options options = {
        .method = METHOD_MASTER,
        .address_text = found->address,
        .repeatable = true,
        .deadline_ms = ANSWER_MS,
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

static const char *state_of(const struct found *found)
{
    if (found->status == STATUS_UNIMPLEMENTED) {
        return "no master";
    }
    if (found->status != STATUS_OK) {
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
        bool silent = found->status != STATUS_OK && found->status != STATUS_UNIMPLEMENTED;
        struct edubba_master master = {
            .address = block_text(block, bytes_of_text(found->address)),
            .state = state_of(found),
            .active = block_text(block, bytes_of_text(found->active)),
            .reign = found->reign,
            .cluster = found->cluster,
            .error = block_text(block, bytes_of_text(silent ? found->error.text : "")),
        };
        if (masters != NULL) {
            masters[i] = master;
        }
    }
    return masters;
}

static void look(struct edubba_client *client, struct search *search)
{
    for (uint32_t i = 0; i < client->given_count; i++) {
        add(search, bytes_of_text(location_cache_address(&client->locations, client->masters[i])));
    }
    for (size_t i = 0; i < search->count; i++) {
        ask(client, &search->found[i]);
        add(search, bytes_of_text(search->found[i].active));
    }
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
