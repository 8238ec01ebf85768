/*
 * The coordinator on a real etcd, started here: what coordinator.h promises, and what only etcd has to
 * keep: fencing, lost answers, commits larger than a transaction.  Where etcd is not installed these
 * tests are skipped.
 */
#include <criterion/criterion.h>

#include <pthread.h>

#include "common/base/memory.h"
#include "common/base/prng.h"
#include "master/coordinator/coordinator.h"
#include "tests/support/lossy_relay.h"
#include "tests/support/real_etcd.h"
#include "tests/support/skip.h"

#define CLUSTER 1

static struct etcd_reign reign;

static void start(void)
{
    if (!etcd_is_installed()) {
        test_skip("etcd is not installed (deploy/packages test)");
    }
    etcd_start();
    etcd_reign_begin(&reign, CLUSTER);
}

static void stop(void)
{
    if (etcd_pid > 0) {
        etcd_client_close(reign.client);
        etcd_stop();
    }
}

TestSuite(coordinator_etcd, .init = start, .fini = stop, .timeout = 600);

/* --- what a coordinator holds, as one number and a count ---------------------------------------- */

struct content {
    uint64_t hash;
    size_t records;
    size_t of_kind[128];
};

static enum status add_record(void *context,
                              struct bytes key,
                              struct bytes value,
                              struct error *ret_error)
{
    struct content *content = context;
    (void)ret_error;
    for (size_t i = 0; i < key.size_bytes; i++) {
        content->hash = (content->hash ^ key.data[i]) * 1099511628211U;
    }
    for (size_t i = 0; i < value.size_bytes; i++) {
        content->hash = (content->hash ^ value.data[i]) * 1099511628211U;
    }
    content->records++;
    content->of_kind[key.data[0] & 127]++;
    return STATUS_OK;
}

static struct content content_of(struct coordinator *coordinator)
{
    struct content content;
    struct error error = {0};
    enum status status = STATUS_UNAVAILABLE;
    /* As a master does, which elects itself again: a busy etcd's answer may not come in time. */
    for (int attempt = 0; attempt < 40 && status == STATUS_UNAVAILABLE; attempt++) {
        content = (struct content){0};
        status = coordinator_load(coordinator, add_record, &content, &error);
    }
    cr_assert_eq(status, STATUS_OK, "%s", error.text);
    return content;
}

static enum status try_open(uint64_t cluster,
                            uint64_t number,
                            struct coordinator **ret_coordinator,
                            struct error *ret_error)
{
    const struct coordinator_etcd_options options = {&etcd_settings, cluster, 42, number, 0};
    return coordinator_open_etcd(&options, ret_coordinator, ret_error);
}

static struct coordinator *open_etcd(void)
{
    struct coordinator *coordinator = NULL;
    struct error error = {0};
    cr_assert_eq(try_open(CLUSTER, reign.number, &coordinator, &error), STATUS_OK, "%s",
                 error.text);
    return coordinator;
}

/* Under another reign, as after the death of a master. */
static struct coordinator *reopen_in_next_reign(struct coordinator *coordinator)
{
    coordinator_close(coordinator);
    etcd_reign_end(&reign);
    etcd_reign_begin(&reign, CLUSTER);
    return open_etcd();
}

/* --- commits ------------------------------------------------------------------------------------ */

struct commit {
    struct catalog_put *puts;
    struct record_key *keys;
    size_t count;
    char *filling;
};

/* Puts of numbers from first on, each with a value of so many bytes, that begins with mark. */
static struct commit commit_make(uint64_t first, size_t count, size_t value_bytes, char mark)
{
    struct commit commit = {
        .puts = memory_allocate_zeroed(count, sizeof *commit.puts),
        .keys = memory_allocate_zeroed(count, sizeof *commit.keys),
        .count = count,
        .filling = memory_allocate(value_bytes + 1),
    };
    memset(commit.filling, mark, value_bytes + 1);
    for (size_t i = 0; i < count; i++) {
        commit.keys[i] = record_key_of('P', first + i);
        commit.puts[i] = (struct catalog_put){record_key_bytes(&commit.keys[i]),
                                              bytes_of(commit.filling, value_bytes), false};
    }
    return commit;
}

