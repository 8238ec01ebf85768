/* Teaching by slices, both sides by rule (teach.h, learn.h). */
#include <criterion/criterion.h>

#include "tabletserver/replica/learn.h"
#include "tabletserver/replica/teach.h"

#define MS INT64_C(1000000)

static const struct teach_settings SETTINGS = {.resend_ns = 100 * MS,
                                               .patience_ns = 1000 * MS,
                                               .hold_ns = 10000 * MS,
                                               .bytes_per_second = 1000000};
static const struct learn_lesson LESSON = {.incarnation = 5, .version = 3, .number = 7};

static struct teach teach;
static struct learn learn;
static struct teach_effects given;
static struct learn_effects asked;
static int64_t now_ns;

static void begin(void)
{
    now_ns = 1000 * MS;
    teach_begin(&teach, &SETTINGS, now_ns, &given);
    learn_begin(&learn, 50 * MS);
    asked.count = 0;
}

TestSuite(teach, .init = begin);
TestSuite(learn, .init = begin);

static void tell(struct teach_event event)
{
    event.now_ns = now_ns;
    teach_step(&teach, &event, &given);
    teach_check(&teach);
}

static void hear(struct learn_event event)
{
    event.now_ns = now_ns;
    learn_step(&learn, &event, &asked);
    learn_check(&learn);
}

/* number: of the slice in the first walk. */
static void expect_given(uint32_t index, enum teach_effect_type type, uint64_t number)
{
    cr_assert_gt(given.count, index);
    cr_assert_eq(given.items[index].type, type);
    cr_assert(type != TEACH_EFFECT_GIVE || given.items[index].number == teach_number(1, number));
}

static void expect_asked(enum learn_effect_type type, uint64_t number)
{
    cr_assert_eq(asked.count, 1);
    cr_assert_eq(asked.items[0].type, type);
    cr_assert_eq(teach_slice_of(asked.items[0].number), number);
}

static void ask_for(uint64_t number, uint64_t follows)
{
    tell((struct teach_event){
        .type = TEACH_EVENT_ASKED, .number = teach_number(1, number), .sequence = follows});
}

static void read_one(uint64_t sequence, bool last)
{
    tell((struct teach_event){
        .type = TEACH_EVENT_READ, .sequence = sequence, .size_bytes = 1000, .last = last});
    now_ns += 1 * MS;
}

Test(teach, an_offer_is_repeated_until_it_is_answered)
{
    expect_given(0, TEACH_EFFECT_OFFER, 0);
    now_ns += 99 * MS;
    tell((struct teach_event){.type = TEACH_EVENT_TICK});
    cr_assert_eq(given.count, 0);
    now_ns += 1 * MS;
    cr_assert_eq(teach_deadline_ns(&teach), now_ns);
    tell((struct teach_event){.type = TEACH_EVENT_TICK});
    expect_given(0, TEACH_EFFECT_OFFER, 0);
}

Test(teach, who_has_what_the_log_follows_on_is_taught_at_once)
{
    tell((struct teach_event){.type = TEACH_EVENT_LEARNED, .sequence = 0});
    cr_assert_eq(given.count, 2);
    expect_given(0, TEACH_EFFECT_TEACHING, 0); /* also behind nothing */
    expect_given(1, TEACH_EFFECT_TAUGHT, 0);
    cr_assert_eq(teach_deadline_ns(&teach), INT64_MAX);
    tell((struct teach_event){.type = TEACH_EVENT_LEARNED, .sequence = 0});
    cr_assert_eq(given.count, 0, "said twice");
}

Test(teach, slices_are_read_one_by_one_as_they_are_asked_for)
{
    ask_for(1, 0);
    expect_given(0, TEACH_EFFECT_BEGIN, 0);
    ask_for(1, 0);
    cr_assert_eq(given.count, 0, "it is being read");
    read_one(10, false);
    expect_given(0, TEACH_EFFECT_GIVE, 1);
    ask_for(2, 10);
    expect_given(0, TEACH_EFFECT_TEACHING, 0);
    expect_given(1, TEACH_EFFECT_READ, 0);
    read_one(12, true);
    expect_given(0, TEACH_EFFECT_GIVE, 2);
    ask_for(3, 10);
    cr_assert_eq(given.count, 0, "there is none");
    tell((struct teach_event){.type = TEACH_EVENT_LEARNED, .sequence = 10});
    expect_given(given.count - 1, TEACH_EFFECT_TAUGHT, 0);
}

