#include "tests/sim/server/sim_confirm.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

struct sim_awaited {
    struct sim_awaited *next;
    struct sim_work *work; /* NULL: a scan */
    struct sim_message scan;
    struct buffer payload; /* of it */
    uint64_t asked;
};

uint64_t sim_confirm_ask(struct sim_server *server)
{
    struct sim_peers *peers = &server->peers;
    if (!server->replicates || !server->sim->settings.reads_confirmed ||
        server->sim->planted == SIM_PLANTED_READS_UNCONFIRMED) {
        return 0;
    }
    peers->asked++;
    sim_seam_step_lease(server,
                        &(struct lease_event){.type = LEASE_EVENT_ASK, .asked = peers->asked});
    return peers->asked;
}

bool sim_confirm_is_awaited(const struct sim_server *server,
                            const struct sim_tablet *tablet,
                            uint64_t asked)
{
    return asked > 0 && tablet->replicated && sim_host_may_serve(server, tablet) &&
           !serving_confirmed(host_serving(sim_stored(tablet)), asked,
                              sim_boot_ns(server->sim, server->node));
}

static void await(struct sim_server *server, struct sim_awaited one)
{
    struct sim_awaited *awaited = memory_allocate_zeroed(1, sizeof *awaited);
    ASSERT(awaited != NULL);
    *awaited = one;
    awaited->next = server->peers.awaited;
    server->peers.awaited = awaited;
    server->sim->statistics.awaited++;
}

void sim_confirm_await_read(struct sim_server *server, struct sim_work *work)
{
    await(server, (struct sim_awaited){.work = work});
}

void sim_confirm_await_scan(struct sim_server *server,
                            const struct sim_message *message,
                            uint64_t asked)
{
    struct sim_awaited one = {.scan = *message, .payload = BUFFER_INIT, .asked = asked};
    buffer_append(&one.payload, message->payload.data, message->payload.size_bytes);
    await(server, one);
}

static void free_awaited(struct sim_awaited *awaited)
{
    buffer_deinit(&awaited->payload);
    memory_free(awaited);
}

/* Who has to wait on is awaited anew. */
void sim_confirm_look(struct sim_server *server)
{
    struct sim_awaited *awaited = server->peers.awaited;
    server->peers.awaited = NULL;
    while (awaited != NULL) {
        struct sim_awaited *next = awaited->next;
        if (awaited->work != NULL) {
            sim_answer_read(server, awaited->work);
        } else {
            awaited->scan.payload = buffer_bytes(&awaited->payload);
            sim_answer_scan_asked(server, &awaited->scan, awaited->asked);
        }
        free_awaited(awaited);
        awaited = next;
    }
}

void sim_confirm_destroy(struct sim_server *server)
{
    while (server->peers.awaited != NULL) {
        struct sim_awaited *next = server->peers.awaited->next;
        free_awaited(server->peers.awaited);
        server->peers.awaited = next;
    }
}
