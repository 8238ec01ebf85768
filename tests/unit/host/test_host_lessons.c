/*
 * Learners taught on real stores: by the log where it follows on what they have, else by slices, while the tablet is
 * written to, and whoever dies.
 */
#include "tests/support/host_trio.h"

#include "common/base/memory.h"
#include "tabletserver/host/host_internal.h"
#include "tabletserver/storage/copies/store_slice.h"
#include "tests/support/told_metrics.h"

TestSuite(host_lessons, .fini = finish);

static void be_small(void)
{
    for (int i = 0; i < NODES; i++) {
        cluster.nodes[i].fixture.settings.slice_bytes = 200;
        cluster.nodes[i].fixture.settings.memtable_limit_bytes = 4000;
        cluster.nodes[i].fixture.settings.flush_pace_percent = 50; /* and rest after each slice */
    }
}

static uint64_t slices_read(void)
{
    uint64_t count = 0;
    for (int i = 0; i < NODES; i++) {
        count += cluster.nodes[i].slices_read;
    }
    return count;
}

/* Adds to counters all over, answered or not: what each comes to is compared. */
static void load(void)
{
    static uint32_t turn;
    uint64_t sequence = 0;
    struct node *node = cluster_primary(&cluster);
    if (node != NULL && rows_written < ROWS_MAX - 1 && turn++ % 4 == 0) {
        uint8_t operand[8];
        char name[16];
        struct change change = fixture_add(3, "load", (int64_t)(turn % 7), operand);
        (void)snprintf(name, sizeof name, "s%04u", turn % 97);
        (void)fixture_append(node->tablet, name, &change, 1, NULL, &sequence);
    }
}

#define PUMP_UNDER_LOAD_UNTIL(cluster, condition) PUMP_UNTIL(cluster, (load(), (condition)))

Test(host_lessons, a_lone_member_with_data_gets_others_by_slices)
{
    begin_with(1);
    be_small();
    start_all(1);
    write_rows(60);
    for (int i = 1; i < NODES; i++) {
        node_start(&cluster.nodes[i]);
    }
    wish_for_all();
    PUMP_UNDER_LOAD_UNTIL(&cluster, cluster.catalog.member_count == NODES);
    cr_assert_gt(slices_read(), 10);
    write_rows(20);
    expect_level();
}

/* What its store had is gone, and with it its data: another store number would be another member. */
static void wipe(struct node *node)
{
    struct store_settings settings = node->fixture.settings;
    fixture_deinit(&node->fixture);
    fixture_init(&node->fixture);
    node->fixture.settings = settings;
}

static struct node *dead_secondary_of_three(void)
{
    begin_with(3);
    be_small();
    start_all(3);
    wish_for_all();
    write_rows(60);
    const struct node *primary = must_lead();
    struct node *dead = &cluster.nodes[peer_of(primary)->self.server - 1];
    node_kill(dead);
    PUMP_UNTIL(&cluster, !is_member(dead));
    write_rows(10);
    PUMP_UNTIL(&cluster, !is_member(dead) && cluster.catalog.member_count == NODES - 1);
    return dead;
}

/* Who teaches this one, and nobody else; NULL = nobody does.  (On a busy machine another may lead by then, or another one be
 * taught, too: then until that is over.) */
static struct node *teacher_of(const struct node *pupil)
{
    for (int i = 0; i < NODES; i++) {
        struct node *node = &cluster.nodes[i];
        const struct hosted *hosted = node->up ? store_tablet_replica(node->tablet) : NULL;
        if (hosted != NULL && hosted->teachings != NULL && hosted->teachings->next == NULL &&
            hosted->teachings->pupil.member.store == pupil->self.store) {
            return node;
        }
    }
    return NULL;
}

static struct hosted *hosted_that_teaches(const struct node *pupil)
{
    const struct node *teacher = teacher_of(pupil);
    return teacher == NULL ? NULL : store_tablet_replica(teacher->tablet);
}

static int64_t slices_sent(void)
{
    return told_metric("edubba_slices_sent_total");
}

