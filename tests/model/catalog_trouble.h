/*
 * What goes wrong around the catalog of test_catalog_model.c: servers restart, lose what they hold and change their disks,
 * answers are lost, commits fail, and masters die before or after one.
 */
#ifndef TESTS_MODEL_CATALOG_TROUBLE_H
#define TESTS_MODEL_CATALOG_TROUBLE_H

#include "tests/model/catalog_truth.h"

/* --- servers ---------------------------------------------------------------------------------- */

static void lose_something(struct fake_server *server)
{
    if (server->held_count > 0) {
        size_t index = below(server->held_count);
        if (chance(2)) {
            server->held[index].state = server->held[index].state == HELD_FAILED ? HELD_SERVING
                                                                                 : HELD_FAILED;
        } else {
            server->held[index] = server->held[--server->held_count];
        }
    }
}

/* The disk is replaced by an empty one: a new store number, and nothing on it. */
static void wipe(struct fake_server *server)
{
    server->stores[0].number = model.store_next++;
    server->held_count = 0;
    server->incarnation++;
}

static void restart(struct fake_server *server)
{
    server->incarnation++;
    server->known_version = 0;
    for (size_t i = 0; i < server->held_count; i++) {
        if (server->held[i].state == HELD_CREATED) {
            server->held[i].state = HELD_SERVING;
        }
    }
    if (chance(3)) {
        snprintf(server->address, sizeof server->address, "tcp://127.0.0.1:%lu",
                 (unsigned long)(10000 + below(1000)));
    }
}

static void wish(struct fake_server *server)
{
    static char rows[64][16];
    static size_t next;
    if (server->held_count > 0) {
        struct held_tablet *held = &server->held[below(server->held_count)];
        held->wants_split = true;
        held->size_bytes = UINT64_C(1) << 40;
        held->split_row = bytes_of_text(random_row(rows[next++ % 64]));
    }
}

static void disturb(struct fake_server *server)
{
    switch (below(12)) {
    case 0:
        if (model.losses) {
            lose_something(server);
        }
        break;
    case 1:
        if (model.losses && chance(4)) {
            wipe(server);
        }
        break;
    case 2:
        restart(server);
        break;
    case 3:
        server->stores[0].condition = (uint32_t)below(3);
        break;
    default:
        wish(server);
        break;
    }
}

/* It was moved, and is taken for a copy until its former self was not heard of for a time. */
static bool is_taken_for_copy(uint64_t request)
{
    const struct driver_reply *reply = driver_reply(&model.driver, request);
    return reply != NULL && reply->status == STATUS_PERMISSION_DENIED &&
           strstr(reply->text, "must end if its folder is a copy") != NULL;
}

static void sync_one(void)
{
    struct fake_server *server = &model.servers[below(SERVERS)];
    if (chance(6)) {
        disturb(server);
    }
    uint64_t request = fake_send(&model.driver, server);
    if (model.crashed || chance(8)) {
        return; /* the answer is lost */
    }
    if (driver_reply(&model.driver, request) != NULL && !is_taken_for_copy(request)) {
        fake_take(&model.driver, server, request);
    }
}

static void wake_everyone(void)
{
    for (size_t i = 0; i < SERVERS; i++) {
        struct fake_server *server = &model.servers[i];
        server->stores[0].condition = 0;
        uint64_t request = fake_send(&model.driver, server);
        if (is_taken_for_copy(request)) {
            driver_pass(&model.driver, 4 * SECOND_NS);
            request = fake_send(&model.driver, server);
        }
        fake_take(&model.driver, server, request);
    }
}

/* --- commits ---------------------------------------------------------------------------------- */

/* The pending transaction: it commits, fails, or the master dies before or after. */
static void resolve_commit(void)
{
    struct driver *driver = &model.driver;
    if (driver->transaction == 0) {
        return;
    }
    switch (below(16)) {
    case 0:
        model.crashed = true;
        driver_crash(driver);
        break;
    case 1:
        cr_assert_eq(coordinator_commit(driver->coordinator, driver->puts, driver->put_count, NULL),
                     STATUS_OK);
        model.crashed = true;
        driver_crash(driver);
        break;
    case 2:
        coordinator_memory_fail(driver->coordinator, 0, 1);
        (void)driver_commit(driver);
        break;
    default:
        (void)driver_commit(driver);
        break;
    }
}

/* Until the request is answered, the master died, or patience ends. */
static const struct driver_reply *await(uint64_t request)
{
    for (int i = 0; i < 400 && !model.crashed; i++) {
        const struct driver_reply *reply = driver_reply(&model.driver, request);
        if (reply != NULL) {
            return reply;
        }
        resolve_commit();
        if (!model.crashed) {
            sync_one();
            driver_pass(&model.driver, SECOND_NS / 10);
        }
    }
    cr_assert(model.crashed, "a request was never answered");
    return NULL;
}

#endif /* TESTS_MODEL_CATALOG_TROUBLE_H */