Test(teach, a_slice_that_is_lost_is_given_again_without_another_read)
{
    ask_for(1, 0);
    read_one(10, false);
    ask_for(1, 0);
    cr_assert_eq(given.count, 1);
    expect_given(0, TEACH_EFFECT_GIVE, 1);
    ask_for(2, 10);
    read_one(11, false);
    ask_for(2, 10);
    expect_given(0, TEACH_EFFECT_GIVE, 2);
}

static void ask_for_walk(uint64_t walk, uint64_t at_least)
{
    tell((struct teach_event){
        .type = TEACH_EVENT_ASKED, .number = teach_number(walk, 1), .at_least = at_least});
}

Test(teach, records_below_the_learners_log_are_read_again)
{
    ask_for(1, 0);
    read_one(10, false);
    ask_for_walk(2, 15);
    expect_given(0, TEACH_EFFECT_BEGIN, 0);
    cr_assert_eq(given.items[0].sequence, 15);
}

/* Slices of two walks do not go together.  (Simulator: the records' first piece was of one, the others of another
 * that a second copy of the message had begun.) */
Test(teach, a_message_that_comes_late_begins_no_walk)
{
    ask_for(1, 0);
    read_one(20, false);
    ask_for(2, 20);
    read_one(21, false);
    ask_for(1, 0);
    cr_assert_eq(given.count, 0);
    ask_for(3, 20);
    expect_given(0, TEACH_EFFECT_READ, 0);
    tell((struct teach_event){.type = TEACH_EVENT_READ, .sequence = 22});
    ask_for_walk(2, 0);
    expect_given(0, TEACH_EFFECT_BEGIN, 0);
    tell((struct teach_event){.type = TEACH_EVENT_READ, .sequence = 23});
    cr_assert_eq(given.items[0].number, teach_number(2, 1));
    ask_for(4, 20);
    cr_assert_eq(given.count, 0, "of the walk before");
}

Test(teach, learned_in_the_middle_of_a_walk_is_late)
{
    ask_for(1, 0);
    tell((struct teach_event){.type = TEACH_EVENT_LEARNED, .sequence = 4});
    cr_assert_eq(given.count, 0);
    read_one(10, false);
    tell((struct teach_event){.type = TEACH_EVENT_LEARNED, .sequence = 4});
    cr_assert_eq(given.count, 0);
}

/* Else what is written to a tablet that was empty when the walk began is not sent, and the next slice waits for it until
 * patience is over. */
Test(teach, a_walk_that_began_with_nothing_is_said_too)
{
    ask_for(1, 0);
    read_one(0, false);
    expect_given(0, TEACH_EFFECT_GIVE, 1);
    ask_for(2, 0);
    expect_given(0, TEACH_EFFECT_TEACHING, 0);
    cr_assert_eq(given.items[0].sequence, 0);
    expect_given(1, TEACH_EFFECT_READ, 0);
    read_one(5, false);
    ask_for(3, 0); /* its log has not come to 5 */
    cr_assert_eq(given.items[0].type, TEACH_EFFECT_READ, "said once");
}

/* Records in several slices: what it has is not known before the last of them. */
Test(teach, a_walk_that_began_with_something_is_not_said_before_it_is_there)
{
    ask_for(1, 0);
    read_one(10, false);
    ask_for(2, 0);
    cr_assert_eq(given.items[0].type, TEACH_EFFECT_READ);
}

Test(teach, reading_is_paced)
{
    ask_for(1, 0);
    tell((struct teach_event){.type = TEACH_EVENT_READ, .sequence = 10, .size_bytes = 500000});
    ask_for(2, 10);
    cr_assert_eq(given.count, 1);
    expect_given(0, TEACH_EFFECT_TEACHING, 0);
    cr_assert_eq(teach_deadline_ns(&teach), now_ns + 500 * MS);
    now_ns += 500 * MS;
    tell((struct teach_event){.type = TEACH_EVENT_TICK});
    expect_given(0, TEACH_EFFECT_READ, 0);
}

