#include "tests/sim/master/sim_etcd.h"

#include <string.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "master/coordinator/coordinator.h"
#include "tests/sim/checker/sim_checker.h"

#define LATENESS_NS    (500 * SIM_MS) /* about: restarts take as long */
#define SLOW_COMMIT_NS (3 * SIM_S)
#define LEASES_MAX     32
#define COMMITS_MAX    8
#define TTL_NS         (2 * SIM_S)

/* One on its way. */
struct parcel {
    uint64_t number; /* of its event; 0 = the place is free */
    uint32_t node;
    uint32_t life;
    uint64_t reign;
    uint64_t transaction;
    struct arena arena;
    struct catalog_put *puts;
    size_t put_count;
};

struct lease {
    int64_t number; /* 0 = the place is free */
    int64_t until_ns;
};

struct sim_etcd {
    struct parcel parcels[COMMITS_MAX];
    uint64_t parcel_next;
    struct lease leases[LEASES_MAX];
    int64_t lease_next;
    uint64_t reigns; /* so many have begun */
    uint64_t leader; /* the reign that leads; 0 = none */
    int64_t leader_lease;
};

struct sim_etcd *sim_etcd_create(void)
{
    struct sim_etcd *etcd = memory_allocate_zeroed(1, sizeof *etcd);
    ASSERT(etcd != NULL);
    for (int i = 0; i < COMMITS_MAX; i++) {
        arena_init(&etcd->parcels[i].arena, 1024, SIZE_MAX);
    }
    return etcd;
}

void sim_etcd_destroy(struct sim_etcd *etcd)
{
    for (int i = 0; i < COMMITS_MAX; i++) {
        arena_deinit(&etcd->parcels[i].arena);
    }
    memory_free(etcd);
}

/* --- who leads ---------------------------------------------------------------------------------- */

static struct lease *find_lease(struct sim_etcd *etcd, int64_t number)
{
    for (int i = 0; i < LEASES_MAX; i++) {
        if (etcd->leases[i].number == number) {
            return &etcd->leases[i];
        }
    }
    return NULL;
}

static void revoke(struct sim_etcd *etcd, struct lease *lease)
{
    if (etcd->leader_lease == lease->number) {
        etcd->leader = 0;
        etcd->leader_lease = 0;
    }
    *lease = (struct lease){0};
}

static void look_at_leases(struct sim *sim)
{
    struct sim_etcd *etcd = sim->etcd;
    for (int i = 0; i < LEASES_MAX; i++) {
        struct lease *lease = &etcd->leases[i];
        if (lease->number != 0 && lease->until_ns <= sim->now_ns) {
            revoke(etcd, lease);
        }
    }
}

static void lead(struct sim_etcd *etcd, int64_t lease)
{
    etcd->leader = ++etcd->reigns;
    etcd->leader_lease = lease;
}

uint64_t sim_etcd_begin(struct sim *sim)
{
    lead(sim->etcd, 0);
    return sim->etcd->leader;
}

bool sim_etcd_leads(struct sim *sim, uint64_t reign)
{
    look_at_leases(sim);
    return reign != 0 && sim->etcd->leader == reign;
}

/* --- the way there and back --------------------------------------------------------------------- */

static int64_t left_of_cut_ns(const struct sim *sim, uint32_t node)
{
    int64_t until_ns = sim->nodes[node].no_etcd_until_ns;
    return until_ns > sim->now_ns ? until_ns - sim->now_ns : 0;
}

static int64_t half_way_ns(struct sim *sim)
{
    return sim_about_ns(sim, sim->settings.commit_mean_ns / 2);
}

/* --- commits ------------------------------------------------------------------------------------ */

static struct parcel *find_parcel(struct sim_etcd *etcd, uint64_t number)
{
    for (int i = 0; i < COMMITS_MAX; i++) {
        if (etcd->parcels[i].number == number) {
            return &etcd->parcels[i];
        }
    }
    return NULL;
}