static void commit_free(struct commit *commit)
{
    memory_free(commit->puts);
    memory_free(commit->keys);
    memory_free(commit->filling);
}

static void must_commit(struct coordinator *coordinator, const struct commit *commit)
{
    struct error error = {0};
    cr_assert_eq(coordinator_commit(coordinator, commit->puts, commit->count, &error), STATUS_OK,
                 "%s", error.text);
}

/* --- as any coordinator ------------------------------------------------------------------------- */

Test(coordinator_etcd, it_agrees_with_the_one_in_memory_and_keeps)
{
    const struct coordinator_identity identity = {CLUSTER, 42};
    struct coordinator *memory = NULL;
    struct coordinator *etcd = open_etcd();
    struct prng prng = prng_of_seed(11);

    cr_assert_eq(coordinator_create_memory(&identity, &memory, NULL), STATUS_OK);
    for (int i = 0; i < 120; i++) {
        /* Now and then more than a transaction of etcd holds; keys come twice in one commit. */
        size_t count = i % 10 == 9 ? 200 + prng_below(&prng, 400) : 1 + prng_below(&prng, 5);
        struct commit commit = commit_make(1, count, 1 + prng_below(&prng, 30),
                                           (char)('a' + i % 26));
        for (size_t j = 0; j < count; j++) {
            commit.keys[j] = record_key_of('P', 1 + prng_below(&prng, count + 20));
            commit.puts[j].removed = prng_chance(&prng, 3);
        }
        must_commit(etcd, &commit);
        must_commit(memory, &commit);
        cr_assert_eq(content_of(etcd).hash, content_of(memory).hash, "commit %d", i);
        commit_free(&commit);
        if (i % 20 == 7) {
            etcd = reopen_in_next_reign(etcd);
            cr_assert_eq(content_of(etcd).hash, content_of(memory).hash);
        }
    }
    coordinator_close(etcd);
    coordinator_close(memory);
}

Test(coordinator_etcd, clusters_of_one_etcd_do_not_meet)
{
    struct coordinator *one = open_etcd();
    struct commit commit = commit_make(1, 3, 10, 'x');
    struct etcd_reign second;
    struct coordinator *ten = NULL;
    must_commit(one, &commit);
    etcd_reign_begin(&second, 10);
    cr_assert_eq(try_open(10, second.number, &ten, NULL), STATUS_OK);
    cr_assert_eq(content_of(ten).records, 2);
    cr_assert_eq(content_of(one).records, 5);
    commit_free(&commit);
    coordinator_close(one);
    coordinator_close(ten);
    etcd_reign_end(&second);
}

Test(coordinator_etcd, a_newer_format_and_a_newer_layout_are_refused_by_name)
{
    const struct identity_record newer = {CATALOG_FORMAT + 1, CLUSTER, 42};
    struct record_key key = record_key_of(RECORD_KIND_IDENTITY, 0);
    struct buffer value = BUFFER_INIT;
    struct error error = {0};
    struct coordinator *coordinator = open_etcd();
    identity_record_encode(&newer, &value);
    const struct catalog_put put = {record_key_bytes(&key), buffer_bytes(&value), false};
    cr_assert_eq(coordinator_commit(coordinator, &put, 1, NULL), STATUS_OK);
    coordinator_close(coordinator);
    buffer_deinit(&value);
    cr_assert_eq(try_open(CLUSTER, reign.number, &coordinator, &error), STATUS_VERSION);
    cr_assert_not_null(strstr(error.text, "format 2"), "%s", error.text);
}

/* --- large ones --------------------------------------------------------------------------------- */

