#include "tests/sim/master/sim_master.h"

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tests/sim/master/sim_etcd.h"

/* Kinds of timers; above them, in steps of 8, the number of what they are about. */
#define TIMER_TICK    UINT64_C(1)
#define TIMER_WAIT    UINT64_C(2) /* the election has nothing to ask until then */
#define TIMER_SILENCE UINT64_C(3) /* no answer to the election's question */
#define TIMER_LOADED  UINT64_C(4)
#define TIMER_KINDS   UINT64_C(8)

#define QUESTION_PATIENCE_NS (1 * SIM_S) /* as etcd_election.c */
#define SUSPENDED_PAUSE_NS   (20 * SIM_MS)
#define SLOW_NS              (500 * SIM_MS) /* a commit takes a tenth of that when all is well */
#define TRANSACTION_BITS     32 /* below them the catalog's number, above them the reign */

struct coordinator *sim_master_coordinator_create(struct sim *sim)
{
    const struct coordinator_identity identity = {1, prng_next(&sim->prng) | 1};
    struct coordinator *coordinator = NULL;
    struct error error = {.status = STATUS_OK};
    ASSERT(coordinator_create_memory(&identity, &coordinator, &error) == STATUS_OK);
    return coordinator;
}

struct sim_master *sim_master_create(struct sim *sim, uint32_t node)
{
    struct sim_master *master = memory_allocate_zeroed(1, sizeof *master);
    struct election_settings settings;
    ASSERT(master != NULL);
    master->sim = sim;
    master->node = node;
    master->elected = sim->settings.masters > 1;
    master->request_next = 1;
    election_settings_default(&settings);
    election_init(&master->election, &settings);
    return master;
}

void sim_master_kill(struct sim_master *master)
{
    catalog_destroy(master->catalog);
    memory_free(master);
}

/* The clock that its election goes by. */
static int64_t clock_ns(const struct sim_master *master)
{
    return sim_boot_ns(master->sim, master->node);
}

static bool may_act(const struct sim_master *master)
{
    return master->catalog != NULL &&
           (!master->elected || (master->election.reign == master->reign &&
                                 election_may_act(&master->election, clock_ns(master))));
}

/* --- answers ---------------------------------------------------------------------------------- */

static void answer(struct sim_effects *effects,
                   const struct sim_master_request *request,
                   struct buffer *message)
{
    sim_effects_send(effects, request->from, FRAME_RESPONSE, (enum method)0, request->request,
                     message);
}

static void refuse(struct sim_effects *effects,
                   const struct sim_master_request *request,
                   enum status status,
                   const char *text)
{
    struct buffer message = BUFFER_INIT;
    response_head_encode(
        &(struct response_head){.status = (uint32_t)status, .text = bytes_of_text(text)}, &message);
    answer(effects, request, &message);
}

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

/* Does the answer tell of what this master believes?  (As master/shell/reign.c has it.) */
static bool is_belief(enum method method, enum status status)
{
    bool is_change = method == METHOD_CREATE_TABLE || method == METHOD_DELETE_TABLE ||
                     method == METHOD_ALTER_TABLE || method == METHOD_SPLIT_TABLET ||
                     method == METHOD_PUT_DOCUMENTS;
    return status == STATUS_OK ? !is_change
                               : status != STATUS_UNAVAILABLE && status != STATUS_DEADLINE_EXCEEDED;
}

static void reply(struct sim_master *master,
                  const struct catalog_effect *effect,
                  struct sim_effects *effects)
{
    struct sim_master_request request = take_request(master, effect->number);
    struct buffer message = effect->message;
    if (is_belief(request.method, effect->status) && !may_act(master)) {
        buffer_deinit(&message);
        refuse(effects, &request, STATUS_UNAVAILABLE, "this master may not be the active one");
    } else if (effect->status != STATUS_OK) {
        refuse(effects, &request, effect->status, effect->text);
    } else {
        answer(effects, &request, &message);
    }
}

/* --- the catalog ------------------------------------------------------------------------------ */