/* Rule 17: what it kept makes its return cheap. */
Test(host_lessons, a_learner_that_the_log_follows_on_is_sent_no_slice)
{
    struct node *dead = dead_secondary_of_three();
    node_start(dead);
    PUMP_UNDER_LOAD_UNTIL(&cluster, is_member(dead));
    cr_assert_eq(slices_sent(), 0);
    write_rows(5);
    expect_level();
}

/* The log that the others have begins behind what they have. */
static void lose_logs(void)
{
    for (int i = 0; i < NODES; i++) {
        struct node *node = &cluster.nodes[i];
        if (node->up) {
            fixture_flush(&node->fixture);
            store_tablet_forget_log(node->tablet);
        }
    }
}

Test(host_lessons, a_wiped_learner_is_taught_by_slices_under_load)
{
    struct node *dead = dead_secondary_of_three();
    wipe(dead);
    lose_logs();
    node_start(dead);
    PUMP_UNDER_LOAD_UNTIL(&cluster, is_member(dead));
    cr_assert_gt(slices_read(), 10);
    cr_assert_gt(slices_sent(), 10);
    write_rows(5);
    expect_level();
}

Test(host_lessons, a_learner_whose_log_is_gone_drops_what_it_has)
{
    struct node *dead = dead_secondary_of_three();
    lose_logs();
    node_start(dead);
    PUMP_UNDER_LOAD_UNTIL(&cluster, is_member(dead));
    cr_assert_gt(slices_read(), 10);
    write_rows(5);
    expect_level();
}

/* Nor does it hear what has come, and was not looked at yet. */
static void turn_deaf(struct node *node)
{
    (void)pthread_mutex_lock(&node->mutex);
    atomic_store(&node->deaf, true);
    for (unsigned i = 0; i < node->batch_count; i++) {
        lanes_batch_done(node->batches[i]);
    }
    node->batch_count = 0;
    (void)pthread_mutex_unlock(&node->mutex);
}

/* The learner's log follows on the walk: what it passed over would be the barrier.  (Simulator, seed 411637.) */
Test(host_lessons, a_walk_begins_behind_a_barrier_that_came_after_its_offer)
{
    struct node *dead = dead_secondary_of_three();
    struct node *primary = NULL;
    struct node *other = NULL;
    const struct record_drop_range drop = {.range = {bytes_of_text("row"), bytes_of_text("row1")}};
    uint64_t barrier = 0;
    lose_logs();
    node_start(dead);
    PUMP_UNTIL(&cluster, (primary = teacher_of(dead)) != NULL);
    for (int i = 0; i < NODES; i++) {
        struct node *node = &cluster.nodes[i];
        other = node != primary && node != dead ? node : other;
    }
    turn_deaf(dead); /* it has not heard of the offer yet */
    turn_deaf(other);
    uint64_t before = slices_read();
    cr_assert_eq(store_append_drop_range(primary->tablet, &drop,
                                         store_next_clock(primary->fixture.store), &barrier),
                 STATUS_OK);
    atomic_store(&dead->deaf, false);
    int64_t until_ns = clock_monotonic_ns() + 1000 * MS;
    PUMP_UNTIL(&cluster, slices_read() > before || clock_monotonic_ns() > until_ns);
    cr_assert(slices_read() == before || store_tablet_committed(primary->tablet) >= barrier);
    atomic_store(&other->deaf, false);
    PUMP_UNTIL(&cluster, is_member(dead));
    cr_assert_gt(slices_read(), before);
}

/* Its log does not follow on what it has: it is being taught by slices. */
static struct hosted *hosted_that_walks_for(struct node *dead)
{
    struct hosted *hosted = NULL;
    lose_logs();
    node_start(dead);
    PUMP_UNTIL(&cluster, (hosted = hosted_that_teaches(dead)) != NULL && hosted_walks(hosted));
    return hosted;
}

/* The replica says once that it is to be taught: nobody would begin it. */
Test(host_lessons, a_lesson_for_which_there_was_no_memory_is_begun_later)
{
    struct node *dead = dead_secondary_of_three();
    struct hosted *hosted = hosted_that_walks_for(dead);
    struct host_pupil pupil = hosted->teachings->pupil;
    memory_fail_arm(0, true);
    hosted_teach(hosted, &pupil);
    int64_t begun_ns = clock_monotonic_ns();
    hosted_tick_lessons(hosted);
    memory_fail_disarm();
    cr_assert_null(hosted->teachings);
    cr_assert_geq(hosted->untaught_ns, begun_ns, "not again and again");
    PUMP_UNTIL(&cluster, hosted->teachings != NULL && hosted->untaught.member.store == 0);
    PUMP_UNTIL(&cluster, is_member(dead));
    write_rows(5);
    expect_level();
}

