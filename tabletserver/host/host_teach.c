/*
 * Teaching by slices, performed: teach.h at a primary (docs/replication.md, section 6).
 *
 *   primary                                              learner (host_learn.c)
 *   TEACH of the replica --> teach.h -- LESSON, SLICE -->  learn.h --> store_learn() --> host_on_taught()
 *   on_slice --> store_slices_read() --> host_sliced()       '-- TEACH, LEARNED --> primary
 *
 * Whoever is behind is offered a lesson; who has what the log follows on says LEARNED at once.  A slice that
 * was read is kept until the next is asked for, so one lost is sent again without another read.  How soon the
 * next is read follows what the process may use of the processors (storage/flush/flush_pace.h), unless the master
 * is in a hurry with the tablet.  What may not be given out while slices are read: host_walks.c.
 */
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/metrics.h"
#include "tabletserver/host/host_internal.h"

/* --- lessons ------------------------------------------------------------------------------------ */

static struct host_teaching **find_teaching(struct hosted *hosted, uint64_t store)
{
    struct host_teaching **link = &hosted->teachings;
    while (*link != NULL && (*link)->pupil.member.store != store) {
        link = &(*link)->next;
    }
    return link;
}

static void end_walk(struct host_teaching *teaching)
{
    if (teaching->walks) {
        teaching->walks = false;
        teaching->host->walks--;
    }
    if (teaching->reading == NULL) { /* else it goes with what is being read */
        store_slices_end(teaching->slices);
    }
    teaching->slices = NULL;
    buffer_deinit(&teaching->content);
}

static void remove_teaching(struct host_teaching **link)
{
    struct host_teaching *teaching = *link;
    *link = teaching->next;
    end_walk(teaching);
    memory_free(teaching);
}

static void forget_lesson_of(struct hosted *hosted, uint64_t store)
{
    struct host_teaching **link = find_teaching(hosted, store);
    if (*link != NULL) {
        remove_teaching(link);
    }
    if (hosted->untaught.member.store == store) {
        hosted->untaught = (struct host_pupil){.tablet = 0};
    }
}

void hosted_forget_lessons(struct hosted *hosted)
{
    while (hosted->teachings != NULL) {
        remove_teaching(&hosted->teachings);
    }
}

/* A reign may let a learner go, which hears nothing of it and goes on asking. */
static bool is_wanted(const struct hosted *hosted, const struct host_pupil *pupil)
{
    struct replica_view view = replica_look(hosted->replica);
    return view.role == REPLICA_PRIMARY && view.configuration.version == pupil->version &&
           replica_teaches(hosted->replica, pupil->member.store);
}

/* --- effects ------------------------------------------------------------------------------------ */

/* The log follows on what it has, or it follows on nothing that it could have.  What was offered of one lesson does
 * not change: LEARNED, said to the former, would be taken for the end of the walk that the latter brings (simulator,
 * seed 12001173: it came late, and who had half of the rows led). */
static void send_offer(struct hosted *hosted, struct host_teaching *teaching)
{
    uint64_t sequence = teaching->pupil.sequence;
    bool follows = sequence >= hosted->unread_sequence &&
                   store_log_follows(hosted->tablet, sequence);
    if (teaching->offered_log && !follows) {
        teaching->lesson = ++hosted->host->lessons;
    }
    teaching->offered_log = follows;
    struct replica_message message = {.type = REPLICA_LESSON,
                                      .version = teaching->pupil.version,
                                      .opener = teaching->pupil.incarnation,
                                      .sequence = follows ? sequence : UINT64_MAX,
                                      .lesson = teaching->lesson};
    hosted_send(hosted, teaching->pupil.member, &message);
}

static void send_slice(struct hosted *hosted, const struct host_teaching *teaching, uint64_t number)
{
    struct replica_message message = {.type = REPLICA_SLICE,
                                      .version = teaching->pupil.version,
                                      .opener = teaching->pupil.incarnation,
                                      .sequence = teaching->teach.sequence,
                                      .lesson = teaching->lesson,
                                      .number = number,
                                      .last = teaching->teach.last,
                                      .content = buffer_bytes(&teaching->content)};
    metric_add(hosted->host->slices_sent, 1);
    hosted_send(hosted, teaching->pupil.member, &message);
}