Test(teach, reading_rests_as_long_as_its_server_wishes)
{
    int64_t free_ns = now_ns + 700 * MS; /* later than its bytes ask for */
    ask_for(1, 0);
    tell((struct teach_event){
        .type = TEACH_EVENT_READ, .sequence = 10, .size_bytes = 1000, .free_ns = free_ns});
    ask_for(2, 10);
    expect_given(0, TEACH_EFFECT_TEACHING, 0);
    cr_assert_eq(given.count, 1);
    cr_assert_eq(teach_deadline_ns(&teach), free_ns);
    now_ns = free_ns;
    tell((struct teach_event){.type = TEACH_EVENT_TICK});
    expect_given(0, TEACH_EFFECT_READ, 0);
}

Test(teach, what_could_not_be_read_is_tried_again_or_begun_anew)
{
    ask_for(1, 0);
    tell((struct teach_event){.type = TEACH_EVENT_UNREAD});
    cr_assert_eq(given.count, 0);
    now_ns = teach_deadline_ns(&teach);
    tell((struct teach_event){.type = TEACH_EVENT_TICK});
    expect_given(0, TEACH_EFFECT_BEGIN, 0);
    read_one(10, false);
    ask_for(2, 10);
    tell((struct teach_event){.type = TEACH_EVENT_UNREAD, .again = true});
    tell((struct teach_event){.type = TEACH_EVENT_TICK});
    expect_given(0, TEACH_EFFECT_OFFER, 0);
    ask_for(2, 10);
    ask_for(1, 0);
    cr_assert_eq(given.count, 0, "of the walk that was broken off");
    ask_for_walk(2, 0);
    now_ns += 10 * MS;
    tell((struct teach_event){.type = TEACH_EVENT_TICK});
    expect_given(0, TEACH_EFFECT_BEGIN, 0);
}

Test(teach, a_walk_of_which_nothing_was_given_begins_again_under_its_number)
{
    ask_for(1, 0);
    tell((struct teach_event){.type = TEACH_EVENT_UNREAD, .again = true});
    now_ns += 10 * MS;
    ask_for(1, 0);
    expect_given(0, TEACH_EFFECT_BEGIN, 0);
}

Test(teach, who_asks_for_what_it_has_had_is_heard_and_given_nothing)
{
    ask_for(1, 0);
    read_one(10, false);
    for (int i = 0; i < 10; i++) {
        now_ns += 900 * MS; /* 1000 of silence would be too much */
        ask_for(0, 0);
        cr_assert_eq(given.count, 0);
        tell((struct teach_event){.type = TEACH_EVENT_TICK});
        cr_assert_eq(given.count, 0);
    }
    ask_for(2, 10);
    read_one(11, false);
    ask_for(1, 0);
    cr_assert_eq(given.count, 0);
    ask_for(3, 10);
    expect_given(0, TEACH_EFFECT_READ, 0);
}

Test(teach, silence_ends_it_also_when_a_read_is_lost)
{
    ask_for(1, 0);
    now_ns += 1000 * MS;
    cr_assert_leq(teach_deadline_ns(&teach), now_ns);
    tell((struct teach_event){.type = TEACH_EVENT_TICK});
    expect_given(0, TEACH_EFFECT_END, 0);
    ask_for(1, 0);
    cr_assert_eq(given.count, 0);
}

/* A learner that works on a slice says so for so long.  How often is what is open let go? */
static int let_go_within(uint64_t slice, int64_t ns)
{
    int64_t given_ns = now_ns;
    int let_go = 0;
    while (now_ns < given_ns + ns) {
        ask_for(slice, 0);
        now_ns += 100 * MS;
        tell((struct teach_event){.type = TEACH_EVENT_TICK});
        bool told = given.count > 0 && given.items[0].type == TEACH_EFFECT_LET_GO;
        let_go += told;
    }
    return let_go;
}

