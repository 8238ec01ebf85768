/*
 * A tablet that is to go while a row of its is locked: it goes when the row is free, if that is still right then.  And
 * one whose table is deleted meanwhile.
 */
#include "tabletserver/serve/write/write_parts.h"

#include "tabletserver/serve/server.h"
#include "tabletserver/serve/write/evaluate.h"
#include "tabletserver/storage/store/store_internal.h"
#include "tests/support/host_trio.h"

static struct server server;
static struct write_order order;
static struct batch batch = {
    .server = &server, .lock = PTHREAD_MUTEX_INITIALIZER, .deadline_ns = INT64_MAX};

static void open_order(struct store *store, const char *folder)
{
    char path[512];
    struct error error = {0};
    (void)snprintf(path, sizeof path, "%s/schemas", folder);
    cr_assert_eq(schema_cache_open(path, &server.schemas, &error), STATUS_OK, "%s", error.text);
    cr_assert_eq(served_map_create(&server.served), STATUS_OK);
    cr_assert_eq(location_map_create(&server.locations), STATUS_OK);
    cr_assert_eq(write_order_init(&order, &server, NULL, store), STATUS_OK);
}

static void close_order(void)
{
    write_order_deinit(&order);
    location_map_destroy(server.locations);
    served_map_destroy(server.served);
    schema_cache_close(server.schemas);
}

/* As while a worker reads the row: what is asked for then waits. */
static struct tablet_order *drop_with_a_row_locked(struct store_tablet *stored,
                                                   uint64_t configuration)
{
    cr_assert_eq(write_order_add(&order, stored), STATUS_OK);
    struct tablet_order *tablet = store_tablet_context(stored);
    tablet->locks = 1;
    write_order_drop(&order, stored, configuration);
    cr_assert_eq(store_tablet_context(stored), tablet, "it went with a row locked");
    cr_assert(tablet->blocked);
    return tablet;
}

static void free_row(struct tablet_order *tablet)
{
    tablet->locks = 0;
    barrier_try(&order, tablet);
}

/* --- one store ------------------------------------------------------------------------------------ */

static struct fixture fixture;
static struct store_tablet *stored;

static void setup(void)
{
    fixture_init(&fixture);
    fixture_open(&fixture);
    open_order(fixture.store, fixture.folder);
    stored = fixture_create(&fixture, 5, "", "");
}

static void teardown(void)
{
    close_order();
    fixture_deinit(&fixture);
}

TestSuite(write_drop, .init = setup, .fini = teardown);

Test(write_drop, it_goes_when_no_row_is_locked)
{
    free_row(drop_with_a_row_locked(stored, 0));
    cr_assert_null(store_tablet_find(fixture.store, 5));
    cr_assert_eq(served_map_count(server.served), 0);
}

/* It aborted: its data is the merged one's by then. */
Test(write_drop, one_that_is_merged_meanwhile_stays_until_it_is_asked_again)
{
    struct tablet_order *tablet = drop_with_a_row_locked(stored, 0);
    stored->merging = true;
    free_row(tablet);
    cr_assert_eq(store_tablet_find(fixture.store, 5), stored);
    cr_assert_not(tablet->blocked, "what is written to it waits for nothing");
    write_order_drop(&order, stored, 0);
    cr_assert_eq(store_tablet_find(fixture.store, 5), stored);
    stored->merging = false;
    write_order_drop(&order, stored, 0);
    cr_assert_null(store_tablet_find(fixture.store, 5));
}

/* A copy goes when its tablet has moved, too: "not found" would be believed. */
Test(write_drop, who_waits_for_it_is_not_told_that_there_is_no_such_table)
{
    static struct operation operation = {.kind = OPERATION_MUTATE, .table = 5};
    struct part part = {.batch = &batch};
    struct work appended = {.part = &part, .operation = &operation};
    struct work behind = {.part = &part, .operation = &operation};
    operation.row = bytes_of_text("row");
    arena_init(&batch.arena, 1024, SIZE_MAX);
    struct tablet_order *tablet = drop_with_a_row_locked(stored, 0);
    write_pend(tablet, &appended, 1);
    work_list_append(&tablet->deferred_first, &tablet->deferred_last, &behind);
    order.waiting = 2;
    free_row(tablet);
    cr_assert_eq(order.waiting, 0);
    cr_assert_eq(part.completed_count, 2);
    cr_assert_eq(appended.answer.status, STATUS_UNAVAILABLE, "other logs may have it");
    cr_assert_eq(behind.answer.status, STATUS_NOT_OWNER);
    order.answered = NULL; /* there is nobody to send it to */
    arena_deinit(&batch.arena);
}

