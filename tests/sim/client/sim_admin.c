#include "tests/sim/client/sim_admin.h"

#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"

#define TIMER_NEXT        0 /* else the number of a request: silence */
#define SPLITS_MAX        3
#define PATIENCE_MS       4000
#define MERGE_PATIENCE_MS 500
#define STANDBY_PAUSE_NS  (100 * SIM_MS)

struct sim_admin *sim_admin_create(struct sim *sim, uint32_t node)
{
    struct sim_admin *admin = memory_allocate_zeroed(1, sizeof *admin);
    ASSERT(admin != NULL);
    admin->sim = sim;
    admin->node = node;
    admin->prng = prng_of_seed(prng_next(&sim->prng));
    admin->name_next = 1;
    return admin;
}

void sim_admin_destroy(struct sim_admin *admin)
{
    memory_free(admin);
}

bool sim_admin_is_idle(const struct sim_admin *admin)
{
    return sim_checker_main_table(admin->sim->checker) != 0 && !admin->waiting;
}

/* --- asking ----------------------------------------------------------------------------------- */

static struct bytes name_text(uint32_t name, char text[16])
{
    if (name == 0) {
        return bytes_of_text(SIM_MAIN_NAME);
    }
    (void)snprintf(text, 16, "side%u", name);
    return bytes_of_text(text);
}

static void encode_create(const struct sim_admin *admin, struct bytes name, struct buffer *out)
{
    struct family families[] = {
        {.name = bytes_of_text("p")},
        {.name = bytes_of_text("s"), .aggregate = AGGREGATE_INTSUM},
        {.name = bytes_of_text(SIM_RULES_FAMILY), .gc = admin->sim->rules.choices[0]},
    };
    bool rules = admin->sim->rules.on && admin->name == 0;
    const struct bytes splits[SPLITS_MAX] = {bytes_of_text("i"), bytes_of_text("u4"),
                                             bytes_of_text("ua")};
    uint32_t copies = admin->sim->settings.replicas;
    uint32_t split_count = admin->name == 0 ? admin->sim->settings.initial_splits : 0;
    create_table_request_encode(
        &(struct create_table_request){
            .table = {.id = name,
                      .families = families,
                      .family_count = rules ? 3 : 2,
                      .replicas = copies > 1 ? copies : 0, /* else not said */
                      .min_in_sync = copies > 1 ? admin->sim->settings.min_in_sync : 0},
            .splits = splits,
            .split_count = split_count > SPLITS_MAX ? SPLITS_MAX : split_count,
        },
        out);
}

static void encode_alter(const struct sim_admin *admin, struct bytes name, struct buffer *out)
{
    char family[16];
    bool add = admin->kind == SIM_ADMIN_ADD_FAMILY;
    (void)snprintf(family, sizeof family, "g%u", admin->family_next);
    struct alteration alteration = {.kind = add ? ALTER_CREATE_FAMILY : ALTER_DROP_FAMILY,
                                    .family = {.name = bytes_of_text(family)}};
    alter_table_request_encode(&(struct alter_table_request){name, &alteration, 1}, out);
}

static void encode_rule(struct sim_admin *admin, struct bytes name, struct buffer *out)
{
    const struct sim_rules *rules = &admin->sim->rules;
    const struct alteration alteration = {
        .kind = ALTER_UPDATE_GC,
        .family = {.name = bytes_of_text(SIM_RULES_FAMILY),
                   .gc = rules->choices[prng_below(&admin->prng, SIM_RULES_CHOICES)]}};
    alter_table_request_encode(&(struct alter_table_request){name, &alteration, 1}, out);
    admin->sim->statistics.rule_changes++;
}

static enum method encode(struct sim_admin *admin, struct buffer *out)
{
    char text[16];
    char row[16];
    struct bytes name = name_text(admin->name, text);
    switch (admin->kind) {
    case SIM_ADMIN_CREATE:
        encode_create(admin, name, out);
        return METHOD_CREATE_TABLE;
    case SIM_ADMIN_GET:
        table_name_request_encode(&(struct table_name_request){name}, out);
        return METHOD_GET_TABLE;
    case SIM_ADMIN_DELETE:
        table_name_request_encode(&(struct table_name_request){name}, out);
        return METHOD_DELETE_TABLE;
    case SIM_ADMIN_ADD_FAMILY:
    case SIM_ADMIN_DROP_FAMILY:
        encode_alter(admin, name, out);
        return METHOD_ALTER_TABLE;
    case SIM_ADMIN_RULE:
        encode_rule(admin, name, out);
        return METHOD_ALTER_TABLE;
    case SIM_ADMIN_SPLIT:
        (void)snprintf(row, sizeof row, "u%03x", (unsigned)prng_below(&admin->prng, 0x1000));
        split_request_encode(&(struct split_request){name, bytes_of_text(row)}, out);
        return METHOD_SPLIT_TABLET;
    case SIM_ADMIN_MERGE:
        merge_request_encode(&(struct merge_request){name, admin->boundary, admin->withdraws}, out);
        return METHOD_MERGE_TABLETS;
    case SIM_ADMIN_DRAIN:
        drain_server_request_encode(
            &(struct drain_server_request){admin->sim->settings.drained, admin->drains}, out);
        return METHOD_DRAIN_SERVER;
    }
    UNREACHABLE();
}