/* What a large row is read from stayed open for minutes: no page that was freed meanwhile could be used again. */
Test(teach, what_is_open_for_the_next_slice_is_let_go_when_that_is_not_asked_for)
{
    ask_for(1, 0);
    read_one(20, false);
    cr_assert_eq(let_go_within(1, 25000 * MS), 1, "once");
    ask_for(2, 20);
    read_one(20, false);
    cr_assert_eq(let_go_within(2, 15000 * MS), 0, "it may be slow");
    cr_assert_eq(let_go_within(2, 6000 * MS), 1);
}

/* --- the learner ------------------------------------------------------------------------------------ */

static void offer(struct learn_lesson lesson, uint64_t committed, uint64_t follows, bool half)
{
    hear((struct learn_event){.type = LEARN_EVENT_OFFERED,
                              .lesson = lesson,
                              .sequence = follows,
                              .committed = committed,
                              .appended = committed + 2,
                              .half = half});
}

static void take(uint64_t number, bool last)
{
    hear((struct learn_event){.type = LEARN_EVENT_SLICE,
                              .lesson = LESSON,
                              .number = teach_number(learn.walk, number),
                              .last = last});
}

Test(learn, who_is_whole_and_followed_by_the_log_wants_no_slices)
{
    offer(LESSON, 10, 9, false);
    expect_asked(LEARN_EFFECT_LEARNED, 0);
    cr_assert_eq(asked.items[0].sequence, 10);
    offer(LESSON, 12, 9, false);
    expect_asked(LEARN_EFFECT_LEARNED, 0);
}

Test(learn, half_taught_is_nothing)
{
    offer(LESSON, 10, 9, true);
    expect_asked(LEARN_EFFECT_ASK, 1);
    cr_assert_eq(asked.items[0].at_least, 12);
    cr_assert_eq(asked.items[0].sequence, 0);
}

Test(learn, the_next_is_asked_for_when_the_log_has_caught_up)
{
    offer(LESSON, 10, UINT64_MAX, false);
    take(2, false);
    cr_assert_eq(asked.count, 0, "not asked for");
    take(1, false);
    expect_asked(LEARN_EFFECT_WRITE, 0);
    take(1, false);
    cr_assert_eq(asked.count, 0, "doubled");
    hear((struct learn_event){.type = LEARN_EVENT_WRITTEN, .sequence = 20});
    cr_assert_eq(asked.count, 0);
    hear((struct learn_event){.type = LEARN_EVENT_LEVEL});
    expect_asked(LEARN_EFFECT_ASK, 2);
    cr_assert_eq(asked.items[0].sequence, 20);
    now_ns += 50 * MS;
    cr_assert_eq(learn_deadline_ns(&learn), now_ns);
    hear((struct learn_event){.type = LEARN_EVENT_TICK});
    expect_asked(LEARN_EFFECT_ASK, 2);
    take(2, true);
    hear((struct learn_event){.type = LEARN_EVENT_WRITTEN, .sequence = 25});
    hear((struct learn_event){.type = LEARN_EVENT_LEVEL});
    expect_asked(LEARN_EFFECT_END, 0);
    hear((struct learn_event){.type = LEARN_EVENT_WRITTEN, .sequence = 25});
    expect_asked(LEARN_EFFECT_LEARNED, 0);
    cr_assert_eq(asked.items[0].sequence, 20, "its log goes on behind the records");
}

/* Or it would begin another walk, and what it had said of the former would end that: half of the rows led (simulator,
 * seed 14001716). */
Test(learn, an_offer_that_comes_after_all_was_learnt_is_late)
{
    offer(LESSON, 10, UINT64_MAX, false);
    take(1, true);
    hear((struct learn_event){.type = LEARN_EVENT_WRITTEN, .sequence = 20});
    hear((struct learn_event){.type = LEARN_EVENT_LEVEL});
    hear((struct learn_event){.type = LEARN_EVENT_WRITTEN, .sequence = 20});
    expect_asked(LEARN_EFFECT_LEARNED, 0);
    offer(LESSON, 20, UINT64_MAX, false);
    expect_asked(LEARN_EFFECT_LEARNED, 0);
    cr_assert_eq(asked.items[0].sequence, 20);
}