static void tell_replica(struct hosted *hosted,
                         enum replica_event_type type,
                         const struct host_teaching *teaching,
                         uint64_t sequence)
{
    struct replica_event event = {.type = type,
                                  .from = teaching->pupil.member,
                                  .sequence = sequence,
                                  .version = teaching->pupil.version,
                                  .incarnation = teaching->pupil.incarnation};
    hosted_step(hosted, &event);
}

/* Its own, so that it outlives the lesson. */
static bool start_reading(struct hosted *hosted, struct host_teaching *teaching)
{
    const struct host_options *options = &hosted->host->options;
    struct host_reading_slice *reading = memory_allocate_zeroed(1, sizeof *reading);
    if (reading == NULL) {
        return false;
    }
    reading->tablet = hosted->tablet;
    store_tablet_ref(hosted->tablet);
    reading->member = teaching->pupil.member;
    reading->lesson = teaching->lesson;
    reading->slices = teaching->slices;
    if (!options->on_slice(options->context, hosted->tablet, reading)) {
        reading->slices = NULL; /* the lesson's */
        host_slice_discard(reading);
        return false;
    }
    teaching->reading = reading;
    return true;
}

/* Barriers and dropped ranges wait while it walks; those before are in its first slice. */
static bool start_walk(struct hosted *hosted, struct host_teaching *teaching, uint64_t at_least)
{
    struct host *host = hosted->host;
    struct store_tablet *tablet = hosted->tablet;
    uint64_t committed = store_tablet_committed(tablet);
    const struct replica_entry *next = replica_window_find(hosted->replica, committed + 1);
    uint64_t sequence = 0;
    end_walk(teaching);
    teaching->floor = teaching->floor > at_least ? teaching->floor : at_least;
    if (teaching->floor < hosted->barred_sequence) {
        teaching->floor = hosted->barred_sequence; /* given out since the lesson was offered */
    }
    bool has_turn = host->walks <
                    HOST_WALKS_MAX + (hosted_is_quick(hosted) ? HOST_QUICK_WALKS_MAX : 0);
    if (committed < teaching->floor || !has_turn ||
        store_slices_begin(tablet, next == NULL ? 0 : next->stamp.clock, &teaching->slices,
                           &sequence) != STATUS_OK) {
        return false;
    }
    teaching->walks = true;
    teaching->walks_since_ns = clock_monotonic_ns();
    host->walks++;
    return true;
}

static void step_teach(struct hosted *hosted,
                       struct host_teaching *teaching,
                       struct teach_event *event);

static void read_next(struct hosted *hosted,
                      struct host_teaching *teaching,
                      const struct teach_effect *effect)
{
    bool begun = effect->type == TEACH_EFFECT_READ ||
                 start_walk(hosted, teaching, effect->sequence);
    if (!begun || !start_reading(hosted, teaching)) {
        struct teach_event event = {.type = TEACH_EVENT_UNREAD};
        step_teach(hosted, teaching, &event);
    }
}

void hosted_teach_anew(struct hosted *hosted, struct host_teaching *teaching)
{
    struct host_pupil pupil = teaching->pupil;
    hosted_teach(hosted, &pupil);
}

/* Its copy may have been dropped, and made again by the same process: that has heard of no version, so of no lesson.
 * Who answers is taught from where it stands now. */
static void give_up(struct hosted *hosted, struct host_teaching *teaching)
{
    uint64_t store = teaching->pupil.member.store;
    tell_replica(hosted, REPLICA_EVENT_UNTAUGHT, teaching, 0);
    forget_lesson_of(hosted, store);
}

static void perform(struct hosted *hosted,
                    struct host_teaching *teaching,
                    const struct teach_effect *effect)
{
    switch (effect->type) {
    case TEACH_EFFECT_OFFER:
        send_offer(hosted, teaching);
        break;
    case TEACH_EFFECT_BEGIN:
    case TEACH_EFFECT_READ:
        read_next(hosted, teaching, effect);
        break;
    case TEACH_EFFECT_GIVE:
        send_slice(hosted, teaching, effect->number);
        break;
    case TEACH_EFFECT_LET_GO:
        if (teaching->slices != NULL && teaching->reading == NULL) {
            store_slices_let_go(teaching->slices);
        }
        break;
    case TEACH_EFFECT_TEACHING:
        tell_replica(hosted, REPLICA_EVENT_TEACHING, teaching, effect->sequence);
        break;
    case TEACH_EFFECT_TAUGHT:
        end_walk(teaching);
        tell_replica(hosted, REPLICA_EVENT_TAUGHT, teaching, effect->sequence);
        break;
    case TEACH_EFFECT_END:
        give_up(hosted, teaching);
        break;
    }
}

