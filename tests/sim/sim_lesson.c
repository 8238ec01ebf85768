#include "tests/sim/sim_lesson.h"

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "tests/sim/sim_replica_truth.h"
#include "tests/sim/sim_server.h"

#define AGAIN_NS SIM_S

static const struct row_range all_rows = {{NULL, 0}, {NULL, 0}};

/* --- the list ----------------------------------------------------------------------------------- */

static struct sim_lesson *find(const struct sim *sim, uint64_t number)
{
    struct sim_lesson *lesson = sim->lessons;
    while (lesson != NULL && lesson->number != number) {
        lesson = lesson->next;
    }
    return lesson;
}

static void drop_content(struct sim_lesson *lesson)
{
    if (lesson->content != NULL) {
        sim_base_tablet_destroy(lesson->content);
        lesson->content = NULL;
    }
}

void sim_lessons_destroy(struct sim *sim)
{
    while (sim->lessons != NULL) {
        struct sim_lesson *next = sim->lessons->next;
        drop_content(sim->lessons);
        memory_free(sim->lessons);
        sim->lessons = next;
    }
}

static void send(struct sim_server *server,
                 struct sim_lesson *lesson,
                 enum sim_lesson_state state,
                 int64_t delay_ns)
{
    lesson->state = state;
    sim_effects_add(server->effects,
                    &(struct sim_effect){.kind = SIM_EFFECT_LESSON,
                                         .to = state == SIM_LESSON_GIVE
                                                   ? (uint32_t)lesson->learner.server
                                                   : lesson->teacher,
                                         .number = lesson->number,
                                         .delay_ns = delay_ns});
}

/* --- the teacher -------------------------------------------------------------------------------- */

static void say_taught(struct sim_server *server,
                       struct sim_tablet *tablet,
                       const struct sim_lesson *lesson,
                       uint64_t sequence)
{
    sim_trace(server->sim, "server %u: tablet %llu: server %llu is taught up to %llu", server->node,
              (unsigned long long)tablet->tablet, (unsigned long long)lesson->learner.server,
              (unsigned long long)sequence);
    struct replica_event event = {.type = REPLICA_EVENT_TEACHING,
                                  .from = lesson->learner,
                                  .sequence = sequence,
                                  .version = lesson->version,
                                  .incarnation = lesson->learner_incarnation};
    sim_replica_tell(server, tablet, &event);
    event.type = REPLICA_EVENT_TAUGHT;
    sim_replica_tell(server, tablet, &event);
}

static bool leads_still(const struct sim_server *server,
                        const struct sim_tablet *tablet,
                        const struct sim_lesson *lesson)
{
    if (tablet == NULL || server->disk->incarnation != lesson->teacher_incarnation) {
        return false;
    }
    struct replica_view view = replica_look(tablet->copy.replica);
    return view.role == REPLICA_PRIMARY && view.configuration.version == lesson->version;
}

static void give(struct sim_server *server,
                 const struct sim_tablet *tablet,
                 struct sim_lesson *lesson)
{
    struct applied_map map;
    struct sim_base_tablet *content = sim_base_tablet_create(tablet->tablet, tablet->table,
                                                             tablet->configuration, &tablet->range);
    sim_rows_copy(&content->rows, &tablet->committed_rows, &all_rows);
    ASSERT(applied_map_whole(&server->arena, tablet->committed, &map) == STATUS_OK);
    applied_map_encode(&map, &content->applied);
    dedupe_encode(tablet->dedupe, &content->dedupe);
    ASSERT(!content->applied.failed && !content->dedupe.failed);
    content->flushed_sequence = tablet->committed;
    content->clock = tablet->clock;
    lesson->content = content;
    lesson->sequence = tablet->committed;
    send(server, lesson, SIM_LESSON_GIVE,
         sim_about_ns(server->sim, server->sim->settings.lesson_mean_ns));
}

/* What the learner has, followed by what is kept of the log? */
static bool log_is_enough(const struct sim_tablet *tablet, uint64_t sequence)
{
    return sequence >= tablet->committed || sim_copy_find(tablet, sequence + 1) != NULL;
}

static void teach(struct sim_server *server,
                  struct sim_tablet *tablet,
                  struct sim_lesson *lesson,
                  uint64_t sequence)
{
    bool early = server->sim->planted == SIM_PLANTED_TAUGHT_EARLY;
    if (early || log_is_enough(tablet, sequence)) {
        uint64_t has = sequence < tablet->committed && !early ? sequence : tablet->committed;
        say_taught(server, tablet, lesson, has);
    } else {
        give(server, tablet, lesson);
    }
}

