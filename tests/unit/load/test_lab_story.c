/* What the lab's events are made of: clocks, dice, and events that follow from their numbers. */
#include "tests/support/lab_keys.h"

Test(lab_story, times_are_dates)
{
    char text[LAB_TIME_BYTES];
    cr_assert_str_eq(lab_time_text(LAB_BEGIN_MS, text), "20150301124501001");
    cr_assert_str_eq(lab_time_text(0, text), "19700101000000000");
    cr_assert_str_eq(lab_day_text(INT64_C(951782400000), text), "20000229");
    cr_assert_str_eq(lab_day_text(INT64_C(951868800000), text), "20000301");
    cr_assert_str_eq(lab_day_text(INT64_C(946684799999), text), "19991231");
    cr_assert_str_eq(lab_day_text(INT64_C(4107542400000), text), "21000301");
    cr_assert_str_eq(lab_month_text(LAB_BEGIN_MS, text), "201503");
    cr_assert_eq(lab_day_of_month(INT64_C(951782400000)), 29);
}

Test(lab_story, days_follow_each_other)
{
    char before[LAB_TIME_BYTES];
    char after[LAB_TIME_BYTES];
    for (int64_t day = 0; day < 366 * 400; day++) {
        lab_day_text(day * LAB_DAY_MS, before);
        lab_day_text((day + 1) * LAB_DAY_MS, after);
        cr_assert(strcmp(before, after) < 0, "%s, then %s", before, after);
        unsigned next = lab_day_of_month((day + 1) * LAB_DAY_MS);
        cr_assert(next == 1 || next == lab_day_of_month(day * LAB_DAY_MS) + 1);
    }
}

Test(lab_story, the_busy_get_their_share)
{
    uint64_t busy = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t who = lab_popular(lab_dice(&WORLD, i, 0), 3000, 300, 0.9);
        cr_assert(who < 3000);
        busy += who < 300 ? 1 : 0;
    }
    cr_assert(busy > 17800 && busy < 18200, "%lu", (unsigned long)busy);
}

Test(lab_experiments, are_found_by_name_and_have_what_they_need)
{
    cr_assert_eq(LAB_EXPERIMENT_COUNT, 10);
    for (size_t i = 0; i < LAB_EXPERIMENT_COUNT; i++) {
        const struct lab_experiment *experiment = LAB_EXPERIMENTS[i];
        cr_assert(lab_experiment_find(experiment->name) == experiment);
        cr_assert(experiment->variant_count >= 2 && experiment->variant_count <= LAB_VARIANTS_MAX);
        for (size_t j = 0; j < experiment->variant_count; j++) {
            const struct lab_variant *variant = &experiment->variants[j];
            /* LAB_<experiment>_<variant> is to be a table's name. */
            cr_assert(strlen(experiment->name) + strlen(variant->name) + 5 <= 50);
            cr_assert(variant->families[0].name != NULL && variant->key[0] != '\0');
            cr_assert(variant->role != LAB_BAD || variant->remedy[0] != '\0');
            cr_assert((experiment->sum_of_event == NULL) == (variant->sum_of_cell == NULL));
        }
    }
    cr_assert(lab_experiment_find("nothing") == NULL);
}

Test(lab_experiments, every_event_fits)
{
    for (size_t i = 0; i < LAB_EXPERIMENT_COUNT; i++) {
        const struct lab_experiment *experiment = LAB_EXPERIMENTS[i];
        for (size_t j = 0; j < experiment->variant_count; j++) {
            for (uint64_t k = 0; k < 5000000; k += 4999) {
                struct lab_event event;
                struct lab_change change;
                experiment->event(&WORLD, k, &event);
                lab_change_init(&change);
                experiment->variants[j].change(&event, &change);
                cr_assert(change.fits && change.row_count > 0, "%s, %s", experiment->name,
                          experiment->variants[j].name);
                cr_assert(change.increments || change.cell_count >= change.row_count);
                cr_assert(lab_change_bytes(&change) > 10);
            }
        }
    }
}

/* The worlds of all variants are one: an event is the same however it is asked for. */
Test(lab_experiments, events_follow_from_their_numbers)
{
    for (size_t i = 0; i < LAB_EXPERIMENT_COUNT; i++) {
        struct lab_event first;
        struct lab_event again;
        LAB_EXPERIMENTS[i]->event(&WORLD, 777, &first);
        LAB_EXPERIMENTS[i]->event(&WORLD, 777, &again);
        cr_assert_eq(memcmp(&first, &again, sizeof first), 0);
    }
}