/* TAUGHT and END are the last of their step; they may free the lesson. */
static void step_teach(struct hosted *hosted,
                       struct host_teaching *teaching,
                       struct teach_event *event)
{
    struct teach_effects effects;
    event->now_ns = clock_monotonic_ns();
    teach_step(&teaching->teach, event, &effects);
    teach_check(&teaching->teach);
    for (uint32_t i = 0; i < effects.count; i++) {
        perform(hosted, teaching, &effects.items[i]);
    }
}

/* One at a time: a reign has one learner.  Whoever was let go is not to take its place. */
static void teach_later(struct hosted *hosted, const struct host_pupil *pupil)
{
    if (is_wanted(hosted, pupil)) {
        hosted->untaught = *pupil;
        hosted->untaught_ns = clock_monotonic_ns() + HOST_RETRY_NS;
    }
}

static void teach_untaught(struct hosted *hosted)
{
    struct host_pupil pupil = hosted->untaught;
    if (pupil.member.store == 0 || clock_monotonic_ns() < hosted->untaught_ns) {
        return;
    }
    hosted->untaught = (struct host_pupil){.tablet = 0};
    if (is_wanted(hosted, &pupil)) {
        hosted_teach(hosted, &pupil);
    }
}

void hosted_teach(struct hosted *hosted, const struct host_pupil *pupil)
{
    struct host *host = hosted->host;
    struct teach_effects effects;
    forget_lesson_of(hosted, pupil->member.store);
    struct host_teaching *teaching = memory_allocate_zeroed(1, sizeof *teaching);
    if (teaching == NULL) {
        teach_later(hosted, pupil); /* the replica waits for its end, and says no more of it */
        return;
    }
    teaching->host = host;
    teaching->pupil = *pupil;
    teaching->lesson = ++host->lessons;
    teaching->floor = store_tablet_appended(hosted->tablet);
    teaching->next = hosted->teachings;
    hosted->teachings = teaching;
    store_tablet_share(hosted->tablet);
    teach_begin(&teaching->teach, &host->options.teach, clock_monotonic_ns(), &effects);
    for (uint32_t i = 0; i < effects.count; i++) {
        perform(hosted, teaching, &effects.items[i]);
    }
}

/* --- events ------------------------------------------------------------------------------------- */

/* Of this very lesson: processes are told apart by the version, too, as servers may count alike (simulator, seed
 * 4911669: a learner went on asking for another teacher's slices, and was thought to be at work). */
static void hear_learner(struct hosted *hosted,
                         struct replica_member from,
                         const struct replica_message *message)
{
    struct host_teaching *teaching = *find_teaching(hosted, from.store);
    if (teaching == NULL || message->version != teaching->pupil.version ||
        message->lesson != teaching->lesson ||
        message->opener != hosted->host->options.incarnation ||
        message->incarnation != teaching->pupil.incarnation ||
        !is_wanted(hosted, &teaching->pupil)) {
        return;
    }
    struct teach_event event = {.type = message->type == REPLICA_TEACH ? TEACH_EVENT_ASKED
                                                                       : TEACH_EVENT_LEARNED,
                                .number = message->number,
                                .at_least = message->committed,
                                .sequence = message->sequence};
    step_teach(hosted, teaching, &event);
}

void host_slice_read(struct host_reading_slice *reading)
{
    reading->status = store_slices_read(reading->slices, &reading->out, &reading->sequence,
                                        &reading->last);
}

void host_slice_discard(struct host_reading_slice *reading)
{
    store_slices_end(reading->slices);
    buffer_deinit(&reading->out);
    store_tablet_unref(reading->tablet);
    memory_free(reading);
}