void sim_etcd_commit(struct sim *sim,
                     uint32_t node,
                     uint64_t reign,
                     uint64_t transaction,
                     const struct catalog_put *puts,
                     size_t put_count)
{
    struct parcel *parcel = find_parcel(sim->etcd, 0);
    ASSERT(parcel != NULL); /* a master has one at a time, and does not die so often */
    arena_reset(&parcel->arena);
    parcel->puts = arena_allocate_array(&parcel->arena, put_count + 1, sizeof *puts);
    ASSERT(parcel->puts != NULL);
    for (size_t i = 0; i < put_count; i++) {
        parcel->puts[i] = (struct catalog_put){
            .key = arena_copy(&parcel->arena, puts[i].key),
            .value = arena_copy(&parcel->arena, puts[i].value),
            .removed = puts[i].removed,
        };
    }
    parcel->put_count = put_count;
    parcel->node = node;
    parcel->life = sim->nodes[node].life;
    parcel->reign = reign;
    parcel->transaction = transaction;
    parcel->number = ++sim->etcd->parcel_next;
    int64_t time_ns = sim->now_ns + left_of_cut_ns(sim, node) + half_way_ns(sim);
    time_ns += sim_buggify(sim, SIM_SITE_COMMIT_SLOW) ? SLOW_COMMIT_NS : 0;
    sim_heap_add(&sim->heap, &(struct sim_event){.time_ns = time_ns,
                                                 .kind = SIM_EVENT_COMMIT,
                                                 .number = parcel->number});
}

static enum sim_commit_outcome take(struct sim *sim, const struct parcel *parcel)
{
    struct error error = {.status = STATUS_OK};
    bool fenced = !sim_etcd_leads(sim, parcel->reign);
    if (fenced) {
        sim_trace(sim, "a commit of reign %llu arrives: it is over",
                  (unsigned long long)parcel->reign);
        sim->statistics.fenced++;
    }
    if (fenced && sim->planted != SIM_PLANTED_COMMIT_UNFENCED) {
        return SIM_COMMIT_FENCED;
    }
    if (sim_chance(sim, sim->settings.commit_failure)) {
        return SIM_COMMIT_FAILED;
    }
    if (sim->planted == SIM_PLANTED_LOSE_COMMIT && !sim->healed && prng_chance(&sim->prng, 8)) {
        return SIM_COMMIT_DONE;
    }
    if (coordinator_commit(sim->coordinator, parcel->puts, parcel->put_count, &error) !=
        STATUS_OK) {
        sim_fail(sim, "the coordinator: %s", error.text);
    }
    sim_checker_on_catalog(sim->checker, sim->coordinator);
    return SIM_COMMIT_DONE;
}

void sim_etcd_commit_arrives(struct sim *sim, uint64_t number)
{
    struct parcel *parcel = find_parcel(sim->etcd, number);
    if (parcel == NULL) {
        return;
    }
    uint64_t outcome = take(sim, parcel);
    int64_t time_ns = sim->now_ns + left_of_cut_ns(sim, parcel->node) + half_way_ns(sim);
    sim_heap_add(&sim->heap, &(struct sim_event){
                                 .time_ns = time_ns,
                                 .kind = SIM_EVENT_COMMITTED,
                                 .node = parcel->node,
                                 .life = parcel->life,
                                 .number = parcel->transaction * SIM_COMMIT_OUTCOMES + outcome,
                             });
    parcel->number = 0;
}

void sim_etcd_orphan(struct sim *sim)
{
    for (int i = 0; i < COMMITS_MAX && sim->settings.masters == 1; i++) {
        struct parcel *parcel = &sim->etcd->parcels[i];
        if (parcel->number == 0) {
            continue;
        }
        if (sim->settings.late_commits && prng_chance(&sim->prng, 2)) {
            parcel->number = ++sim->etcd->parcel_next;
            sim_heap_add(&sim->heap, &(struct sim_event){
                                         .time_ns = sim->now_ns + sim_about_ns(sim, LATENESS_NS),
                                         .kind = SIM_EVENT_COMMIT,
                                         .number = parcel->number,
                                     });
            continue;
        }
        if (prng_chance(&sim->prng, 2)) {
            (void)take(sim, parcel);
        }
        parcel->number = 0;
    }
}

