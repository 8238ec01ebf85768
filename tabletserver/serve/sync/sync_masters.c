#include "tabletserver/serve/sync/sync_masters.h"

#include <string.h>

#include "common/io/transport/transport_address.h"

#define PLACES        (SYNC_MASTERS_MAX + 1)
#define ADDRESS_SHOWN 40 /* of one that is too long */

/* count: it is not there. */
static uint32_t find(const struct sync_masters *masters, struct bytes address)
{
    uint32_t at = 0;
    while (at < masters->count && !bytes_equal(bytes_of_text(masters->addresses[at]), address)) {
        at++;
    }
    return at;
}

static enum status give(struct sync_masters *masters, struct bytes address, struct error *ret_error)
{
    if (address.size_bytes >= SYNC_ADDRESS_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "masters: address %.*s... is too long: at most %d bytes are allowed",
                         ADDRESS_SHOWN, (const char *)address.data, SYNC_ADDRESS_BYTES - 1);
    }
    if (find(masters, address) < masters->count) {
        return STATUS_OK;
    }
    if (masters->count == SYNC_MASTERS_MAX) {
        return error_set(
            ret_error, STATUS_INVALID_ARGUMENT,
            "masters: with %.*s there are more than the %d that are allowed: leave it out",
            (int)address.size_bytes, (const char *)address.data, SYNC_MASTERS_MAX);
    }
    char *copy = masters->addresses[masters->count++];
    memcpy(copy, address.data, address.size_bytes);
    masters->given = masters->count;
    enum status status = transport_address_check_dial(copy, ret_error);
    return status == STATUS_OK ? STATUS_OK : error_prefix(ret_error, "masters");
}

enum status sync_masters_parse(const char *masters,
                               struct sync_masters *ret_masters,
                               struct error *ret_error)
{
    *ret_masters = (struct sync_masters){0};
    for (const char *at = masters + strspn(masters, ", "); *at != '\0';) {
        size_t length = strcspn(at, ", ");
        enum status status = give(ret_masters, bytes_of(at, length), ret_error);
        if (status != STATUS_OK) {
            return status;
        }
        at += length;
        at += strspn(at, ", ");
    }
    return ret_masters->count > 0
               ? STATUS_OK
               : error_set(ret_error, STATUS_INVALID_ARGUMENT, "masters: no address given");
}

/* The next place of one that was learned; PLACES: all of them are in use. */
static uint32_t take_place(struct sync_masters *masters, const uint32_t in_use[2])
{
    uint32_t learned = PLACES - masters->given;
    if (masters->count < PLACES) {
        return masters->count++;
    }
    for (uint32_t i = 0; i < learned; i++) {
        uint32_t at = masters->given + masters->turn;
        masters->turn = (masters->turn + 1) % learned;
        if (at != in_use[0] && at != in_use[1]) {
            return at;
        }
    }
    return PLACES;
}

uint32_t sync_masters_learn(struct sync_masters *masters,
                            struct bytes address,
                            const uint32_t in_use[2])
{
    char text[SYNC_ADDRESS_BYTES] = "";
    uint32_t at = find(masters, address);
    if (at < masters->count || address.size_bytes >= SYNC_ADDRESS_BYTES) {
        return at;
    }
    memcpy(text, address.data, address.size_bytes);
    if (transport_address_check_dial(text, NULL) != STATUS_OK) {
        return at;
    }
    at = take_place(masters, in_use);
    if (at == PLACES) {
        return masters->count;
    }
    memcpy(masters->addresses[at], text, sizeof text);
    return at;
}