/* --- its table is deleted while a row is read ----------------------------------------------------- */

static void know_table(void)
{
    static struct family families[] = {{.number = 1, .name = {(const uint8_t *)"f", 1}}};
    const struct table table = {.number = store_tablet_describe(stored)->table,
                                .version = 1,
                                .id = bytes_of_text("t"),
                                .family_number_next = 2,
                                .families = families,
                                .family_count = 1};
    cr_assert_eq(schema_cache_put(server.schemas, &table, NULL), STATUS_OK);
}

/* A worker evaluates the first, and the others wait for its row; then it is back.  All of it in one round. */
static void delete_table_while_first_is_evaluated(struct work *works,
                                                  size_t count,
                                                  struct evaluation *evaluation)
{
    struct bytes row = works[0].operation->row;
    cr_assert_eq(write_order_add(&order, stored), STATUS_OK);
    struct tablet_order *tablet = store_tablet_context(stored);
    cr_assert_not_null(tablet->schema);
    write_order_begin(&order);
    *evaluation = (struct evaluation){.work = &works[0], .tablet = stored, .matched = true};
    works[0].evaluation = evaluation;
    cr_assert_eq(row_lock_acquire(order.locks, 5, row), STATUS_OK);
    tablet->locks = 1;
    for (size_t i = 1; i < count; i++) {
        row_lock_wait(order.locks, 5, row, &works[i].waiter);
    }
    order.waiting = count;
    schema_cache_remove(server.schemas, store_tablet_describe(stored)->table);
    write_order_refresh(&order);
    write_order_evaluated(&order, &works[0]);
    cr_assert_eq(tablet->locks, 0);
}

Test(write_drop, who_waits_for_a_row_of_a_table_that_is_deleted_is_sent_elsewhere)
{
    static struct mutation mutation = {.kind = MUTATION_SET_CELL,
                                       .family = {(const uint8_t *)"f", 1}};
    static struct operation operations[] = {
        {.kind = OPERATION_CHECK_AND_MUTATE, .mutations = &mutation, .mutation_count = 1},
        {.kind = OPERATION_MUTATE, .mutations = &mutation, .mutation_count = 1},
        {.kind = OPERATION_READ_MODIFY_WRITE},
    };
    struct part part = {.batch = &batch};
    struct work works[3];
    struct evaluation evaluation;
    know_table();
    arena_init(&batch.arena, 1024, SIZE_MAX);
    for (size_t i = 0; i < 3; i++) {
        operations[i].table = store_tablet_describe(stored)->table;
        operations[i].row = bytes_of_text("row");
        works[i] = (struct work){.part = &part, .operation = &operations[i]};
    }
    delete_table_while_first_is_evaluated(works, 3, &evaluation);
    cr_assert_eq(order.waiting, 0);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(works[i].answer.status, STATUS_NOT_OWNER, "%zu: %u", i,
                     works[i].answer.status);
    }
    order.answered = NULL; /* there is nobody to send it to */
    arena_deinit(&batch.arena);
}

/* --- one of three --------------------------------------------------------------------------------- */

TestSuite(write_drop_replicated, .fini = finish);

Test(write_drop_replicated, one_that_counts_again_meanwhile_stays)
{
    begin_with(3);
    wish_for_all();
    start_all(3);
    write_rows(3);
    struct node *primary = NULL;
    PUMP_UNTIL(&cluster, (primary = cluster_primary(&cluster)) != NULL);
    open_order(primary->fixture.store, primary->fixture.folder);
    uint64_t version = host_look(primary->tablet).configuration.version + 1;
    struct tablet_order *tablet = drop_with_a_row_locked(primary->tablet, version);
    node_kill(&cluster.nodes[peer_of(primary)->self.server - 1]);
    PUMP_UNTIL(&cluster, !host_may_remove(primary->tablet, version));
    free_row(tablet);
    cr_assert_eq(store_tablet_find(primary->fixture.store, TABLET), primary->tablet);
    cr_assert_not(tablet->blocked);
    close_order();
}
