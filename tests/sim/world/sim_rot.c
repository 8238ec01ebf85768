#include "tests/sim/world/sim_rot.h"

#include "tests/sim/master/sim_catalog.h"
#include "tests/sim/server/sim_server.h"
#include "tests/sim/world/sim_faults.h"
#include "tests/sim/world/sim_stores.h"

static const struct sim_store_disk *disk_of(const struct sim *sim, uint64_t store)
{
    for (uint32_t i = 0; i < sim->settings.server_count; i++) {
        for (uint32_t k = 0; k < sim->disks[i]->store_count; k++) {
            if (sim->disks[i]->stores[k].number == store) {
                return &sim->disks[i]->stores[k];
            }
        }
    }
    return NULL;
}

bool sim_rot_has_disk(const struct sim *sim, uint64_t store)
{
    return disk_of(sim, store) != NULL;
}

static bool has_rot(const struct sim_base *base)
{
    for (uint32_t i = 0; i < base->tablet_count; i++) {
        const struct sim_base_tablet *tablet = base->tablets[i];
        if (tablet->rotten || tablet->cut || tablet->held.flags.damaged) {
            return true;
        }
    }
    return false;
}

static const struct sim_loop *loop_of(const struct sim *sim, uint64_t store)
{
    const struct sim_loop *loop = NULL;
    for (uint32_t i = 0; i < sim->settings.server_count && loop == NULL; i++) {
        loop = sim->servers[i] == NULL ? NULL : sim_loop_of_store(sim->servers[i], store);
    }
    return loop;
}

struct mark {
    uint64_t tablet;
    bool is_damaged;
};

static enum status look_for_mark(void *context,
                                 const struct log_record *record,
                                 uint64_t position,
                                 struct error *ret_error)
{
    struct mark *mark = context;
    struct record_configuration said;
    (void)position;
    if (record->type != RECORD_CONFIGURATION || record->tablet != mark->tablet) {
        return STATUS_OK;
    }
    enum status status = record_decode_configuration(record->payload, &said, ret_error);
    mark->is_damaged = status == STATUS_OK && said.flags.damaged;
    return status;
}

/* Found to be bad, which its base has not heard of yet: it has it in memory, or in its log. */
static bool is_marked(const struct sim *sim, const struct sim_store_disk *disk, uint64_t tablet)
{
    const struct sim_loop *loop = loop_of(sim, disk->number);
    struct mark mark = {.tablet = tablet};
    if (loop == NULL) {
        (void)sim_log_look(&disk->log, look_for_mark, &mark);
    }
    for (uint32_t i = 0; loop != NULL && i < loop->store.tablet_count; i++) {
        const struct sim_tablet *held = loop->store.tablets[i];
        mark.is_damaged = mark.is_damaged ||
                          (held->tablet == tablet && held->copy.held.flags.damaged);
    }
    return mark.is_damaged;
}

/* Of one that the base has not heard of: if nothing there is bad that it may come from. */
bool sim_rot_is_sound(const struct sim *sim, uint64_t store, uint64_t tablet)
{
    const struct sim_store_disk *disk = disk_of(sim, store);
    if (disk == NULL || disk->relearns || sim_log_rots(&disk->log) ||
        is_marked(sim, disk, tablet)) {
        return false;
    }
    const struct sim_base_tablet *there = sim_base_find(&disk->base, tablet);
    return there == NULL
               ? !has_rot(&disk->base)
               : !there->rotten && !there->cut && !there->held.flags.damaged && !there->half_taught;
}

/* --- which one ---------------------------------------------------------------------------------- */

struct survey {
    const struct sim *sim;
    uint64_t tablet;
    uint64_t store;
    bool is_member;  /* of one that serves: the others may be made anew elsewhere */
    uint32_t others; /* members */
    uint32_t sound;  /* of those */
};

/* With all that there is, and the base knows it. */
static bool is_whole(const struct sim *sim, uint64_t store, uint64_t tablet)
{
    const struct sim_store_disk *disk = disk_of(sim, store);
    return disk != NULL && sim_base_find(&disk->base, tablet) != NULL &&
           sim_rot_is_sound(sim, store, tablet);
}

static void survey_tablet(void *context, const struct tablet_record *record)
{
    struct survey *survey = context;
    const struct replica_configuration *members = &record->configuration;
    for (uint32_t i = 0; i < members->member_count && record->number == survey->tablet; i++) {
        uint64_t store = members->members[i].store;
        survey->is_member = survey->is_member ||
                            (store == survey->store && record->state == TABLET_SERVING);
        survey->others += store != survey->store;
        survey->sound += store != survey->store && is_whole(survey->sim, store, record->number);
    }
}

/* What a member's disk says, and what it has in memory only: children whose parent is not flushed. */
static bool has_bad(const struct sim *sim, struct replica_member member, uint64_t tablet)
{
    const struct sim_server *server = sim->servers[member.server - 1];
    const struct sim_loop *loop = server == NULL ? NULL : sim_loop_of_store(server, member.store);
    const struct sim_store_disk *disk = disk_of(sim, member.store);
    const struct sim_base_tablet *there = disk == NULL ? NULL : sim_base_find(&disk->base, tablet);
    bool bad = disk == NULL ||
               (there != NULL && (there->rotten || there->cut || there->half_taught));
    for (uint32_t i = 0; loop != NULL && i < loop->store.tablet_count; i++) {
        const struct sim_tablet *held = loop->store.tablets[i];
        bad = bad || (held->tablet == tablet && (held->rotten || held->cut));
    }
    return bad;
}