static void persist(struct sim_master *master,
                    const struct catalog_effect *effect,
                    struct sim_effects *effects)
{
    ASSERT(master->transaction == 0);
    master->transaction = effect->number;
    master->puts = effect->puts;
    master->put_count = effect->put_count;
    sim_effects_add(effects,
                    &(struct sim_effect){.kind = SIM_EFFECT_COMMIT, .number = effect->number});
}

static void perform(struct sim_master *master,
                    const struct catalog_effect *effect,
                    struct sim_effects *effects)
{
    switch (effect->type) {
    case CATALOG_EFFECT_PERSIST:
        persist(master, effect, effects);
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

/* One that is suspended looks now and then whether it still is. */
static void set_tick(struct sim_master *master, struct sim_effects *effects)
{
    int64_t now_ns = master->sim->now_ns;
    int64_t due_ns = may_act(master) ? catalog_deadline_ns(master->catalog)
                                     : now_ns + SUSPENDED_PAUSE_NS;
    if (due_ns != CATALOG_NEVER && (due_ns < master->tick_ns || master->tick_ns < now_ns)) {
        int64_t delay_ns = due_ns - now_ns < 1000 ? 1000 : due_ns - now_ns;
        master->tick_ns = now_ns + delay_ns;
        sim_effects_timer(effects, TIMER_TICK, delay_ns);
    }
}

static void step(struct sim_master *master, struct catalog_event event, struct sim_effects *effects)
{
    struct catalog_effects wanted;
    event.now_ns = master->sim->now_ns;
    event.now_us = sim_wall_us(master->sim, master->node);
    ASSERT(catalog_step(master->catalog, &event, &wanted) == STATUS_OK);
    for (size_t i = 0; i < wanted.count; i++) {
        perform(master, &wanted.items[i], effects);
    }
    catalog_check(master->catalog);
    set_tick(master, effects);
}

static void tick(struct sim_master *master, struct sim_effects *effects)
{
    if (may_act(master)) {
        step(master, (struct catalog_event){.type = CATALOG_EVENT_TICK}, effects);
    } else if (master->catalog != NULL) {
        set_tick(master, effects);
    }
}

/* --- reigns ----------------------------------------------------------------------------------- */

static void settings_of(const struct sim *sim, struct catalog_settings *settings)
{
    catalog_settings_default(settings);
    settings->server_timeout_ns = sim->settings.server_timeout_ns;
    settings->place_timeout_ns = sim->settings.place_timeout_ns;
    settings->splits_per_server = sim->settings.splits_per_server;
    if (sim->settings.replicas > 1) {
        if (settings->sync_hold_ns > settings->server_timeout_ns / 3) {
            settings->sync_hold_ns = settings->server_timeout_ns / 3; /* or who is held is lost */
        }
        settings->replace_after_ns = sim->settings.replace_after_ns;
        if (sim->settings.keep_outsiders_ns != 0) {
            settings->keep_outsiders_ns = sim->settings.keep_outsiders_ns;
        }
    }
    settings->soft_limit_start_bytes = sim->settings.soft_limit_bytes;
    settings->soft_limit_max_bytes = sim->settings.soft_limit_bytes * 4;
}

static enum status take_record(void *context,
                               struct bytes key,
                               struct bytes value,
                               struct error *ret_error)
{
    return catalog_load(context, key, value, ret_error);
}

static void load(struct sim_master *master)
{
    struct sim *sim = master->sim;
    struct catalog_settings settings;
    struct error error = {.status = STATUS_OK};
    settings_of(sim, &settings);
    ASSERT(catalog_create(&settings, &master->catalog) == STATUS_OK);
    enum status status = coordinator_load(sim->coordinator, take_record, master->catalog, &error);
    if (status == STATUS_OK) {
        status = catalog_load_end(master->catalog, sim->now_ns, &error);
    }
    if (status != STATUS_OK) {
        sim_fail(sim, "the master cannot load its catalog: %s", error.text);
    }
}

static void begin_reign(struct sim_master *master, uint64_t reign, struct sim_effects *effects)
{
    struct sim *sim = master->sim;
    sim_trace(sim, "master %u is active: reign %llu", master->node, (unsigned long long)reign);
    sim->statistics.reigns++;
    if (master->catalog == NULL) {
        load(master);
    }
    master->reign = reign;
    master->transaction = 0;
    master->tick_ns = CATALOG_NEVER;
    tick(master, effects);
}

static void end_reign(struct sim_master *master, struct sim_effects *effects)
{
    sim_trace(master->sim, "master %u stands by: reign %llu is over", master->node,
              (unsigned long long)master->reign);
    for (uint32_t i = 0; i < master->request_count; i++) {
        refuse(effects, &master->requests[i], STATUS_UNAVAILABLE,
               "this master is not the active one any more");
    }
    master->request_count = 0;
    master->reign = 0;
    master->transaction = 0;
    catalog_destroy(master->catalog);
    master->catalog = NULL;
}

/* --- the election ----------------------------------------------------------------------------- */

/* Planted: it stands for election only while the other one is up. */
static bool waits_for_other(const struct sim_master *master)
{
    const struct sim *sim = master->sim;
    return sim->planted == SIM_PLANTED_STANDS_BY_ALONE && master->reign == 0 &&
           !sim->nodes[sim_other_master(sim, master->node)].alive;
}

/* What is to be asked next, or when. */
static void go_on(struct sim_master *master, struct sim_effects *effects)
{
    struct election *election = &master->election;
    if (master->asking) {
        return;
    }
    if (waits_for_other(master)) {
        master->question_number++;
        sim_effects_timer(effects, master->question_number * TIMER_KINDS + TIMER_WAIT,
                          SUSPENDED_PAUSE_NS);
        return;
    }
    if (master->unwanted != 0 && election->reign == master->unwanted) {
        election_resign(election, clock_ns(master));
    }
    election_next(election, clock_ns(master), &master->question);
    master->question_number++;
    uint64_t number = master->question_number * TIMER_KINDS;
    if (master->question.type == ELECTION_WAIT) {
        sim_effects_timer(effects, number + TIMER_WAIT,
                          sim_boot_delay_ns(master->sim, master->node, master->question.until_ns));
        return;
    }
    master->asking = true;
    sim_effects_timer(effects, number + TIMER_SILENCE, QUESTION_PATIENCE_NS);
    sim_effects_add(effects, &(struct sim_effect){.kind = SIM_EFFECT_ASK});
}

/* Be what the election says. */
static void follow(struct sim_master *master, struct sim_effects *effects)
{
    uint64_t wanted = master->election.reign;
    if (master->catalog != NULL && master->reign != wanted) {
        bool keeps = master->sim->planted == SIM_PLANTED_REIGN_NOT_LOADED &&
                     master->transaction == 0;
        if (!keeps) {
            end_reign(master, effects);
        }
    }
    if (wanted != 0 && wanted != master->reign && wanted != master->unwanted &&
        wanted != master->loading) {
        master->loading = wanted;
        sim_effects_timer(effects, TIMER_LOADED,
                          sim_about_ns(master->sim, master->sim->settings.commit_mean_ns));
    }
}

/* Reading it took its time: another one may lead by now. */
static void on_loaded(struct sim_master *master, struct sim_effects *effects)
{
    uint64_t reign = master->loading;
    master->loading = 0;
    if (reign == 0 || master->election.reign != reign) {
        follow(master, effects);
    } else if (sim_etcd_leads(master->sim, reign)) {
        begin_reign(master, reign, effects);
    } else {
        master->unwanted = reign;
        go_on(master, effects);
    }
}

static void on_answer(struct sim_master *master,
                      const struct election_answer *answered,
                      struct sim_effects *effects)
{
    master->asking = false;
    election_answer(&master->election, clock_ns(master), answered);
    election_check(&master->election);
    follow(master, effects);
    go_on(master, effects);
}

void sim_master_on_election(struct sim_master *master,
                            const struct sim_event *event,
                            struct sim_effects *effects)
{
    struct election_answer answered = sim_etcd_answer(event);
    if (!master->asking || event->number != master->question_number) {
        return; /* it was given up */
    }
    on_answer(master, &answered, effects);
}

void sim_master_ask(struct sim_master *master)
{
    sim_etcd_ask(master->sim, master->node, master->question_number, &master->question);
}

/* --- events ----------------------------------------------------------------------------------- */

void sim_master_start(struct sim_master *master, struct sim_effects *effects)
{
    if (master->elected) {
        go_on(master, effects);
    } else {
        begin_reign(master, sim_etcd_begin(master->sim), effects);
    }
}

void sim_master_on_timer(struct sim_master *master, uint64_t number, struct sim_effects *effects)
{
    bool is_current = number / TIMER_KINDS == master->question_number;
    switch (number % TIMER_KINDS) {
    case TIMER_TICK:
        master->tick_ns = CATALOG_NEVER; /* it has come */
        tick(master, effects);
        break;
    case TIMER_WAIT:
        if (is_current && !master->asking) {
            go_on(master, effects);
        }
        break;
    case TIMER_SILENCE:
        if (is_current && master->asking) {
            on_answer(master, &(struct election_answer){0}, effects);
        }
        break;
    case TIMER_LOADED:
        on_loaded(master, effects);
        break;
    default:
        UNREACHABLE();
    }
}

static uint64_t number_of_transaction(const struct sim_master *master)
{
    return (master->reign << TRANSACTION_BITS) + master->transaction;
}

void sim_master_commit(struct sim_master *master)
{
    ASSERT(master->transaction != 0);
    master->commit_ns = master->sim->now_ns;
    sim_etcd_commit(master->sim, master->node, master->reign, number_of_transaction(master),
                    master->puts, master->put_count);
}

bool sim_master_stands_still(const struct sim_master *master)
{
    return master->transaction != 0 && master->sim->now_ns - master->commit_ns > SLOW_NS;
}

void sim_master_on_committed(struct sim_master *master,
                             uint64_t number,
                             struct sim_effects *effects)
{
    struct error error = {.status = STATUS_OK};
    struct catalog_event event = {
        .type = CATALOG_EVENT_PERSISTED, .number = master->transaction, .error = &error};
    enum sim_commit_outcome outcome = (enum sim_commit_outcome)(number % SIM_COMMIT_OUTCOMES);
    if (master->transaction == 0 || number / SIM_COMMIT_OUTCOMES != number_of_transaction(master)) {
        return; /* of a reign that is over */
    }
    if (outcome == SIM_COMMIT_FENCED) {
        master->unwanted = master->reign;
        end_reign(master, effects);
        go_on(master, effects);
        return;
    }
    if (outcome == SIM_COMMIT_FAILED) {
        event.type = CATALOG_EVENT_PERSIST_FAILED;
        (void)error_set(&error, STATUS_NO_SPACE, "no space left (made to fail)");
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
                                         .now_us = sim_wall_us(master->sim, master->node)},
                     &out);
    sim_effects_send(effects, message->from, FRAME_HELLO_ACK, (enum method)0, message->request,
                     &out);
}

static void take_message(struct sim_master *master,
                         const struct sim_master_request *request,
                         const struct request_head *head,
                         struct bytes body,
                         struct sim_effects *effects)
{
    int64_t now_ns = master->sim->now_ns;
    struct catalog_event event = {
        .type = CATALOG_EVENT_REQUEST,
        .number = request->number,
        .method = request->method,
        .body = body,
        .deadline_ns = head->deadline_ms == 0 ? 0 : now_ns + head->deadline_ms * SIM_MS,
    };
    master->requests[master->request_count++] = *request;
    step(master, event, effects);
}

void sim_master_on_message(struct sim_master *master,
                           const struct sim_message *message,
                           struct sim_effects *effects)
{
    struct request_head head;
    struct bytes body;
    struct error error = {.status = STATUS_OK};
    struct sim_master_request request = {
        .from = message->from, .request = message->request, .method = message->method};

    if (message->type == FRAME_HELLO) {
        say_hello(master, message, effects);
    } else if (request_head_decode(message->payload, &head, &body, &error) != STATUS_OK) {
        sim_fail(master->sim, "a request's head does not decode: %s", error.text);
    } else if (!may_act(master)) {
        refuse(effects, &request, STATUS_UNAVAILABLE, "this master stands by");
    } else if (master->request_count < SIM_MASTER_REQUESTS_MAX) { /* else as if lost */
        request.number = master->request_next++;
        take_message(master, &request, &head, body, effects);
    }
}
