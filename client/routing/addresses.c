#include "client/routing/addresses.h"

#include "client/routing/lane.h"
#include "client/routing/request.h"
#include "common/base/memory.h"

#define ADDRESSES_MAX 1024 /* at first */
#define NS_PER_S      INT64_C(1000000000)
#define SOON_NS       (3600 * NS_PER_S) /* so many within this time are there all at once */
#define LATELY_NS     (600 * NS_PER_S) /* an idle connection may have been cut off since, unheard */

/* What they become. */
struct thinning {
    struct location_cache kept; /* the addresses; no locations */
    uint32_t *numbers;          /* by the old ones; LOCATION_NOT_SERVED = it is not kept */
    uint32_t count;             /* of the old ones */
};

void addresses_begin(struct edubba_client *client, int64_t now_ns)
{
    client->addresses_max = ADDRESSES_MAX;
    client->addresses_thinned_ns = now_ns;
}

/* --- which are kept --------------------------------------------------------------------------- */

static void keep(struct thinning *thinning, uint32_t address)
{
    if (address < thinning->count) { /* else it stands for none */
        thinning->numbers[address] = 0;
    }
}

static void keep_of_request(struct thinning *thinning, const struct request *request)
{
    keep(thinning, request->address);
    keep(thinning, request->asked);
    for (uint32_t i = 0; i < request->ask_first_count; i++) {
        keep(thinning, request->ask_first[i]);
    }
}

static void choose(struct thinning *thinning, const struct edubba_client *client)
{
    int64_t lately_ns = client->loop.now_ns - LATELY_NS;
    for (uint32_t i = 0; i < client->given_count; i++) {
        keep(thinning, i);
    }
    for (uint32_t i = 0; i < client->master_count; i++) {
        keep(thinning, client->masters[i]);
    }
    for (uint32_t i = 0; i < client->lane_capacity; i++) {
        if (client->lanes[i] != NULL && lane_is_in_use(client->lanes[i], lately_ns)) {
            keep(thinning, client->lanes[i]->address);
        }
    }
    for (struct list_link *at = client->requests.next; at != &client->requests; at = at->next) {
        keep_of_request(thinning, LIST_ELEMENT(at, struct request, link));
    }
}

/* Those that were given are the first, and keep their numbers by that.  False without memory. */
static bool number(struct thinning *thinning, const struct edubba_client *client)
{
    for (uint32_t i = 0; i < thinning->count; i++) {
        const char *address = location_cache_address(&client->locations, i);
        if (thinning->numbers[i] != LOCATION_NOT_SERVED &&
            location_cache_intern(&thinning->kept, bytes_of_text(address), &thinning->numbers[i]) !=
                STATUS_OK) {
            return false;
        }
    }
    return true;
}

/* --- the new numbers -------------------------------------------------------------------------- */

static uint32_t new_number(const struct thinning *thinning, uint32_t address)
{
    return address < thinning->count ? thinning->numbers[address] : address;
}

static void renumber_request(const struct thinning *thinning, struct request *request)
{
    request->address = new_number(thinning, request->address);
    request->asked = new_number(thinning, request->asked);
    for (uint32_t i = 0; i < request->ask_first_count; i++) {
        request->ask_first[i] = new_number(thinning, request->ask_first[i]);
    }
}

/* False without memory: nothing was changed. */
static bool apply(struct thinning *thinning, struct edubba_client *client)
{
    if (!lanes_renumber(client, thinning->numbers, thinning->kept.address_count)) {
        return false;
    }
    for (uint32_t i = 0; i < client->master_count; i++) {
        client->masters[i] = new_number(thinning, client->masters[i]);
    }
    for (struct list_link *at = client->requests.next; at != &client->requests; at = at->next) {
        renumber_request(thinning, LIST_ELEMENT(at, struct request, link));
    }
    location_cache_deinit(&client->locations);
    client->locations = thinning->kept;
    location_cache_init(&thinning->kept);
    return true;
}

static void thin_out(struct edubba_client *client)
{
    struct thinning thinning = {.count = client->locations.address_count};
    location_cache_init(&thinning.kept);
    thinning.numbers = memory_allocate(thinning.count * sizeof *thinning.numbers);
    if (thinning.numbers == NULL) {
        return;
    }
    for (uint32_t i = 0; i < thinning.count; i++) {
        thinning.numbers[i] = LOCATION_NOT_SERVED;
    }
    choose(&thinning, client);
    if (number(&thinning, client) && apply(&thinning, client)) {
        uint32_t twice = 2 * client->locations.address_count;
        client->addresses_max = twice > ADDRESSES_MAX ? twice : ADDRESSES_MAX;
        client->addresses_thinned_ns = client->loop.now_ns;
    }
    location_cache_deinit(&thinning.kept);
    memory_free(thinning.numbers);
}

void addresses_bound(struct edubba_client *client)
{
    if (client->locations.address_count <= client->addresses_max) {
        return;
    }
    if (client->loop.now_ns - client->addresses_thinned_ns < SOON_NS) {
        client->addresses_max *= 2;
    } else {
        thin_out(client);
    }
}