/* Its learner asks on, and so keeps the lesson alive: were the slice only lost, it would wait for it for ever. */
Test(host_lessons, a_slice_that_could_not_be_read_is_read_a_moment_later)
{
    struct node *dead = dead_secondary_of_three();
    wipe(dead);
    lose_logs();
    cluster.slices_refused = 5;
    node_start(dead);
    PUMP_UNDER_LOAD_UNTIL(&cluster, is_member(dead));
    cr_assert_eq(cluster.slices_refused, 0);
    write_rows(5);
    expect_level();
}

Test(host_lessons, whoever_was_let_go_before_there_was_memory_is_not_taught)
{
    struct node *dead = dead_secondary_of_three();
    struct hosted *hosted = hosted_that_walks_for(dead);
    struct host_pupil pupil = hosted->teachings->pupil;
    cluster.goal = replica_union_of(&cluster.catalog, &cluster.catalog);
    memory_fail_arm(0, true);
    hosted_teach(hosted, &pupil);
    memory_fail_disarm();
    cr_assert_eq(hosted->untaught.member.store, dead->self.store);
    PUMP_UNTIL(&cluster, hosted->untaught.member.store == 0);
    cr_assert_null(hosted->teachings);
}

/* Incarnation and number may be alike when servers count alike: the version tells whose it is.  (Simulator, seed 4911669.) */
Test(host_lessons, a_lesson_is_not_asked_for_under_another_version)
{
    struct node *dead = dead_secondary_of_three();
    struct hosted *hosted = NULL;
    lose_logs();
    node_start(dead);
    PUMP_UNTIL(&cluster, (hosted = hosted_that_teaches(dead)) != NULL);
    turn_deaf(dead);
    const struct host_teaching *teaching = hosted->teachings;
    struct replica_message message = {.type = REPLICA_TEACH,
                                      .version = teaching->pupil.version - 1,
                                      .incarnation = teaching->pupil.incarnation,
                                      .opener = hosted->host->options.incarnation,
                                      .lesson = teaching->lesson,
                                      .number = teach_number(1, 1)};
    cr_assert_eq(teaching->teach.state, TEACH_OFFERED);
    cr_assert(hosted_hear_lesson(hosted, teaching->pupil.member, &message));
    cr_assert_eq(teaching->teach.state, TEACH_OFFERED);
    message.version++;
    cr_assert(hosted_hear_lesson(hosted, teaching->pupil.member, &message));
    cr_assert_eq(teaching->teach.state, TEACH_READING);
}

/* Late, what was said of the former would end the walk that the latter begins: half of the rows would count.  (Simulator,
 * seed 12001173.) */
Test(host_lessons, an_offer_that_changes_is_another_lesson)
{
    struct node *dead = dead_secondary_of_three();
    struct hosted *hosted = NULL;
    node_start(dead);
    PUMP_UNTIL(&cluster, (hosted = hosted_that_teaches(dead)) != NULL);
    struct host_teaching *teaching = hosted->teachings;
    struct replica_message message = {.type = REPLICA_LEARNED,
                                      .version = teaching->pupil.version,
                                      .incarnation = teaching->pupil.incarnation,
                                      .opener = hosted->host->options.incarnation,
                                      .lesson = teaching->lesson,
                                      .sequence = teaching->pupil.sequence};
    cr_assert(teaching->offered_log);
    hosted->unread_sequence = UINT64_MAX; /* what the log has behind it cannot be read any more */
    teaching->teach.offered_ns -= teaching->teach.settings.resend_ns;
    hosted_tick_lessons(hosted);
    cr_assert_not(teaching->offered_log);
    cr_assert(hosted_hear_lesson(hosted, teaching->pupil.member, &message));
    cr_assert_eq(teaching->teach.state, TEACH_OFFERED);
    message.lesson = teaching->lesson;
    cr_assert(hosted_hear_lesson(hosted, teaching->pupil.member, &message));
    cr_assert_eq(teaching->teach.state, TEACH_OVER);
}