void sim_etcd_lose_commits(struct sim *sim)
{
    for (int i = 0; i < COMMITS_MAX; i++) {
        sim->etcd->parcels[i].number = 0;
    }
}

/* --- elections ---------------------------------------------------------------------------------- */

struct message {
    uint64_t number;
    uint64_t life; /* of the master that asks: no other one is answered */
    union {
        struct election_question question;
        struct election_answer answer;
    };
};

static void post(struct sim *sim,
                 uint32_t node,
                 enum sim_event_kind kind,
                 const struct message *message)
{
    struct sim_event event = {.kind = kind, .node = node, .number = message->number};
    event.life = kind == SIM_EVENT_ELECTION ? (uint32_t)message->life : 0;
    if (left_of_cut_ns(sim, node) > 0 || sim_chance(sim, sim->settings.loss)) {
        sim->statistics.lost++;
        return;
    }
    event.time_ns = sim->now_ns + half_way_ns(sim);
    buffer_append_bytes(&event.message, bytes_of(message, sizeof *message));
    ASSERT(!event.message.failed);
    sim_heap_add(&sim->heap, &event);
}

void sim_etcd_ask(struct sim *sim,
                  uint32_t node,
                  uint64_t number,
                  const struct election_question *question)
{
    struct message message;
    memset(&message, 0, sizeof message); /* all of it: the run is hashed */
    message.number = number;
    message.life = sim->nodes[node].life;
    message.question.type = question->type;
    message.question.lease = question->lease;
    post(sim, node, SIM_EVENT_QUESTION, &message);
}

static int64_t grant(struct sim *sim)
{
    struct sim_etcd *etcd = sim->etcd;
    struct lease *lease = find_lease(etcd, 0);
    ASSERT(lease != NULL); /* they last for two seconds */
    *lease = (struct lease){++etcd->lease_next, sim->now_ns + TTL_NS};
    return lease->number;
}

static void carry_out(struct sim *sim,
                      const struct election_question *question,
                      struct election_answer *answer)
{
    struct sim_etcd *etcd = sim->etcd;
    struct lease *lease = question->lease == 0 ? NULL : find_lease(etcd, question->lease);
    answer->answered = true;
    switch (question->type) {
    case ELECTION_GRANT:
        answer->lease = grant(sim);
        answer->ttl_ns = TTL_NS;
        break;
    case ELECTION_CAMPAIGN:
        answer->answered = etcd->leader != 0 || lease != NULL; /* else it is an error of etcd's */
        if (etcd->leader == 0 && lease != NULL) {
            lead(etcd, lease->number);
        }
        break;
    case ELECTION_RENEW:
        if (lease != NULL) {
            lease->until_ns = sim->now_ns + TTL_NS;
            answer->ttl_ns = TTL_NS;
        }
        break;
    case ELECTION_REVOKE:
        if (lease != NULL) {
            revoke(etcd, lease);
        }
        break;
    case ELECTION_LOOK:
    case ELECTION_WAIT:
        break;
    }
    answer->leader = etcd->leader;
    answer->leader_lease = etcd->leader_lease;
}

void sim_etcd_question_arrives(struct sim *sim, struct sim_event *event)
{
    struct message asked;
    struct message message;
    ASSERT(event->message.size_bytes == sizeof asked);
    memcpy(&asked, event->message.data, sizeof asked);
    memset(&message, 0, sizeof message);
    message.number = asked.number;
    message.life = asked.life;
    look_at_leases(sim);
    carry_out(sim, &asked.question, &message.answer);
    post(sim, event->node, SIM_EVENT_ELECTION, &message);
}

struct election_answer sim_etcd_answer(const struct sim_event *event)
{
    struct message message;
    ASSERT(event->message.size_bytes == sizeof message);
    memcpy(&message, event->message.data, sizeof message);
    return message.answer;
}