Test(coordinator_etcd, a_commit_of_many_records_and_of_many_bytes_is_there_whole)
{
    struct coordinator *coordinator = open_etcd();
    struct commit many = commit_make(1, 1024, 200, 'm');
    struct commit bytes = commit_make(5000, 128, 64 * 1024, 'b');
    must_commit(coordinator, &many);
    must_commit(coordinator, &bytes);
    struct content content = content_of(coordinator);
    cr_assert_eq(content.of_kind['P'], 1024 + 128);
    coordinator = reopen_in_next_reign(coordinator);
    cr_assert_eq(content_of(coordinator).hash, content.hash);
    commit_free(&many);
    commit_free(&bytes);
    coordinator_close(coordinator);
}

/* Pages grow over many short records; of the long ones behind them as many do not fit into an answer. */
Test(coordinator_etcd, long_records_behind_many_short_ones_are_read)
{
    struct coordinator *coordinator = open_etcd();
    struct commit many = commit_make(1, 4000, 10, 's');
    must_commit(coordinator, &many);
    commit_free(&many);
    for (uint64_t i = 0; i < 3; i++) {
        struct commit some = commit_make(10000 + i * 100, 100, 300000, 'l');
        must_commit(coordinator, &some);
        commit_free(&some);
    }
    cr_assert_eq(content_of(coordinator).of_kind['P'], 4300);
    coordinator_close(coordinator);
}

Test(coordinator_etcd, a_record_that_etcd_cannot_hold_is_refused_and_nothing_has_changed)
{
    struct coordinator *coordinator = open_etcd();
    struct content before = content_of(coordinator);
    struct commit good = commit_make(1, 1, 1 << 20, 'g');
    struct commit large = commit_make(2, 2, (1 << 20) + 1, 'l');
    struct error error = {0};
    cr_assert_eq(coordinator_commit(coordinator, large.puts, 2, &error), STATUS_LIMIT);
    cr_assert(coordinator_is_clean_failure(error.status));
    cr_assert_eq(content_of(coordinator).hash, before.hash);
    must_commit(coordinator, &good);
    cr_assert_eq(content_of(coordinator).of_kind['P'], 1);
    commit_free(&good);
    commit_free(&large);
    coordinator_close(coordinator);
}

/* --- fencing ------------------------------------------------------------------------------------ */

Test(coordinator_etcd, who_has_lost_the_leadership_changes_nothing)
{
    struct etcd_reign old = reign;
    struct coordinator *deposed = open_etcd();
    struct commit small = commit_make(1, 1, 10, 's');
    struct commit large = commit_make(1, 300, 10, 'l');
    struct content before = content_of(deposed);
    struct error error = {0};

    etcd_reign_end(&old);
    cr_assert_eq(coordinator_commit(deposed, small.puts, 1, &error), STATUS_ABORTED);
    cr_assert_not_null(strstr(error.text, "nobody"), "%s", error.text);
    etcd_reign_begin(&reign, CLUSTER);
    cr_assert_gt(reign.number, old.number);
    cr_assert_eq(coordinator_commit(deposed, large.puts, 300, &error), STATUS_ABORTED);
    cr_assert_not(coordinator_is_clean_failure(error.status));
    cr_assert_not_null(strstr(error.text, "tcp://127.0.0.1:1"), "%s", error.text);

    struct coordinator *active = open_etcd();
    cr_assert_eq(content_of(active).hash, before.hash);
    must_commit(active, &small);
    struct content after = content_of(active);
    cr_assert_eq(coordinator_commit(deposed, large.puts, 300, &error), STATUS_ABORTED);
    cr_assert_eq(content_of(active).hash, after.hash);
    commit_free(&small);
    commit_free(&large);
    coordinator_close(deposed);
    coordinator_close(active);
}

Test(coordinator_etcd, one_who_does_not_lead_does_not_make_a_catalog)
{
    struct coordinator *coordinator = NULL;
    struct error error = {0};
    cr_assert_eq(try_open(CLUSTER, reign.number + 1000, &coordinator, &error), STATUS_ABORTED);
    coordinator = open_etcd();
    cr_assert_eq(content_of(coordinator).records, 2);
    coordinator_close(coordinator);
}