/* It held up barriers, and a place that others wait for; and when the learner was not heard, it was begun anew for ever. */
Test(host_lessons, the_lesson_of_a_learner_that_is_let_go_ends)
{
    struct node *dead = dead_secondary_of_three();
    struct hosted *hosted = hosted_that_walks_for(dead);
    turn_deaf(dead);
    cr_assert_not(hosted_may_give_out(hosted, RECORD_DROP_RANGE));
    cluster.goal = replica_union_of(&cluster.catalog, &cluster.catalog);
    PUMP_UNTIL(&cluster, hosted->teachings == NULL);
    cr_assert_eq(hosted->host->walks, 0);
    cr_assert(hosted_may_give_out(hosted, RECORD_DROP_RANGE));
}

Test(host_lessons, a_learner_that_restarts_on_its_walk_begins_again)
{
    struct node *dead = dead_secondary_of_three();
    lose_logs();
    node_start(dead);
    for (uint64_t i = 1; i <= 3; i++) {
        uint64_t before = slices_read();
        PUMP_UNDER_LOAD_UNTIL(&cluster, slices_read() >= before + 3 * i || is_member(dead));
        node_kill(dead);
        node_start(dead);
    }
    PUMP_UNDER_LOAD_UNTIL(&cluster, is_member(dead));
    write_rows(5);
    expect_level();
}

Test(host_lessons, a_primary_that_restarts_on_the_walk_is_followed_by_another_lesson)
{
    struct node *dead = dead_secondary_of_three();
    lose_logs();
    node_start(dead);
    uint64_t before = slices_read();
    PUMP_UNDER_LOAD_UNTIL(&cluster, slices_read() >= before + 4 || is_member(dead));
    struct node *primary = must_lead();
    node_kill(primary);
    node_start(primary);
    PUMP_UNDER_LOAD_UNTIL(&cluster, is_member(dead) && is_member(primary));
    write_rows(5);
    expect_level();
}

static struct node *learner_that_hears_nothing(struct node **ret_primary)
{
    struct node *dead = dead_secondary_of_three();
    const struct hosted *learner = NULL;
    lose_logs();
    node_start(dead);
    PUMP_UNTIL(&cluster, (*ret_primary = teacher_of(dead)) != NULL);
    turn_deaf(dead);
    learner = store_tablet_replica(dead->tablet);
    PUMP_UNTIL(&cluster, !learner->configure_due && learner->configures_done == 0);
    cr_assert_eq(replica_look(learner->replica).role, REPLICA_LEARNER);
    return dead;
}

static struct replica_message offer_of(const struct node *primary, const struct node *learner)
{
    struct replica_view view = host_look(learner->tablet);
    return (struct replica_message){.type = REPLICA_LESSON,
                                    .version = view.configuration.version,
                                    .incarnation = primary->incarnation,
                                    .opener = learner->incarnation,
                                    .sequence = UINT64_MAX,
                                    .lesson = 1000};
}

/* Whoever has learnt all is made a member when it has said so.  One that restarts then, and hears the offer and the first
 * slice of before, must not drop what it has for them.  (An audit.) */
Test(host_lessons, a_lesson_for_a_process_before_this_one_is_late)
{
    struct node *primary = NULL;
    struct node *dead = learner_that_hears_nothing(&primary);
    struct hosted *learner = store_tablet_replica(dead->tablet);
    struct replica_message message = offer_of(primary, dead);
    message.opener--;
    cr_assert(hosted_hear_lesson(learner, primary->self, &message));
    cr_assert_neq(learner->learn.lesson.number, message.lesson);
    message.opener++;
    cr_assert(hosted_hear_lesson(learner, primary->self, &message));
    cr_assert_eq(learner->learn.lesson.number, message.lesson);
}