void sim_lesson_begin(struct sim_server *server,
                      struct sim_tablet *tablet,
                      struct replica_member learner,
                      uint64_t sequence)
{
    struct sim *sim = server->sim;
    struct sim_lesson *lesson = memory_allocate_zeroed(1, sizeof *lesson);
    ASSERT(lesson != NULL);
    *lesson = (struct sim_lesson){
        .next = sim->lessons,
        .number = ++sim->lesson_next,
        .tablet = tablet->tablet,
        .version = tablet->copy.configuration.version,
        .learner = learner,
        .learner_incarnation = sim->disks[learner.server - 1]->incarnation,
        .teacher = server->node,
        .teacher_incarnation = server->disk->incarnation,
    };
    sim->lessons = lesson;
    sim->statistics.lessons++;
    teach(server, tablet, lesson, sequence);
}

/* --- the learner -------------------------------------------------------------------------------- */

static void take(struct sim_server *server, struct sim_tablet *tablet, struct sim_lesson *lesson)
{
    struct replica_view view = {.role = REPLICA_OUTSIDER};
    if (tablet != NULL) {
        view = replica_look(tablet->copy.replica);
    }
    bool is_for_it = tablet != NULL && view.configuration.version == lesson->version &&
                     tablet->copy.opener == lesson->teacher_incarnation &&
                     sim_copy_may_be_taught(tablet, lesson->sequence);
    if (is_for_it) {
        sim_store_teach(&server->store, tablet, lesson->content, lesson->number);
        lesson->content = NULL;
    } else {
        drop_content(lesson);
    }
    send(server, lesson, SIM_LESSON_AGAIN, AGAIN_NS);
}

void sim_lesson_durable(void *context, struct sim_tablet *tablet, uint64_t number)
{
    struct sim_server *server = context;
    struct sim_lesson *lesson = find(server->sim, number);
    ASSERT(lesson != NULL);
    sim_truth_on_taught(server->sim->truth, server, tablet);
    sim_replica_tell(server, tablet,
                     &(struct replica_event){.type = REPLICA_EVENT_TEACHING,
                                             .from = {server->node, server->disk->store.number},
                                             .sequence = tablet->committed,
                                             .version = lesson->version,
                                             .incarnation = lesson->teacher_incarnation});
    sim_replica_drain(server);
    if (replica_look(tablet->copy.replica).committed != tablet->committed) {
        sim_fail(server->sim, "tablet %llu was taught up to %llu, and its replica has not heard",
                 (unsigned long long)tablet->tablet, (unsigned long long)tablet->committed);
    }
    send(server, lesson, SIM_LESSON_TAKEN, SIM_MS);
}

/* --- both --------------------------------------------------------------------------------------- */

/* Where its log ends by now, to begin with there. */
static uint64_t end_of_learner(const struct sim *sim, const struct sim_lesson *lesson)
{
    const struct sim_server *learner = sim->servers[lesson->learner.server - 1];
    struct sim_tablet *tablet = learner == NULL
                                    ? NULL
                                    : sim_store_find((struct sim_store *)&learner->store,
                                                     lesson->tablet);
    bool same = tablet != NULL && learner->disk->incarnation == lesson->learner_incarnation &&
                tablet->copy.configuration.version == lesson->version;
    return same ? replica_look(tablet->copy.replica).synced : UINT64_MAX;
}

static void step(struct sim_server *server, struct sim_lesson *lesson)
{
    struct sim_tablet *tablet = sim_store_find(&server->store, lesson->tablet);
    if (lesson->state == SIM_LESSON_GIVE) {
        take(server, tablet, lesson);
        return;
    }
    if (!leads_still(server, tablet, lesson)) {
        return;
    }
    if (lesson->state == SIM_LESSON_TAKEN) {
        say_taught(server, tablet, lesson, lesson->sequence);
        return;
    }
    uint64_t has = end_of_learner(server->sim, lesson);
    if (has != UINT64_MAX) {
        teach(server, tablet, lesson, has);
    }
}

void sim_lesson_arrived(struct sim_server *server, uint64_t number, struct sim_effects *effects)
{
    struct sim_lesson *lesson = find(server->sim, number);
    ASSERT(lesson != NULL);
    sim_server_begin_step(server, effects);
    step(server, lesson);
    sim_replica_drain(server);
    sim_server_end_step(server);
}