static void put_mark(const char *mark)
{
    char command[300];
    snprintf(command, sizeof command,
             "ETCDCTL_API=3 etcdctl --endpoints %s put /edubba/1/mark '%s' >/dev/null",
             etcd_endpoint, mark);
    cr_assert_eq(system(command), 0, "etcdctl (deploy/packages test)");
}

Test(coordinator_etcd, a_mark_changed_by_another_hand_is_told)
{
    struct coordinator *coordinator = open_etcd();
    struct commit commit = commit_make(1, 1, 10, 'x');
    struct error error = {0};
    put_mark("1 5 5 0 0 0");
    cr_assert_eq(coordinator_commit(coordinator, commit.puts, 1, &error), STATUS_CORRUPT);
    cr_assert_not_null(strstr(error.text, "another hand"), "%s", error.text);
    commit_free(&commit);
    coordinator_close(coordinator);
}

/* --- what was read while another one led ---------------------------------------------------------- */

static enum status find_damage(void *context,
                               struct bytes key,
                               struct bytes value,
                               struct error *ret_error)
{
    (void)context;
    (void)key;
    (void)value;
    return error_set(ret_error, STATUS_CORRUPT, "a tablet is missing");
}

/* As of a master that stood still until another one had taken over: that one may be half way through a commit. */
Test(coordinator_etcd, who_has_lost_the_leadership_says_nothing_of_what_it_reads)
{
    struct coordinator *deposed = open_etcd();
    struct content content = {0};
    struct error error = {0};
    cr_assert_eq(coordinator_load(deposed, find_damage, NULL, &error), STATUS_CORRUPT);
    etcd_reign_end(&reign);
    etcd_reign_begin(&reign, CLUSTER);
    cr_assert_eq(coordinator_load(deposed, find_damage, NULL, &error), STATUS_ABORTED);
    cr_assert_eq(error.status, STATUS_ABORTED);
    cr_assert_not_null(strstr(error.text, "does not lead"), "%s", error.text);
    cr_assert_eq(coordinator_load(deposed, add_record, &content, &error), STATUS_ABORTED);
    coordinator_close(deposed);
}

/* The mark was read; the next one has rolled on what it names, and emptied stage/. */
Test(coordinator_etcd, a_staged_commit_that_another_one_has_ended_is_not_damaged)
{
    struct coordinator *coordinator = NULL;
    struct error error = {0};
    coordinator_close(open_etcd());
    put_mark("1 5 5 10 77 0");
    cr_assert_eq(try_open(CLUSTER, reign.number + 1000, &coordinator, &error), STATUS_ABORTED);
    cr_assert_not_null(strstr(error.text, "does not lead"), "%s", error.text);
    cr_assert_eq(try_open(CLUSTER, reign.number, &coordinator, &error), STATUS_CORRUPT,
                 "whom nobody disturbs is told");
}

/* --- lost answers ------------------------------------------------------------------------------- */

static char relay_endpoint[64];

/* From here on questions go through the relay. */
static void go_through_relay(void)
{
    char server[64];
    char address[64];
    snprintf(server, sizeof server, "tcp%s", strstr(etcd_endpoint, "://"));
    relay_start(server, address, sizeof address);
    snprintf(relay_endpoint, sizeof relay_endpoint, "http%s", strstr(address, "://"));
    etcd_settings.endpoints = relay_endpoint;
}

/* Whichever answer is lost, the commit is there once, and the coordinator goes on. */
Test(coordinator_etcd, an_answer_that_is_lost_is_settled)
{
    const struct coordinator_identity identity = {CLUSTER, 42};
    struct coordinator *memory = NULL;
    go_through_relay();
    struct coordinator *etcd = open_etcd();
    cr_assert_eq(coordinator_create_memory(&identity, &memory, NULL), STATUS_OK);
    int lost_large = 0;
    for (int answer = 1; answer < 14; answer++) {
        struct commit small = commit_make((uint64_t)answer, 3, 10, (char)('a' + answer));
        struct commit large = commit_make((uint64_t)answer * 7, 300, 2500, (char)('a' + answer));
        relay_lose(1);
        must_commit(etcd, &small);
        must_commit(memory, &small);
        relay_lose(answer);
        int before = atomic_load(&relay_lost);
        must_commit(etcd, &large);
        must_commit(memory, &large);
        lost_large += atomic_load(&relay_lost) - before;
        relay_lose(0);
        cr_assert_eq(content_of(etcd).hash, content_of(memory).hash, "answer %d", answer);
        commit_free(&small);
        commit_free(&large);
    }
    cr_assert_geq(lost_large, 5, "only %d", lost_large);
    coordinator_close(etcd);
    coordinator_close(memory);
}