/* It is still sent what follows on a walk before; the records of the next lie behind its log, or are refused.  (An audit.) */
Test(host_lessons, who_waits_for_records_takes_no_entries)
{
    struct node *primary = NULL;
    struct node *dead = learner_that_hears_nothing(&primary);
    struct hosted *learner = store_tablet_replica(dead->tablet);
    struct replica_message message = offer_of(primary, dead);
    uint64_t appended = host_look(dead->tablet).appended;
    struct replica_item item = {.tablet = TABLET,
                                .message = {.type = REPLICA_PREPARE,
                                            .version = message.version,
                                            .incarnation = primary->incarnation,
                                            .opener = dead->incarnation}};
    const struct replica_batch batch = {.head = {.from = primary->self,
                                                 .incarnation = primary->incarnation,
                                                 .to_store = dead->self.store},
                                        .items = &item,
                                        .item_count = 1};
    item.message.entry = (struct replica_entry){
        .sequence = appended + 1, .version = message.version, .type = RECORD_GC_HORIZON};
    cr_assert(hosted_hear_lesson(learner, primary->self, &message));
    cr_assert(hosted_awaits_records(learner));
    host_receive(dead->host, &batch);
    cr_assert_eq(host_look(dead->tablet).appended, appended);
}

/* By a word of the master's that was under way when it was wished for: it has heard of no version, and of no lesson. */
Test(host_lessons, a_copy_that_was_dropped_on_its_walk_and_made_again_is_opened_again)
{
    struct node *dead = dead_secondary_of_three();
    (void)hosted_that_walks_for(dead);
    uint64_t dropped = dead->fixture.dropped_count;
    host_remove(dead->host, dead->tablet);
    store_tablet_drop(dead->fixture.store, dead->tablet);
    FIXTURE_PUMP_UNTIL(&dead->fixture, dead->fixture.dropped_count > dropped);
    dead->tablet = fixture_create(&dead->fixture, TABLET, "a", "z");
    dead->committed = 0;
    cr_assert_eq(host_add(dead->host, dead->tablet, 1), STATUS_OK);
    PUMP_UNDER_LOAD_UNTIL(&cluster, is_member(dead));
    write_rows(5);
    expect_level();
}

static struct node *half_taught_learner(struct node **ret_primary)
{
    struct node *dead = dead_secondary_of_three();
    lose_logs();
    node_start(dead);
    PUMP_UNTIL(&cluster,
               store_tablet_began_anew(dead->tablet) && (*ret_primary = teacher_of(dead)) != NULL);
    turn_deaf(dead);
    return dead;
}

/* Nobody is to make it count: but if its primary takes it for whole, it has nothing to say but that it is not. */
Test(host_lessons, half_of_a_tablet_that_is_opened_as_a_member_is_damaged)
{
    struct node *primary = NULL;
    struct node *dead = half_taught_learner(&primary);
    struct hosted *hosted = store_tablet_replica(primary->tablet);
    struct replica_event event = {.type = REPLICA_EVENT_TEACHING,
                                  .from = dead->self,
                                  .sequence = store_tablet_committed(primary->tablet),
                                  .version = hosted->teachings->pupil.version,
                                  .incarnation = dead->incarnation};
    hosted_step(hosted, &event);
    event.type = REPLICA_EVENT_TAUGHT;
    hosted_step(hosted, &event);
    atomic_store(&dead->deaf, false);
    PUMP_UNTIL(&cluster, is_member(dead) || host_look(dead->tablet).role == REPLICA_SECONDARY);
    cr_assert_eq(host_look(dead->tablet).trouble, REPLICA_IS_DAMAGED);
    PUMP_UNTIL(&cluster, is_member(dead));
    cr_assert_not(store_tablet_is_half_taught(dead->tablet));
    write_rows(5);
    expect_level();
}

Test(host_lessons, half_of_a_tablet_that_counts_in_its_log_is_damaged)
{
    struct node *primary = NULL;
    struct node *dead = half_taught_learner(&primary);
    struct store_configuration configuration = *store_tablet_configuration(dead->tablet);
    configuration.role = REPLICA_SECONDARY;
    PUMP_UNTIL(&cluster, store_tablet_configure(dead->tablet, &configuration,
                                                store_tablet_appended(dead->tablet)) == STATUS_OK);
    node_kill(dead);
    node_start(dead);
    cr_assert_eq(store_tablet_configuration(dead->tablet)->role, REPLICA_SECONDARY);
    cr_assert(store_tablet_is_half_taught(dead->tablet));
    cr_assert_eq(host_look(dead->tablet).trouble, REPLICA_IS_DAMAGED);
}
