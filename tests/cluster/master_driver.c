/*
 * Drives a real edubba-master from outside, for test_master.sh:
 *
 *   master_driver serve ADDRESS NUMBER         be a tablet server that holds what it is told to
 *   master_driver create ADDRESS PREFIX        create tables until killed; print each acknowledged
 *                                              one as "NAME NUMBER TABLETS"
 *   master_driver check ADDRESS < acknowledged every one is there as it was, covering the key space
 *   master_driver split ADDRESS < acknowledged  split each, print it as it should be then
 *   master_driver delete ADDRESS < acknowledged delete them all
 *
 * Both serve and create go on through restarts of the master.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/io/clock.h"
#include "tests/support/blocking_client.h"

#define HELD_MAX  100000
#define NAME_SIZE 64

static void die(const char *what, const char *text)
{
    fprintf(stderr, "master_driver: %s: %s\n", what, text);
    exit(1);
}

static void connect_again(struct blocking_client *client, const char *address)
{
    blocking_close(client);
    while (blocking_open(client, address) != STATUS_OK) {
        clock_sleep_us(10000);
    }
}

/* --- serve ------------------------------------------------------------------------------------ */

struct server {
    uint64_t number;
    uint64_t known_version;
    uint64_t known_generation;
    struct held_tablet *held;
    size_t held_count;
};

static bool holds(const struct server *server, uint64_t tablet)
{
    for (size_t i = 0; i < server->held_count; i++) {
        if (server->held[i].tablet == tablet) {
            return true;
        }
    }
    return false;
}

static void obey(struct server *server, const struct sync_response *response)
{
    for (size_t i = 0; i < response->tablet_count; i++) {
        const struct assigned_tablet *tablet = &response->tablets[i];
        bool mine = !tablet->removed && tablet->location.server == server->number;
        if (mine && tablet->location.state == TABLET_CREATING &&
            !holds(server, tablet->location.tablet) && server->held_count < HELD_MAX) {
            server->held[server->held_count++] = (struct held_tablet){
                .tablet = tablet->location.tablet, .store = tablet->store, .state = HELD_CREATED};
        }
    }
    server->known_version = response->version;
    server->known_generation = response->generation;
}

static enum status sync_once(struct server *server,
                             struct blocking_client *client,
                             struct arena *arena,
                             uint32_t *ret_interval_ms)
{
    char address[64];
    struct buffer body = BUFFER_INIT;
    struct bytes answer;
    struct sync_response response;
    const struct store_information store = {.number = server->number * 10,
                                            .folder = bytes_of_text("none"),
                                            .free_bytes = UINT64_C(1) << 40};
    snprintf(address, sizeof address, "tcp://127.0.0.1:%" PRIu64, 20000 + server->number);
    const struct sync_request sync = {
        .server = {.number = server->number,
                   .address = bytes_of_text(address),
                   .incarnation = 1,
                   .stores = &store,
                   .store_count = 1},
        .known_version = server->known_version,
        .known_generation = server->known_generation,
        .full = true,
        .held = server->held,
        .held_count = server->held_count,
    };
    sync_request_encode(&sync, &body);
    enum status status = blocking_call(client, METHOD_SYNC, &body, 5000, &answer, NULL);
    if (status == STATUS_OK) {
        arena_reset(arena);
        status = sync_response_decode(answer, arena, &response, NULL);
    }
    if (status == STATUS_OK) {
        obey(server, &response);
        *ret_interval_ms = response.more ? 0 : response.interval_ms;
    }
    return status;
}

static void serve(const char *address, uint64_t number)
{
    struct blocking_client client = {0};
    struct server server = {.number = number};
    struct arena arena;

    arena_init(&arena, 65536, SIZE_MAX);
    server.held = memory_allocate_zeroed(HELD_MAX, sizeof *server.held);
    connect_again(&client, address);
    for (;;) {
        uint32_t interval_ms = 10;
        if (sync_once(&server, &client, &arena, &interval_ms) != STATUS_OK) {
            clock_sleep_us(20000);
            connect_again(&client, address);
        }
        clock_sleep_us((int64_t)interval_ms * 1000);
    }
}

/* --- create ----------------------------------------------------------------------------------- */

static enum status create_table(struct blocking_client *client,
                                const char *name,
                                struct arena *arena,
                                struct table_response *ret_response,
                                struct error *ret_error)
{
    struct family family = {.name = bytes_of_text("f")};
    const struct bytes splits[] = {bytes_of_text("h"), bytes_of_text("q")};
    struct buffer body = BUFFER_INIT;
    struct bytes answer;
    const struct create_table_request create = {
        .table = {.id = bytes_of_text(name), .families = &family, .family_count = 1},
        .splits = splits,
        .split_count = 2,
    };
    create_table_request_encode(&create, &body);
    enum status status = blocking_call(client, METHOD_CREATE_TABLE, &body, 5000, &answer,
                                       ret_error);
    if (status == STATUS_OK) {
        arena_reset(arena);
        status = table_response_decode(answer, arena, ret_response, ret_error);
    }
    return status;
}