/* Waits until an answer has been lost, and then gives up: as if the master had died there. */
static void *cancel_when_lost(void *context)
{
    int before = atomic_load(&relay_lost);
    while (atomic_load(&relay_lost) == before && atomic_load(&relay_countdown) > 0) {
        clock_sleep_us(200);
    }
    coordinator_cancel(context);
    return NULL;
}

/* A master that dies at any step of a large commit leaves all of it or nothing, and never half of it
 * to see for the next. */
Test(coordinator_etcd, a_large_commit_that_ends_at_any_step_is_all_or_nothing)
{
    int none = 0;
    int all = 0;
    go_through_relay();
    struct coordinator *etcd = open_etcd();
    struct commit base = commit_make(1, 10, 10, 'o');
    must_commit(etcd, &base);
    for (int answer = 1; answer < 10; answer++) {
        struct commit large = commit_make((uint64_t)answer * 1000, 300, 5000, 'l');
        struct content before = content_of(etcd);
        pthread_t thread;
        relay_lose(answer);
        cr_assert_eq(pthread_create(&thread, NULL, cancel_when_lost, etcd), 0);
        enum status status = coordinator_commit(etcd, large.puts, large.count, NULL);
        relay_lose(0);
        pthread_join(thread, NULL);
        etcd = reopen_in_next_reign(etcd);
        size_t records = content_of(etcd).of_kind['P'] - before.of_kind['P'];
        cr_assert(records == 0 || records == large.count, "answer %d: %zu records", answer,
                  records);
        cr_assert(status == STATUS_IO || (status == STATUS_OK && records == large.count));
        none += records == 0;
        all += status == STATUS_IO && records == large.count;
        must_commit(etcd, &base);
        commit_free(&large);
    }
    cr_assert_geq(none, 2, "never before the switch");
    cr_assert_geq(all, 2, "never after the switch");
    commit_free(&base);
    coordinator_close(etcd);
}

/* --- etcd in trouble ---------------------------------------------------------------------------- */

Test(coordinator_etcd, an_etcd_that_is_gone_is_told_when_nobody_waits_any_more)
{
    struct coordinator *coordinator = open_etcd();
    struct commit commit = commit_make(1, 1, 10, 'x');
    struct error error = {0};
    (void)kill(etcd_pid, SIGSTOP);
    coordinator_cancel(coordinator);
    cr_assert_eq(coordinator_commit(coordinator, commit.puts, 1, &error), STATUS_IO);
    (void)kill(etcd_pid, SIGCONT);
    commit_free(&commit);
    coordinator_close(coordinator);
}

Test(coordinator_etcd, a_member_that_is_gone_is_passed_over)
{
    char endpoints[160];
    snprintf(endpoints, sizeof endpoints, "http://127.0.0.1:%u, %s", etcd_free_port(),
             etcd_endpoint);
    etcd_settings.endpoints = endpoints;
    struct coordinator *coordinator = open_etcd();
    struct commit commit = commit_make(1, 1, 10, 'x');
    struct error error = {.status = STATUS_OK};
    cr_assert_eq(coordinator_commit(coordinator, commit.puts, commit.count, &error), STATUS_OK);
    cr_assert_eq(error.status, STATUS_OK); /* nothing is left of the attempt that failed */
    cr_assert_eq(content_of(coordinator).records, 3);
    commit_free(&commit);
    coordinator_close(coordinator);
}