/* What it had said of the lesson may be under way, and would be taken for the end of the walk.  (An audit.) */
Test(learn, who_is_damaged_when_all_was_learnt_is_taught_in_another_lesson)
{
    offer(LESSON, 10, 10, false);
    expect_asked(LEARN_EFFECT_LEARNED, 0);
    offer(LESSON, 10, 10, true);
    cr_assert_eq(asked.count, 0);
    struct learn_lesson next = LESSON;
    next.number++;
    offer(next, 10, 10, true);
    expect_asked(LEARN_EFFECT_ASK, 1);
}

/* Or its teacher gives it up while it waits for its turn at the disk. */
Test(learn, who_works_says_so_and_not_for_ever)
{
    uint64_t said = 0;
    offer(LESSON, 10, UINT64_MAX, false);
    take(1, false);
    int64_t given_ns = now_ns;
    while (learn_deadline_ns(&learn) != INT64_MAX) {
        cr_assert_gt(learn_deadline_ns(&learn), now_ns);
        now_ns = learn_deadline_ns(&learn) - 1;
        hear((struct learn_event){.type = LEARN_EVENT_TICK});
        cr_assert_eq(asked.count, 0);
        now_ns++;
        hear((struct learn_event){.type = LEARN_EVENT_TICK});
        expect_asked(LEARN_EFFECT_ASK, 0);
        said++;
    }
    cr_assert(said > 100 && now_ns - given_ns < 700 * 1000 * MS);
    hear((struct learn_event){.type = LEARN_EVENT_WRITTEN, .sequence = 20});
    hear((struct learn_event){.type = LEARN_EVENT_LEVEL});
    expect_asked(LEARN_EFFECT_ASK, 2);
}

Test(learn, what_is_refused_begins_the_walk_anew)
{
    offer(LESSON, 10, UINT64_MAX, false);
    take(1, false);
    hear((struct learn_event){
        .type = LEARN_EVENT_REFUSED, .status = STATUS_FAILED_PRECONDITION, .appended = 30});
    expect_asked(LEARN_EFFECT_ASK, 1);
    cr_assert_eq(asked.items[0].at_least, 30);
}

static void refuse(enum status status)
{
    hear((struct learn_event){.type = LEARN_EVENT_REFUSED, .status = status, .appended = 30});
}

static void wait_to_ask(uint64_t number)
{
    cr_assert_eq(asked.count, 0, "not at once");
    cr_assert_gt(learn_deadline_ns(&learn), now_ns);
    now_ns = learn_deadline_ns(&learn);
    hear((struct learn_event){.type = LEARN_EVENT_TICK});
    expect_asked(LEARN_EFFECT_ASK, number);
}

/* A learner of a large tablet that had no memory for a slice began at the beginning. */
Test(learn, for_want_of_memory_the_same_is_asked_for_in_a_while)
{
    offer(LESSON, 10, UINT64_MAX, false);
    take(1, false);
    hear((struct learn_event){.type = LEARN_EVENT_WRITTEN, .sequence = 20});
    hear((struct learn_event){.type = LEARN_EVENT_LEVEL});
    uint64_t walk = learn.walk;
    take(2, false);
    int64_t begun_ns = now_ns;
    while (learn.walk == walk) {
        refuse(STATUS_NO_MEMORY);
        wait_to_ask(learn.walk == walk ? 2 : 1);
        take(learn.walk == walk ? 2 : 1, false);
        cr_assert_lt(now_ns - begun_ns, 100 * 1000 * MS, "for ever");
    }
    hear((struct learn_event){.type = LEARN_EVENT_WRITTEN, .sequence = 40});
    hear((struct learn_event){.type = LEARN_EVENT_LEVEL});
    walk = learn.walk;
    take(2, false);
    refuse(STATUS_NO_MEMORY);
    wait_to_ask(2);
    take(2, false);
    hear((struct learn_event){.type = LEARN_EVENT_WRITTEN, .sequence = 40});
    hear((struct learn_event){.type = LEARN_EVENT_LEVEL});
    expect_asked(LEARN_EFFECT_ASK, 3);
    cr_assert_eq(learn.walk, walk);
}