/* Each name is tried once: what was not acknowledged may or may not be there. */
static void create(const char *address, const char *prefix)
{
    struct blocking_client client = {0};
    struct arena arena;

    arena_init(&arena, 65536, SIZE_MAX);
    connect_again(&client, address);
    for (unsigned i = 0;; i++) {
        char name[NAME_SIZE];
        struct table_response response;
        struct error error = {0};
        snprintf(name, sizeof name, "%s-%u", prefix, i);
        enum status status = create_table(&client, name, &arena, &response, &error);
        if (status == STATUS_OK) {
            printf("%s %" PRIu64 " %u\n", name, response.table.number, response.tablet_count);
            fflush(stdout);
        } else if (status == STATUS_CLOSED) {
            clock_sleep_us(20000);
            connect_again(&client, address);
        } else if (status != STATUS_UNAVAILABLE && status != STATUS_DEADLINE_EXCEEDED) {
            die(name, error.text);
        } else {
            clock_sleep_us(5000);
        }
    }
}

/* --- check ------------------------------------------------------------------------------------ */

static void check_table(struct blocking_client *client,
                        struct arena *arena,
                        const char *name,
                        uint64_t number,
                        unsigned tablets)
{
    struct buffer body = BUFFER_INIT;
    struct bytes answer;
    struct bytes end = BYTES_EMPTY;
    struct error error = {0};
    struct locate_response where;
    const struct locate_request locate = {.name = bytes_of_text(name), .count_max = 1000};

    locate_request_encode(&locate, &body);
    if (blocking_call(client, METHOD_LOCATE, &body, 5000, &answer, &error) != STATUS_OK) {
        die(name, error.text);
    }
    arena_reset(arena);
    if (locate_response_decode(answer, arena, &where, &error) != STATUS_OK) {
        die(name, error.text);
    }
    if (where.table.number != number || where.location_count != tablets) {
        die(name, "is another table, or has other tablets, than was acknowledged");
    }
    for (size_t i = 0; i < where.location_count; i++) {
        const struct location *location = &where.locations[i];
        if (!bytes_equal(location->range.start, end) || location->state != TABLET_SERVING ||
            location->server == 0) {
            die(name, "has a gap, or a tablet that does not serve");
        }
        end = location->range.end;
    }
    if (end.size_bytes != 0) {
        die(name, "does not reach the end");
    }
}

static void check(const char *address)
{
    struct blocking_client client = {0};
    struct arena arena;
    char name[NAME_SIZE];
    uint64_t number = 0;
    uint64_t number_last = 0;
    unsigned tablets = 0;
    size_t count = 0;

    arena_init(&arena, 65536, SIZE_MAX);
    connect_again(&client, address);
    while (scanf("%63s %" SCNu64 " %u", name, &number, &tablets) == 3) {
        if (number <= number_last) {
            die(name, "its number was given before");
        }
        number_last = number;
        check_table(&client, &arena, name, number, tablets);
        count++;
    }
    printf("%zu acknowledged tables are all there\n", count);
    blocking_close(&client);
    arena_deinit(&arena);
    if (count == 0) {
        die("check", "nothing was acknowledged");
    }
}

/* --- split ------------------------------------------------------------------------------------ */

/* Split each at "m", and print what it should be now. */
static void split_all(const char *address)
{
    struct blocking_client client = {0};
    char name[NAME_SIZE];
    uint64_t number = 0;
    unsigned tablets = 0;

    connect_again(&client, address);
    while (scanf("%63s %" SCNu64 " %u", name, &number, &tablets) == 3) {
        struct buffer body = BUFFER_INIT;
        struct bytes answer;
        struct error error = {0};
        const struct split_request split = {bytes_of_text(name), bytes_of_text("m")};
        split_request_encode(&split, &body);
        if (blocking_call(&client, METHOD_SPLIT_TABLET, &body, 5000, &answer, &error) !=
            STATUS_OK) {
            die(name, error.text);
        }
        printf("%s %" PRIu64 " %u\n", name, number, tablets + 1);
    }
    blocking_close(&client);
}

/* --- delete ----------------------------------------------------------------------------------- */

/* Delete exactly what is named, and only if it is still the table of that number. */
static void delete_all(const char *address)
{
    struct blocking_client client = {0};
    struct arena arena;
    char name[NAME_SIZE];
    uint64_t number = 0;
    unsigned tablets = 0;

    arena_init(&arena, 65536, SIZE_MAX);
    connect_again(&client, address);
    while (scanf("%63s %" SCNu64 " %u", name, &number, &tablets) == 3) {
        struct buffer body = BUFFER_INIT;
        struct bytes answer;
        struct error error = {0};
        const struct table_name_request request = {bytes_of_text(name)};
        check_table(&client, &arena, name, number, tablets);
        table_name_request_encode(&request, &body);
        if (blocking_call(&client, METHOD_DELETE_TABLE, &body, 5000, &answer, &error) !=
            STATUS_OK) {
            die(name, error.text);
        }
    }
    blocking_close(&client);
    arena_deinit(&arena);
}

int main(int argument_count, char **arguments)
{
    if (argument_count == 4 && strcmp(arguments[1], "serve") == 0) {
        serve(arguments[2], strtoull(arguments[3], NULL, 10));
    } else if (argument_count == 4 && strcmp(arguments[1], "create") == 0) {
        create(arguments[2], arguments[3]);
    } else if (argument_count == 3 && strcmp(arguments[1], "check") == 0) {
        check(arguments[2]);
    } else if (argument_count == 3 && strcmp(arguments[1], "split") == 0) {
        split_all(arguments[2]);
    } else if (argument_count == 3 && strcmp(arguments[1], "delete") == 0) {
        delete_all(arguments[2]);
    } else {
        die("usage", "serve ADDRESS NUMBER | create ADDRESS PREFIX | check|split|delete ADDRESS");
    }
    return 0;
}
