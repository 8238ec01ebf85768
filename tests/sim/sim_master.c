#include "tests/sim/sim_master.h"

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tests/sim/sim_checker.h"
#include "tests/sim/sim_deposed.h"

#define TIMER_NUMBER 1

struct coordinator *sim_master_coordinator_create(struct sim *sim)
{
    const struct coordinator_identity identity = {1, prng_next(&sim->prng) | 1};
    struct coordinator *coordinator = NULL;
    struct error error = {.status = STATUS_OK};
    ASSERT(coordinator_create_memory(&identity, &coordinator, &error) == STATUS_OK);
    return coordinator;
}

static enum status take(void *context,
                        struct bytes key,
                        struct bytes value,
                        struct error *ret_error)
{
    return catalog_load(context, key, value, ret_error);
}

struct sim_master *sim_master_create(struct sim *sim, struct coordinator *coordinator)
{
    struct sim_master *master = memory_allocate_zeroed(1, sizeof *master);
    struct catalog_settings settings;
    struct error error = {.status = STATUS_OK};

    ASSERT(master != NULL);
    master->sim = sim;
    master->coordinator = coordinator;
    master->request_next = 1;
    master->tick_ns = CATALOG_NEVER;
    catalog_settings_default(&settings);
    settings.server_timeout_ns = sim->settings.server_timeout_ns;
    settings.place_timeout_ns = sim->settings.place_timeout_ns;
    settings.splits_per_server = sim->settings.splits_per_server;
    if (sim->settings.replicas > 1) {
        if (settings.sync_hold_ns > settings.server_timeout_ns / 3) {
            settings.sync_hold_ns = settings.server_timeout_ns / 3; /* or who is held is lost */
        }
        settings.replace_after_ns = sim->settings.replace_after_ns;
    }
    settings.soft_limit_start_bytes = sim->settings.soft_limit_bytes;
    settings.soft_limit_max_bytes = sim->settings.soft_limit_bytes * 4;
    sim_deposed_begin(sim);
    ASSERT(catalog_create(&settings, &master->catalog) == STATUS_OK);
    enum status status = coordinator_load(coordinator, take, master->catalog, &error);
    if (status == STATUS_OK) {
        status = catalog_load_end(master->catalog, sim->now_ns, &error);
    }
    if (status != STATUS_OK) {
        sim_fail(sim, "the master cannot load its catalog: %s", error.text);
    }
    return master;
}

/* --- commits ---------------------------------------------------------------------------------- */

/* Planted: a commit is lost now and then. */
static bool is_lost(struct sim_master *master)
{
    return master->sim->planted == SIM_PLANTED_LOSE_COMMIT && !master->sim->healed &&
           prng_chance(&master->sim->prng, 8);
}

static enum status commit(struct sim_master *master, struct error *ret_error)
{
    if (is_lost(master)) {
        return STATUS_OK;
    }
    enum status status = coordinator_commit(master->coordinator, master->puts, master->put_count,
                                            ret_error);
    if (status == STATUS_OK) {
        sim_checker_on_catalog(master->sim->checker, master->coordinator);
    }
    return status;
}

void sim_master_kill(struct sim_master *master)
{
    struct error error = {.status = STATUS_OK};
    bool on_its_way = master->transaction != 0 && master->puts != NULL;
    if (on_its_way && master->sim->settings.late_commits && prng_chance(&master->sim->prng, 2)) {
        sim_deposed_keep(master->sim, master->puts, master->put_count);
    } else if (on_its_way && prng_chance(&master->sim->prng, 2) &&
               commit(master, &error) != STATUS_OK) {
        sim_fail(master->sim, "the coordinator: %s", error.text);
    }
    catalog_destroy(master->catalog);
    memory_free(master);
}

/* --- effects ---------------------------------------------------------------------------------- */

static struct sim_master_request take_request(struct sim_master *master, uint64_t number)
{
    for (uint32_t i = 0; i < master->request_count; i++) {
        struct sim_master_request request = master->requests[i];
        if (request.number == number) {
            master->requests[i] = master->requests[--master->request_count];
            return request;
        }
    }
    sim_fail(master->sim, "the catalog answers request %llu, which is not open",
             (unsigned long long)number);
    return (struct sim_master_request){0};
}

static void reply(struct sim_master *master,
                  const struct catalog_effect *effect,
                  struct sim_effects *effects)
{
    struct sim_master_request request = take_request(master, effect->number);
    struct buffer message = effect->message;
    if (effect->status != STATUS_OK) {
        buffer_init(&message);
        response_head_encode(&(struct response_head){.status = (uint32_t)effect->status,
                                                     .text = bytes_of_text(effect->text)},
                             &message);
    }
    if (request.number == 0) {
        buffer_deinit(&message);
        return;
    }
    sim_effects_send(effects, request.from, FRAME_RESPONSE, (enum method)0, request.request,
                     &message);
}

static void step(struct sim_master *master,
                 struct catalog_event event,
                 struct sim_effects *effects);