static void ask(struct sim_admin *admin)
{
    struct buffer out = BUFFER_INIT;
    bool waits = admin->kind != SIM_ADMIN_MERGE || prng_chance(&admin->prng, 4);
    uint32_t patience_ms = waits ? PATIENCE_MS : MERGE_PATIENCE_MS;
    request_head_encode(&(struct request_head){.deadline_ms = patience_ms}, &out);
    enum method method = encode(admin, &out);
    admin->waiting = true;
    admin->request++;
    sim_trace(admin->sim, "admin: asks %d about table name %u", (int)admin->kind, admin->name);
    sim_effects_send(admin->effects, admin->master, FRAME_REQUEST, method, admin->request, &out);
    sim_effects_timer(admin->effects, admin->request, patience_ms * SIM_MS + 500 * SIM_MS);
}

/* --- choosing --------------------------------------------------------------------------------- */

static void pause(struct sim_admin *admin)
{
    admin->waiting = false;
    int64_t mean_ns = admin->sim->settings.merges ? 150 * SIM_MS : 400 * SIM_MS;
    sim_effects_timer(admin->effects, TIMER_NEXT, sim_about_ns(admin->sim, mean_ns));
}

static void choose_delete(struct sim_admin *admin)
{
    uint64_t numbers[SIM_SIDE_TABLES_MAX + 1];
    uint32_t count = sim_checker_live_tables(admin->sim->checker, numbers);
    if (count < 2) {
        return;
    }
    admin->number = numbers[1 + prng_below(&admin->prng, count - 1)];
    admin->name = sim_checker_name_of(admin->sim->checker, admin->number);
    admin->kind = SIM_ADMIN_DELETE;
    sim_checker_on_delete(admin->sim->checker, admin->number);
}

/* One that was ordered a while ago: it may be under way, done, or taken back. */
static bool choose_withdrawal(struct sim_admin *admin)
{
    admin->withdraws = admin->ordered_bytes > 0 && prng_chance(&admin->prng, 3);
    if (admin->withdraws) {
        admin->boundary = bytes_of(admin->ordered, admin->ordered_bytes);
        admin->ordered_bytes = 0;
        admin->kind = SIM_ADMIN_MERGE;
    }
    return admin->withdraws;
}

static void remember_merge(struct sim_admin *admin)
{
    bool fits = admin->boundary.size_bytes <= sizeof admin->ordered;
    admin->ordered_bytes = fits ? admin->boundary.size_bytes : 0;
    memcpy(admin->ordered, admin->boundary.data, admin->ordered_bytes);
}

/* Or a split, so that there is something to merge. */
static void choose_merge(struct sim_admin *admin)
{
    if (choose_withdrawal(admin)) {
        return;
    }
    bool any = sim_checker_boundary(admin->sim->checker, &admin->prng, &admin->boundary);
    admin->kind = any && !prng_chance(&admin->prng, 3) ? SIM_ADMIN_MERGE : SIM_ADMIN_SPLIT;
    if (admin->kind == SIM_ADMIN_MERGE) {
        remember_merge(admin);
    }
}