struct end {
    const struct sim *sim;
    bool any_bad;
};

static void look_at_members(void *context, const struct tablet_record *record)
{
    struct end *end = context;
    const struct replica_configuration *members = &record->configuration;
    for (uint32_t i = 0; i < members->member_count; i++) {
        end->any_bad = end->any_bad || has_bad(end->sim, members->members[i], record->number);
    }
}

bool sim_rot_is_over(const struct sim *sim)
{
    struct end end = {.sim = sim};
    sim_catalog_tablets(sim, look_at_members, &end);
    return !end.any_bad;
}

/* A removal that is in doubt may be taken yet, and leave it alone with what it has. */
static bool is_in_doubt(const struct sim_tablet *tablet)
{
    return host_look(sim_stored(tablet)).trouble != REPLICA_FINE;
}

static bool may_turn_bad(const struct sim *sim, uint64_t store, const struct sim_tablet *tablet)
{
    struct survey survey = {.sim = sim, .tablet = tablet->tablet, .store = store};
    if (tablet->copy.hosted == NULL || tablet->copy.learning.learning ||
        tablet->copy.learning.first || is_in_doubt(tablet) ||
        !is_whole(sim, store, tablet->tablet)) {
        return false;
    }
    sim_catalog_tablets(sim, survey_tablet, &survey);
    return survey.is_member && survey.others > 0 && survey.sound == survey.others;
}

static struct sim_base_tablet *find_in_base(struct sim_base *base, uint64_t tablet)
{
    for (uint32_t i = 0; i < base->tablet_count; i++) {
        if (base->tablets[i]->tablet == tablet) {
            return base->tablets[i];
        }
    }
    return NULL;
}

static void expect_scrub(struct sim *sim, uint32_t node)
{
    sim_heap_add(&sim->heap, &(struct sim_event){
                                 .time_ns = sim->now_ns + 1,
                                 .kind = SIM_EVENT_TIMER,
                                 .node = node,
                                 .life = sim->nodes[node].life,
                                 .number = SIM_TIMER_SCRUB,
                             });
}

/* It would be found only when others may have been lost meanwhile, and the bad one be alone. */
static bool stands_still(const struct sim *sim, uint32_t node)
{
    return sim->nodes[node].paused_until_ns > sim->now_ns ||
           sim->nodes[node].frozen_until_ns > sim->now_ns;
}

void sim_rot_begin(struct sim *sim)
{
    uint32_t node = 1 + (uint32_t)prng_below(&sim->prng, sim->settings.server_count);
    const struct sim_server *server = sim->servers[node - 1];
    uint32_t index = sim_stores_any(sim, node);
    struct sim_store *store = server == NULL ? NULL : &server->loops[index]->store;
    if (store == NULL || store->tablet_count == 0 || stands_still(sim, node)) {
        return;
    }
    struct sim_tablet *tablet = store->tablets[prng_below(&sim->prng, store->tablet_count)];
    struct sim_base_tablet *there = find_in_base(&store->disk->base, tablet->tablet);
    if (there == NULL || store->queue_count > 0 ||
        !may_turn_bad(sim, store->disk->number, tablet)) {
        return;
    }
    sim_trace(sim, "server %u: what it has of tablet %llu turns bad", node,
              (unsigned long long)tablet->tablet);
    sim_faults_forget_proposals(sim);
    there->rotten = true;
    tablet->rotten = true;
    sim->statistics.rots++;
    expect_scrub(sim, node);
}

/* --- meeting it --------------------------------------------------------------------------------- */

void sim_rot_meet(struct sim_tablet *tablet)
{
    tablet->rot_met = true;
}

static void tell(const struct sim_loop *loop)
{
    struct sim_server *server = loop->server;
    for (uint32_t i = 0; i < loop->store.tablet_count; i++) {
        struct sim_tablet *tablet = loop->store.tablets[i];
        if (tablet->rot_met) {
            tablet->rot_met = false;
            if (server->sim->planted == SIM_PLANTED_ROT_UNTOLD) {
                continue;
            }
            sim_trace(server->sim, "server %u: tablet %llu is found bad", server->node,
                      (unsigned long long)tablet->tablet);
            host_damaged(loop->host, sim_stored(tablet));
        }
    }
}

void sim_rot_tell(struct sim_server *server)
{
    for (uint32_t i = 0; i < server->loop_count; i++) {
        tell(server->loops[i]);
    }
}

static bool has_rotten(const struct sim_store *store)
{
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        if (store->tablets[i]->rotten) {
            return true;
        }
    }
    return false;
}

void sim_rot_expect_scrub(struct sim_server *server)
{
    bool any = false;
    for (uint32_t i = 0; i < server->loop_count; i++) {
        any = any || has_rotten(&server->loops[i]->store);
    }
    if (any) {
        expect_scrub(server->sim, server->node);
    }
}

static void scrub(const struct sim_store *store)
{
    for (uint32_t i = 0; i < store->tablet_count; i++) {
        if (store->tablets[i]->rotten && !store->tablets[i]->hidden) {
            sim_rot_meet(store->tablets[i]);
        }
    }
}

void sim_rot_scrub(struct sim_server *server)
{
    for (uint32_t i = 0; i < server->loop_count; i++) {
        scrub(&server->loops[i]->store);
    }
}
