/* edubba_list_hot_keys() and edubba_advise(): a master's answers as rates and texts, in one piece of memory. */
#include "client/include/edubba_hotspots.h"
#include "tests/support/client_session.h"

static const struct load_point points[] = {{{(const uint8_t *)"a", 1}, 30, 100, 0},
                                           {{(const uint8_t *)"b\0c", 3}, 10, 300, 5}};
static const struct load_key keys[] = {{{(const uint8_t *)"k", 1}, 4, 8}};

/* Of ten seconds: the detail's figures are of the last one. */
static struct hot_keys hot(void)
{
    return (struct hot_keys){
        .table_name = bytes_of_text("METRIC"),
        .tablet = 7,
        .server = 9,
        .range = {bytes_of_text("a"), bytes_of_text("m")},
        .age_us = 1500000,
        .elapsed_ns = 10 * UINT64_C(1000000000),
        .capacity_ns = 1000,
        .figures = {.reads = 100,
                    .read_rows = 800,
                    .read_cpu_ns = 100,
                    .writes = 8000,
                    .write_bytes = 50,
                    .write_cpu_ns = 300,
                    .read_wait_ns = 100 * 2000,
                    .write_latency_ns = UINT64_C(8000) * 5000},
        .detail = {points, 2, keys, 1, 55, 940},
    };
}

Test(client, hot_keys_are_rates)
{
    struct session session = open_session();
    const struct hot_keys tablets[] = {hot(), hot()};
    const struct list_hot_keys_response response = {tablets, 2, true};
    struct edubba_hot_keys *list = NULL;
    struct edubba_error error;
    size_t count = 0;
    bool more = false;
    SET(session, hot_keys, &response);
    cr_assert_eq(edubba_list_hot_keys(session.client, "METRIC", 5, &list, &count, &more, &error),
                 EDUBBA_OK, "%s", error.text);
    cr_assert(count == 2 && more);
    const struct edubba_hot_keys *second = &list[1];
    cr_assert_str_eq(second->table, "METRIC");
    cr_assert(second->tablet == 7 && second->server == 9 && second->age_us == 1500000);
    cr_assert(second->start.size == 1 && memcmp(second->end.data, "m", 1) == 0);
    cr_assert_float_eq(second->cpu_percent, 40, 1e-9);
    cr_assert_float_eq(second->write_cpu_percent, 30, 1e-9);
    cr_assert_float_eq(second->reads, 10, 1e-9);
    cr_assert_float_eq(second->read_rows, 80, 1e-9);
    cr_assert_float_eq(second->writes, 800, 1e-9);
    cr_assert_float_eq(second->read_wait_us, 2, 1e-9);
    cr_assert_float_eq(second->write_latency_us, 5, 1e-9);
    cr_assert_float_eq(second->appended_percent, 94, 1e-9);
    cr_assert_eq(second->observations, 55);
    cr_assert(second->point_count == 2 && second->key_count == 1);
    const struct edubba_hot_point *point = &second->points[1];
    cr_assert(point->row.size == 3 && memcmp(point->row.data, "b\0c", 3) == 0);
    cr_assert_float_eq(point->reads, 20, 1e-9, "a quarter of 80");
    cr_assert_float_eq(point->writes, 600, 1e-9);
    cr_assert_float_eq(point->crossing, 10, 1e-9);
    cr_assert_float_eq(second->keys[0].reads, 8, 1e-9);
    cr_assert_float_eq(second->keys[0].writes, 16, 1e-9);
    edubba_free(list);
    close_session(&session);
}

static const struct advice_finding findings[] = {
    {.kind = ADVICE_POPULAR_KEY,
     .share_permille = 305,
     .tablet = 7,
     .range = {{(const uint8_t *)"a", 1}, {(const uint8_t *)"m", 1}},
     .key = {(const uint8_t *)"b\0c", 3},
     .text = {(const uint8_t *)"30 % hit one row.", 17},
     .pattern = {(const uint8_t *)"salting", 7},
     .cure = {(const uint8_t *)"Salt it.", 8}},
    {.kind = 4000000000, .text = {(const uint8_t *)"of a newer master", 17}},
};
static const struct advise_response advice = {findings, 2, 500, 8000, 4, 3, 24000000};

Test(client, advice_is_told_with_what_it_stands_on)
{
    struct session session = open_session();
    struct edubba_advice_basis basis = {0};
    struct edubba_advice *list = NULL;
    struct edubba_error error;
    size_t count = 0;
    SET(session, advice, &advice);
    cr_assert_eq(edubba_advise(session.client, "METRIC", &list, &count, &basis, &error), EDUBBA_OK,
                 "%s", error.text);
    cr_assert_eq(count, 2);
    cr_assert(list[0].kind == EDUBBA_ADVICE_POPULAR_KEY && list[0].tablet == 7);
    cr_assert_float_eq(list[0].share_percent, 30.5, 1e-9);
    cr_assert(list[0].key.size == 3 && memcmp(list[0].key.data, "b\0c", 3) == 0);
    cr_assert(list[0].start.size == 1 && list[0].end.size == 1);
    cr_assert_str_eq(list[0].text, "30 % hit one row.");
    cr_assert_str_eq(list[0].pattern, "salting");
    cr_assert_str_eq(list[0].cure, "Salt it.");
    cr_assert_eq(list[1].kind, 0, "not known here");
    cr_assert_str_eq(list[1].cure, "");
    cr_assert(basis.observations == 500 && basis.operations_per_second == 8000);
    cr_assert(basis.tablet_count == 4 && basis.busy_count == 3);
    cr_assert_eq(basis.age_us, 24000000);
    edubba_free(list);
    cr_assert_eq(edubba_advise(session.client, "METRIC", &list, &count, NULL, &error), EDUBBA_OK);
    edubba_free(list);
    close_session(&session);
}

Test(client, hot_keys_and_advice_without_memory)
{
    struct session session = open_session();
    const struct hot_keys tablets[] = {hot()};
    const struct list_hot_keys_response response = {tablets, 1, false};
    size_t failed = 0;
    SET(session, hot_keys, &response);
    SET(session, advice, &advice);
    for (uint64_t after = 0; after < 60; after++) {
        struct edubba_hot_keys *list = NULL;
        struct edubba_advice *said = NULL;
        struct edubba_error error;
        size_t count = 0;
        bool more = false;
        memory_fail_arm(after, 0);
        enum edubba_code code = edubba_list_hot_keys(session.client, "METRIC", 5, &list, &count,
                                                     &more, &error);
        memory_fail_disarm();
        failed += code != EDUBBA_OK;
        cr_assert_eq(list != NULL, code == EDUBBA_OK);
        edubba_free(list);
        memory_fail_arm(after, 0);
        code = edubba_advise(session.client, "METRIC", &said, &count, NULL, &error);
        memory_fail_disarm();
        failed += code != EDUBBA_OK;
        cr_assert_eq(said != NULL, code == EDUBBA_OK);
        edubba_free(said);
    }
    cr_assert_gt(failed, 0);
    close_session(&session);
}