/* When the next may be read.  Lessons of a store share its pace, but those that are hurried. */
static int64_t slices_free_ns(struct host *host, const struct host_reading_slice *reading)
{
    int64_t now_ns = clock_monotonic_ns();
    int64_t from_ns = host->slices_free_ns > now_ns ? host->slices_free_ns : now_ns;
    int64_t rest_ns = store_slices_rest_ns(reading->slices);
    if (rest_ns == 0 || reading->status != STATUS_OK) {
        return now_ns; /* a read that failed is paced by its retry */
    }
    host->slices_free_ns = from_ns + rest_ns;
    return host->slices_free_ns;
}

static void take_slice(struct hosted *hosted,
                       struct host_teaching *teaching,
                       struct host_reading_slice *reading)
{
    bool read = reading->status == STATUS_OK;
    struct teach_event event = {.type = read ? TEACH_EVENT_READ : TEACH_EVENT_UNREAD,
                                .sequence = reading->sequence,
                                .size_bytes = reading->out.size_bytes,
                                .free_ns = slices_free_ns(teaching->host, reading),
                                .last = reading->last,
                                .again = reading->status == STATUS_ABORTED};
    teaching->reading = NULL;
    if (read) {
        buffer_deinit(&teaching->content);
        teaching->content = reading->out;
        reading->out = BUFFER_INIT;
    }
    step_teach(hosted, teaching, &event);
}

void host_sliced(struct host *host, struct host_reading_slice *reading)
{
    struct hosted *hosted = store_tablet_replica(reading->tablet);
    struct host_teaching *teaching = hosted == NULL ? NULL
                                                    : *find_teaching(hosted, reading->member.store);
    (void)host;
    if (teaching != NULL && teaching->reading == reading) {
        take_slice(hosted, teaching, reading);
        hosted_reschedule(hosted);
        reading->slices = NULL; /* the lesson's */
    }
    host_slice_discard(reading);
}

bool hosted_hear_lesson(struct hosted *hosted,
                        struct replica_member from,
                        const struct replica_message *message)
{
    switch (message->type) {
    case REPLICA_TEACH:
    case REPLICA_LEARNED:
        hear_learner(hosted, from, message);
        break;
    case REPLICA_LESSON:
    case REPLICA_SLICE:
        hosted_hear_teacher(hosted, from, message);
        break;
    case REPLICA_OPEN:
    case REPLICA_OPENED:
    case REPLICA_PREPARE:
    case REPLICA_PREPARED:
    case REPLICA_COMMITTED:
    case REPLICA_BEHIND:
    case REPLICA_YIELD:
    case REPLICA_DAMAGED:
    case REPLICA_DIGEST:
    case REPLICA_DIGESTED:
    case REPLICA_DIFFERS:
    case REPLICA_REFUSED:
        return false;
    }
    hosted_look_at_level(hosted);
    hosted_reschedule(hosted);
    return true;
}

/* Lessons whose reign is over go, and those of whom the replica has let go: they would hold up barriers, and others that
 * are to be taught; the rest hear the time. */
void hosted_tick_lessons(struct hosted *hosted)
{
    struct host_teaching **link = &hosted->teachings;
    while (*link != NULL) {
        bool over = (*link)->teach.state == TEACH_OVER && (*link)->reading == NULL;
        if (over || !is_wanted(hosted, &(*link)->pupil)) {
            remove_teaching(link);
        } else {
            link = &(*link)->next;
        }
    }
    struct host_teaching *next = NULL;
    for (struct host_teaching *t = hosted->teachings; t != NULL; t = next) {
        struct teach_event event = {.type = TEACH_EVENT_TICK};
        next = t->next;
        step_teach(hosted, t, &event);
    }
    teach_untaught(hosted);
    hosted_tick_learning(hosted);
}

int64_t hosted_lessons_due_ns(const struct hosted *hosted)
{
    int64_t due_ns = learn_deadline_ns(&hosted->learn);
    if (hosted->untaught.member.store != 0 && hosted->untaught_ns < due_ns) {
        due_ns = hosted->untaught_ns;
    }
    for (const struct host_teaching *t = hosted->teachings; t != NULL; t = t->next) {
        int64_t teach_ns = is_wanted(hosted, &t->pupil) ? teach_deadline_ns(&t->teach) : 0;
        due_ns = teach_ns < due_ns ? teach_ns : due_ns;
    }
    return due_ns;
}