static void perform(struct sim_master *master,
                    const struct catalog_effect *effect,
                    struct sim_effects *effects)
{
    switch (effect->type) {
    case CATALOG_EFFECT_PERSIST:
        ASSERT(master->transaction == 0);
        master->transaction = effect->number;
        master->puts = effect->puts;
        master->put_count = effect->put_count;
        sim_effects_add(effects,
                        &(struct sim_effect){.kind = SIM_EFFECT_COMMIT, .number = effect->number});
        break;
    case CATALOG_EFFECT_REPLY:
        reply(master, effect, effects);
        break;
    case CATALOG_EFFECT_LOG:
        sim_trace(master->sim, "master: %s table=%llu tablet=%llu server=%llu %s",
                  effect->note.event, (unsigned long long)effect->note.table,
                  (unsigned long long)effect->note.tablet, (unsigned long long)effect->note.server,
                  effect->note.text);
        break;
    case CATALOG_EFFECT_LOAD:
        located_report_destroy(effect->load);
        break;
    }
}

static void set_timer(struct sim_master *master, struct sim_effects *effects)
{
    int64_t due_ns = catalog_deadline_ns(master->catalog);
    if (due_ns != CATALOG_NEVER &&
        (due_ns < master->tick_ns || master->tick_ns < master->sim->now_ns)) {
        int64_t delay_ns = due_ns - master->sim->now_ns;
        delay_ns = delay_ns < 1000 ? 1000 : delay_ns;
        master->tick_ns = master->sim->now_ns + delay_ns;
        sim_effects_timer(effects, TIMER_NUMBER, delay_ns);
    }
}

static void step(struct sim_master *master, struct catalog_event event, struct sim_effects *effects)
{
    struct catalog_effects wanted;
    event.now_ns = master->sim->now_ns;
    event.now_us = sim_wall_us(master->sim, SIM_MASTER);
    ASSERT(catalog_step(master->catalog, &event, &wanted) == STATUS_OK);
    for (size_t i = 0; i < wanted.count; i++) {
        perform(master, &wanted.items[i], effects);
    }
    catalog_check(master->catalog);
    set_timer(master, effects);
}

void sim_master_start(struct sim_master *master, struct sim_effects *effects)
{
    step(master, (struct catalog_event){.type = CATALOG_EVENT_TICK}, effects);
}

void sim_master_on_timer(struct sim_master *master, struct sim_effects *effects)
{
    master->tick_ns = CATALOG_NEVER; /* it has come */
    step(master, (struct catalog_event){.type = CATALOG_EVENT_TICK}, effects);
}

void sim_master_on_committed(struct sim_master *master,
                             uint64_t number,
                             struct sim_effects *effects)
{
    struct error error = {.status = STATUS_OK};
    struct catalog_event event = {.number = number, .error = &error};

    ASSERT(number == master->transaction);
    if (sim_chance(master->sim, master->sim->settings.commit_failure)) {
        event.type = CATALOG_EVENT_PERSIST_FAILED;
        (void)error_set(&error, STATUS_NO_SPACE, "no space left (made to fail)");
    } else {
        event.type = commit(master, &error) == STATUS_OK ? CATALOG_EVENT_PERSISTED
                                                         : CATALOG_EVENT_PERSIST_FAILED;
    }
    master->transaction = 0;
    master->puts = NULL;
    step(master, event, effects);
}

/* --- messages --------------------------------------------------------------------------------- */

static void say_hello(struct sim_master *master,
                      const struct sim_message *message,
                      struct sim_effects *effects)
{
    struct buffer out = BUFFER_INIT;
    hello_ack_encode(&(struct hello_ack){.version = WIRE_VERSION,
                                         .now_us = sim_wall_us(master->sim, SIM_MASTER)},
                     &out);
    sim_effects_send(effects, message->from, FRAME_HELLO_ACK, (enum method)0, message->request,
                     &out);
}

void sim_master_on_message(struct sim_master *master,
                           const struct sim_message *message,
                           struct sim_effects *effects)
{
    struct request_head head;
    struct bytes body;
    struct error error = {.status = STATUS_OK};

    if (message->type == FRAME_HELLO) {
        say_hello(master, message, effects);
        return;
    }
    if (request_head_decode(message->payload, &head, &body, &error) != STATUS_OK) {
        sim_fail(master->sim, "a request's head does not decode: %s", error.text);
        return;
    }
    if (master->request_count == SIM_MASTER_REQUESTS_MAX) {
        return; /* as if lost */
    }
    struct catalog_event event = {
        .type = CATALOG_EVENT_REQUEST,
        .number = master->request_next++,
        .method = message->method,
        .body = body,
        .deadline_ns = head.deadline_ms == 0 ? 0 : master->sim->now_ns + head.deadline_ms * SIM_MS,
    };
    master->requests[master->request_count++] = (struct sim_master_request){
        event.number, message->from, message->request};
    step(master, event, effects);
}
