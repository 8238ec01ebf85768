/* What the server notes in its own folder, on a disk that hangs, or is full, and then goes on. */
#include "tabletserver/serve/sync/folder_keeper.h"

#include "tabletserver/serve/peers.h"
#include "tests/support/server_steps.h"

static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER; /* held: the disk hangs */
static atomic_bool is_full;
static atomic_uint settled;

enum status __real_schema_cache_save(struct schema_cache *cache, struct error *ret_error);
enum status __wrap_schema_cache_save(struct schema_cache *cache, struct error *ret_error);
void __wrap_peers_settle_grace(struct peers *peers, int64_t now_ns);

enum status __wrap_schema_cache_save(struct schema_cache *cache, struct error *ret_error)
{
    pthread_mutex_lock(&disk);
    enum status status = atomic_load(&is_full)
                             ? error_set(ret_error, STATUS_NO_SPACE, "no room for it")
                             : __real_schema_cache_save(cache, ret_error);
    pthread_mutex_unlock(&disk);
    return status;
}

void __wrap_peers_settle_grace(struct peers *peers, int64_t now_ns)
{
    (void)peers;
    (void)now_ns;
    atomic_fetch_add(&settled, 1);
}

static char folder[256];
static char path[300];
static struct schema_cache *cache;
static struct folder_keeper *keeper;
static struct error error;

static void start(void)
{
    test_folder_make(folder, sizeof folder, "folder_keeper");
    (void)snprintf(path, sizeof path, "%s/TABLES", folder);
    cr_assert_eq(schema_cache_open(path, &cache, &error), STATUS_OK);
    cr_assert_eq(folder_keeper_create(folder, cache, NULL, &keeper), STATUS_OK);
}

static void stop(void)
{
    char command[300];
    folder_keeper_destroy(keeper);
    schema_cache_close(cache);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(folder_keeper, .init = start, .fini = stop, .timeout = 600);

static enum status save(uint64_t version)
{
    static struct family families[] = {{.number = 1, .name = {(const uint8_t *)"f", 1}}};
    const struct table table = {.number = 7,
                                .version = version,
                                .id = bytes_of_text("t"),
                                .family_number_next = 2,
                                .families = families,
                                .family_count = 1};
    cr_assert_eq(schema_cache_put(cache, &table, NULL), STATUS_OK);
    return folder_keeper_save(keeper, &error);
}

/* Of the file; 0 = it says nothing of the table. */
static uint64_t saved(void)
{
    struct schema_cache *again = NULL;
    cr_assert_eq(schema_cache_open(path, &again, &error), STATUS_OK, "%s", error.text);
    struct schema *schema = schema_cache_find(again, 7);
    uint64_t version = schema != NULL ? schema_table(schema)->version : 0;
    schema_release(schema);
    schema_cache_close(again);
    return version;
}

Test(folder_keeper, what_is_saved_is_on_the_disk)
{
    for (uint64_t version = 1; version < 20; version++) {
        cr_assert_eq(save(version), STATUS_OK);
        cr_assert_eq(saved(), version);
    }
}

Test(folder_keeper, a_disk_that_hangs_is_waited_for_once)
{
    cr_assert_eq(save(1), STATUS_OK);
    pthread_mutex_lock(&disk);
    cr_assert_eq(save(2), STATUS_UNAVAILABLE);
    cr_assert_not_null(strstr(error.text, folder), "%s", error.text);
    int64_t begun_ns = clock_monotonic_ns();
    for (uint64_t version = 3; version < 1000; version++) {
        cr_assert_eq(save(version), STATUS_UNAVAILABLE);
    }
    cr_assert_lt(clock_monotonic_ns() - begun_ns, 100 * FOLDER_KEEPER_PATIENCE_NS);
    cr_assert_eq(saved(), 1, "as it was");
    pthread_mutex_unlock(&disk);
    WAIT_FOR(saved() == 999);
}

Test(folder_keeper, a_disk_that_goes_on_hanging_is_told_of)
{
    pthread_mutex_lock(&disk);
    cr_assert_eq(save(1), STATUS_UNAVAILABLE);
    cr_assert_not(folder_keeper_is_stuck(keeper));
    clock_sleep_us(FOLDER_KEEPER_STUCK_NS / 1000);
    cr_assert(folder_keeper_is_stuck(keeper));
    pthread_mutex_unlock(&disk);
    WAIT_FOR(!folder_keeper_is_stuck(keeper));
}

Test(folder_keeper, what_had_no_room_is_tried_again)
{
    cr_assert_eq(save(1), STATUS_OK);
    atomic_store(&is_full, true);
    cr_assert_eq(save(2), STATUS_NO_SPACE);
    cr_assert_str_eq(error.text, "no room for it");
    cr_assert_eq(saved(), 1);
    atomic_store(&is_full, false);
    WAIT_FOR(saved() == 2);
}

Test(folder_keeper, what_was_late_is_saved_at_the_end)
{
    pthread_mutex_lock(&disk);
    cr_assert_eq(save(1), STATUS_UNAVAILABLE);
    cr_assert_eq(save(2), STATUS_UNAVAILABLE);
    pthread_mutex_unlock(&disk);
    folder_keeper_destroy(keeper);
    keeper = NULL;
    cr_assert_eq(saved(), 2);
}

Test(folder_keeper, grace_is_settled_now_and_then)
{
    static char peers; /* nobody looks into them here */
    folder_keeper_destroy(keeper);
    cr_assert_eq(settled, 0);
    cr_assert_eq(folder_keeper_create(folder, cache, (struct peers *)(void *)&peers, &keeper),
                 STATUS_OK);
    WAIT_FOR(settled > 1);
}

/* --- a server ------------------------------------------------------------------------------------- */

Test(folder_of_server, a_server_whose_folder_hangs_is_in_touch_with_its_master, .timeout = 600)
{
    start_with_one_tablet();
    pthread_mutex_lock(&disk);
    pthread_mutex_lock(&fixture.script.lock);
    fixture.script.table.version = 2;
    fixture.script.table.family_count = 3;
    fixture.script.version += 1;
    pthread_mutex_unlock(&fixture.script.lock);
    unsigned syncs = atomic_load(&fixture.script.syncs);
    WAIT_FOR(atomic_load(&fixture.script.syncs) > syncs + 100);
    script_assign(&fixture.script, 11, "m", "", true); /* what it is told else is done */
    struct location location;
    struct arena arena;
    arena_init(&arena, 1024, SIZE_MAX);
    WAIT_FOR(location_map_find(fixture.server->locations, FIXTURE_TABLE, bytes_of_text("x"), &arena,
                               &location) &&
             location.tablet == 11);
    arena_deinit(&arena);
    pthread_mutex_unlock(&disk);
    fixture_deinit(&fixture);
}