/* Whatever makes it so: what comes next may be no better. */
Test(learn, a_slice_that_is_corrupt_begins_the_walk_anew_in_a_while)
{
    offer(LESSON, 10, UINT64_MAX, false);
    take(1, false);
    uint64_t walk = learn.walk;
    refuse(STATUS_CORRUPT);
    cr_assert_eq(learn.walk, walk + 1);
    wait_to_ask(1);
}

Test(learn, an_offer_again_asks_again_for_the_same)
{
    offer(LESSON, 10, UINT64_MAX, false);
    uint64_t number = asked.items[0].number;
    offer(LESSON, 10, UINT64_MAX, false);
    expect_asked(LEARN_EFFECT_ASK, 1);
    cr_assert_eq(asked.items[0].number, number);
    offer(LESSON, 11, UINT64_MAX, false); /* its log has got longer */
    cr_assert_gt(asked.items[0].number, number, "that takes another walk");
    number = asked.items[0].number;
    take(1, false);
    hear((struct learn_event){
        .type = LEARN_EVENT_REFUSED, .status = STATUS_FAILED_PRECONDITION, .appended = 30});
    cr_assert_gt(asked.items[0].number, number);
    uint64_t walk = teach_walk_of(number);
    hear((struct learn_event){
        .type = LEARN_EVENT_SLICE, .lesson = LESSON, .number = teach_number(walk, 1)});
    cr_assert_eq(asked.count, 0, "a slice of the walk before");
}

Test(learn, another_lesson_begins_at_the_beginning_and_an_older_one_is_late)
{
    offer(LESSON, 10, UINT64_MAX, false);
    take(1, false);
    hear((struct learn_event){.type = LEARN_EVENT_WRITTEN, .sequence = 20});
    hear((struct learn_event){.type = LEARN_EVENT_LEVEL});
    struct learn_lesson next = LESSON;
    next.version++;
    next.number = 1;
    offer(next, 20, UINT64_MAX, true);
    expect_asked(LEARN_EFFECT_ASK, 1);
    offer(LESSON, 20, UINT64_MAX, true);
    cr_assert_eq(asked.count, 0);
    take(2, false);
    cr_assert_eq(asked.count, 0, "of the other lesson");
}

Test(learn, an_offer_while_something_is_written_waits)
{
    offer(LESSON, 10, UINT64_MAX, false);
    take(1, false);
    struct learn_lesson next = LESSON;
    next.number++;
    offer(next, 10, 0, false);
    cr_assert_eq(asked.count, 0);
    hear((struct learn_event){.type = LEARN_EVENT_WRITTEN, .sequence = 20});
    offer(next, 20, 0, true);
    expect_asked(LEARN_EFFECT_ASK, 1);
}

/* It is all that the teacher waits for; lost, everything was taught again (an audit). */
Test(learn, that_all_is_learnt_is_said_again_for_a_while)
{
    struct learn learn;
    struct learn_effects effects;
    int64_t now_ns = 1000 * MS;
    learn_begin(&learn, 500 * MS);
    struct learn_event offered = {.type = LEARN_EVENT_OFFERED,
                                  .now_ns = now_ns,
                                  .lesson = {.incarnation = 1, .version = 1, .number = 1},
                                  .sequence = 10,
                                  .committed = 10};
    learn_step(&learn, &offered, &effects);
    cr_assert_eq(effects.items[0].type, LEARN_EFFECT_LEARNED);
    int said = 0;
    while (learn_deadline_ns(&learn) != INT64_MAX) {
        now_ns = learn_deadline_ns(&learn);
        learn_step(&learn, &(struct learn_event){.type = LEARN_EVENT_TICK, .now_ns = now_ns},
                   &effects);
        cr_assert_eq(effects.count, 1);
        cr_assert_eq(effects.items[0].type, LEARN_EFFECT_LEARNED);
        cr_assert_eq(effects.items[0].sequence, 10);
        said++;
    }
    cr_assert(said > 5 && said < 20, "%d", said);
}