static void choose(struct sim_admin *admin)
{
    const struct sim_settings *settings = &admin->sim->settings;
    uint64_t dice = prng_below(&admin->prng, 8);
    admin->name = 0;
    admin->kind = SIM_ADMIN_GET;
    if (admin->sim->rules.changes && prng_chance(&admin->prng, 3)) {
        admin->kind = SIM_ADMIN_RULE;
    } else if (settings->drained != 0 && prng_chance(&admin->prng, 4)) {
        admin->kind = SIM_ADMIN_DRAIN;
        admin->drains = !admin->drains;
    } else if (settings->merges && prng_chance(&admin->prng, 2)) {
        choose_merge(admin);
    } else if (settings->splits_by_hand && dice < 2) {
        admin->kind = SIM_ADMIN_SPLIT;
    } else if (!settings->admin) {
        return;
    } else if (dice < 4 && admin->name_next < SIM_SIDE_TABLES_MAX) {
        bool again = admin->reusable_name != 0 && prng_chance(&admin->prng, 2);
        admin->name = again ? admin->reusable_name : admin->name_next++;
        admin->reusable_name = again ? 0 : admin->reusable_name;
        admin->kind = SIM_ADMIN_CREATE;
    } else if (dice == 4) {
        choose_delete(admin);
    } else if (dice == 5) {
        admin->family_next++;
        admin->kind = SIM_ADMIN_ADD_FAMILY;
    } else if (dice == 6) {
        admin->kind = SIM_ADMIN_DROP_FAMILY;
    }
}

/* --- answers ---------------------------------------------------------------------------------- */

static void know_table(struct sim_admin *admin, struct bytes body)
{
    struct table_response response;
    struct arena arena;
    struct error error = {.status = STATUS_OK};
    arena_init(&arena, 1024, SIZE_MAX);
    if (table_response_decode(body, &arena, &response, &error) != STATUS_OK) {
        sim_fail(admin->sim, "a table's answer does not decode: %s", error.text);
    } else {
        sim_checker_on_table(admin->sim->checker, admin->name, response.table.number);
        admin->sim->statistics.tables++;
    }
    arena_deinit(&arena);
}

/* It is not known what became of the request. */
static void lose(struct sim_admin *admin)
{
    admin->master = sim_other_master(admin->sim, admin->master);
    if (admin->kind == SIM_ADMIN_CREATE || admin->kind == SIM_ADMIN_GET) {
        admin->kind = SIM_ADMIN_GET;
        ask(admin);
    } else {
        pause(admin);
    }
}

static void take(struct sim_admin *admin, enum status status, struct bytes body)
{
    bool good = status == STATUS_OK;
    switch (admin->kind) {
    case SIM_ADMIN_CREATE:
    case SIM_ADMIN_GET:
        if (good) {
            know_table(admin, body);
            pause(admin);
        } else if (status == STATUS_NOT_FOUND && admin->name == 0) {
            admin->kind = SIM_ADMIN_CREATE;
            ask(admin);
        } else if (status == STATUS_NOT_FOUND) {
            pause(admin);
        } else {
            admin->kind = SIM_ADMIN_GET;
            ask(admin);
        }
        break;
    case SIM_ADMIN_DELETE:
        admin->reusable_name = good ? admin->name : admin->reusable_name;
        pause(admin);
        break;
    case SIM_ADMIN_ADD_FAMILY:
    case SIM_ADMIN_DROP_FAMILY:
    case SIM_ADMIN_RULE:
    case SIM_ADMIN_SPLIT:
    case SIM_ADMIN_MERGE:
    case SIM_ADMIN_DRAIN:
        pause(admin);
        break;
    }
}

/* --- events ----------------------------------------------------------------------------------- */

void sim_admin_start(struct sim_admin *admin, struct sim_effects *effects)
{
    admin->effects = effects;
    admin->kind = SIM_ADMIN_CREATE;
    ask(admin);
}

void sim_admin_on_message(struct sim_admin *admin,
                          const struct sim_message *message,
                          struct sim_effects *effects)
{
    struct response_head head;
    struct bytes body;
    struct error error = {.status = STATUS_OK};

    admin->effects = effects;
    if (!admin->waiting || message->request != admin->request) {
        return;
    }
    if (response_head_decode(message->payload, &head, &body, &error) != STATUS_OK) {
        sim_fail(admin->sim, "an answer's head does not decode: %s", error.text);
        return;
    }
    sim_trace(admin->sim, "admin: %s %.*s", status_name((enum status)head.status),
              (int)head.text.size_bytes, (const char *)head.text.data);
    if (head.status == STATUS_UNAVAILABLE && admin->sim->settings.masters > 1) {
        sim_effects_timer(effects, admin->request, STANDBY_PAUSE_NS); /* then as if silent */
    } else {
        take(admin, (enum status)head.status, body);
    }
}

void sim_admin_on_timer(struct sim_admin *admin, uint64_t number, struct sim_effects *effects)
{
    admin->effects = effects;
    if (number == TIMER_NEXT && !admin->waiting && !admin->sim->healed) {
        choose(admin);
        ask(admin);
    } else if (number != TIMER_NEXT && admin->waiting && number == admin->request) {
        lose(admin);
    }
}
