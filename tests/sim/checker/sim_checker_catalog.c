#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/memory.h"
#include "tests/sim/checker/sim_checker_state.h"
#include "tests/sim/server/sim_server.h"
#include "tests/sim/world/sim_quorum.h"

/*
 * Judging the catalog, from the coordinator's records alone, after each commit.
 */

#define TABLETS_MAX 1024
#define TABLES_MAX  256

struct image {
    struct sim_checker *checker;
    struct counters_record counters;
    struct tablet_record tablets[TABLETS_MAX]; /* by table and start */
    uint32_t tablet_count;
    struct table_record tables[TABLES_MAX];
    uint32_t table_count;
    uint64_t drained; /* a server; 0 = none is */
};

static bool is_before(const struct tablet_record *a, const struct tablet_record *b)
{
    return a->table != b->table ? a->table < b->table
                                : bytes_compare(a->range.start, b->range.start) < 0;
}

static void insert_tablet(struct image *image, const struct tablet_record *record)
{
    ASSERT(image->tablet_count < TABLETS_MAX);
    uint32_t at = image->tablet_count++;
    while (at > 0 && is_before(record, &image->tablets[at - 1])) {
        image->tablets[at] = image->tablets[at - 1];
        at--;
    }
    image->tablets[at] = *record;
}

static enum status take_server(struct image *image,
                               uint64_t number,
                               struct bytes value,
                               struct error *ret_error)
{
    struct server_record server;
    enum status status = server_record_decode(number, value, &image->checker->arena, &server,
                                              ret_error);
    if (status == STATUS_OK && server.draining) {
        image->drained = number;
    }
    return status;
}

static enum status take(void *context,
                        struct bytes key,
                        struct bytes value,
                        struct error *ret_error)
{
    struct image *image = context;
    struct arena *arena = &image->checker->arena;
    struct tablet_record tablet;
    uint64_t number = 0;
    char kind = 0;

    enum status status = record_key_decode(key, &kind, &number, ret_error);
    if (status == STATUS_OK && kind == RECORD_KIND_COUNTERS) {
        status = counters_record_decode(value, &image->counters, ret_error);
    } else if (status == STATUS_OK && kind == RECORD_KIND_TABLE) {
        ASSERT(image->table_count < TABLES_MAX);
        status = table_record_decode(number, value, arena, &image->tables[image->table_count++],
                                     ret_error);
    } else if (status == STATUS_OK && kind == RECORD_KIND_TABLET) {
        status = tablet_record_decode(number, value, &tablet, ret_error);
        if (status == STATUS_OK) {
            insert_tablet(image, &tablet);
        }
    } else if (status == STATUS_OK && kind == RECORD_KIND_SERVER) {
        status = take_server(image, number, value, ret_error);
    }
    return status;
}

/* --- cover ------------------------------------------------------------------------------------ */

static bool has_table(const struct image *image, uint64_t number)
{
    for (uint32_t i = 0; i < image->table_count; i++) {
        if (image->tables[i].table.number == number) {
            return true;
        }
    }
    return false;
}

static void check_cover(const struct image *image)
{
    struct sim *sim = image->checker->sim;
    uint64_t covered = 0;
    for (uint32_t i = 0; i < image->tablet_count; i++) {
        const struct tablet_record *tablet = &image->tablets[i];
        bool first = i == 0 || image->tablets[i - 1].table != tablet->table;
        bool last = i + 1 == image->tablet_count || image->tablets[i + 1].table != tablet->table;
        struct bytes due = first ? BYTES_EMPTY : image->tablets[i - 1].range.end;
        bool joins = bytes_equal(tablet->range.start, due) && (first || due.size_bytes > 0);
        bool ends = !last || tablet->range.end.size_bytes == 0;
        if (!joins || !ends || !has_table(image, tablet->table)) {
            sim_fail(sim, "the catalog: table %llu is not covered at tablet %llu",
                     (unsigned long long)tablet->table, (unsigned long long)tablet->number);
        }
        covered += first;
    }
    if (covered != image->table_count) {
        sim_fail(sim, "the catalog: a table has no tablets");
    }
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void check_numbers(const struct image *image)
{
    struct sim_checker *checker = image->checker;
    uint8_t seen[SIM_TABLET_NUMBERS_MAX] = {0};
    uint8_t tables_seen[sizeof checker->table_states] = {0};

    for (uint32_t i = 0; i < image->tablet_count; i++) {
        uint64_t number = image->tablets[i].number;
        ASSERT(number < SIM_TABLET_NUMBERS_MAX);
        seen[number] = 1;
        if (checker->tablet_states[number] == SIM_NUMBER_GONE ||
            number >= image->counters.tablet_next) {
            sim_fail(checker->sim, "tablet number %llu was given twice",
                     (unsigned long long)number);
        }
        checker->tablet_states[number] = SIM_NUMBER_USED;
    }
    for (uint32_t i = 0; i < image->table_count; i++) {
        uint64_t number = image->tables[i].table.number;
        ASSERT(number < sizeof checker->table_states);
        tables_seen[number] = 1;
        if (checker->table_states[number] == SIM_NUMBER_GONE ||
            number >= image->counters.table_next) {
            sim_fail(checker->sim, "table number %llu was given twice", (unsigned long long)number);
        }
        checker->table_states[number] = SIM_NUMBER_USED;
    }
    for (uint32_t i = 0; i < SIM_TABLET_NUMBERS_MAX && i < image->counters.tablet_next; i++) {
        bool gone = seen[i] == 0 && checker->tablet_states[i] == SIM_NUMBER_USED;
        checker->tablet_states[i] = gone ? SIM_NUMBER_GONE : checker->tablet_states[i];
    }
    for (uint32_t i = 0; i < sizeof checker->table_states; i++) {
        bool gone = tables_seen[i] == 0 && checker->table_states[i] == SIM_NUMBER_USED;
        checker->table_states[i] = gone ? SIM_NUMBER_GONE : checker->table_states[i];
    }
}

/* A family's number means one name for ever. */
static void check_family(struct sim_checker *checker, uint64_t table, const struct family *family)
{
    uint64_t name = checksum64(family->name.data, family->name.size_bytes, 0);
    for (uint32_t i = 0; i < checker->family_count; i++) {
        const struct sim_family_seen *seen = &checker->families[i];
        if (seen->table == table && seen->family == family->number) {
            if (seen->name != name) {
                sim_fail(checker->sim, "family number %u of table %llu was given twice",
                         family->number, (unsigned long long)table);
            }
            return;
        }
    }
    if (checker->family_count == checker->family_capacity) {
        checker->family_capacity = checker->family_capacity * 2 + 16;
        checker->families = memory_resize(checker->families,
                                          checker->family_capacity * sizeof *checker->families);
        ASSERT(checker->families != NULL);
    }
    checker->families[checker->family_count++] = (struct sim_family_seen){table, family->number,
                                                                          name};
}

static uint32_t copies_of(const struct image *image, uint64_t table)
{
    for (uint32_t i = 0; i < image->table_count; i++) {
        if (image->tables[i].table.number == table) {
            return image->tables[i].table.replicas;
        }
    }
    return 0;
}

static bool has_member_on(const struct tablet_record *tablet, uint64_t server)
{
    const struct replica_configuration *members = &tablet->configuration;
    for (uint32_t i = 0; i < members->member_count; i++) {
        if (members->members[i].server == server) {
            return true;
        }
    }
    return false;
}

/* 0: a disk that is no more. */
static uint32_t server_of(const struct sim *sim, uint64_t store)
{
    for (uint32_t i = 0; i < sim->settings.server_count; i++) {
        for (uint32_t k = 0; k < sim->disks[i]->store_count; k++) {
            if (sim->disks[i]->stores[k].number == store) {
                return i + 1;
            }
        }
    }
    return 0;
}

/* Neither what counts nor what is wished for lies twice on one server. */
static void check_places(struct sim *sim, const struct tablet_record *tablet)
{
    const struct replica_configuration *members = &tablet->configuration;
    const struct tablet_goal *goal = &tablet->goal;
    bool twice = false;
    for (uint32_t i = 0; i < members->member_count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            twice = twice || members->members[i].server == members->members[j].server;
        }
    }
    for (uint32_t i = 0; i < goal->store_count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            uint32_t server = server_of(sim, goal->stores[i]);
            twice = twice || (server != 0 && server == server_of(sim, goal->stores[j]));
        }
    }
    if (twice) {
        sim_fail(sim, "the catalog: tablet %llu has, or is to have, two copies on one server",
                 (unsigned long long)tablet->number);
    }
}

static void note_boundaries(const struct image *image)
{
    struct sim_checker *checker = image->checker;
    checker->boundary_count = 0;
    for (uint32_t i = 0; i < image->tablet_count; i++) {
        const struct bytes start = image->tablets[i].range.start;
        uint32_t at = checker->boundary_count;
        if (image->tablets[i].table == checker->main_table && start.size_bytes > 0 &&
            at < SIM_BOUNDARIES_MAX) {
            memcpy(checker->boundaries[at], start.data, start.size_bytes);
            checker->boundary_bytes[at] = (uint32_t)start.size_bytes;
            checker->boundary_count++;
        }
    }
}

bool sim_checker_boundary(const struct sim_checker *checker,
                          struct prng *prng,
                          struct bytes *ret_row)
{
    if (checker->boundary_count == 0) {
        return false;
    }
    uint64_t at = prng_below(prng, checker->boundary_count);
    *ret_row = bytes_of(checker->boundaries[at], checker->boundary_bytes[at]);
    return true;
}

/* Who is away is no member any more; and then a drained server may have to keep what it has, and merges wait, since
 * they begin with all copies. */
static bool is_settled(const struct image *image, const struct tablet_record *tablet)
{
    const struct sim *sim = image->checker->sim;
    bool lacks = sim->away.now && sim->away.server != 0;
    uint32_t due = copies_of(image, tablet->table);
    uint32_t servers = sim_quorum_servers(sim);
    return tablet->state == TABLET_SERVING && (lacks || tablet->goal.wish != GOAL_MERGE) &&
           tablet->configuration.member_count >= (lacks && servers < due ? servers : due) &&
           (!lacks || !has_member_on(tablet, sim->away.server)) &&
           (servers < due || !has_member_on(tablet, image->drained));
}

void sim_checker_on_catalog(struct sim_checker *checker, struct coordinator *coordinator)
{
    static struct image image; /* too large for the stack; one thread */
    struct error error = {.status = STATUS_OK};

    arena_reset(&checker->arena);
    image.checker = checker;
    image.tablet_count = 0;
    image.table_count = 0;
    image.drained = 0;
    if (coordinator_load(coordinator, take, &image, &error) != STATUS_OK) {
        sim_fail(checker->sim, "the catalog does not decode: %s", error.text);
        return;
    }
    check_cover(&image);
    check_numbers(&image);
    note_boundaries(&image);
    for (uint32_t i = 0; i < image.table_count; i++) {
        const struct table *table = &image.tables[i].table;
        if (bytes_equal(table->id, bytes_of_text(SIM_MAIN_NAME))) {
            sim_cells_on_table(checker, table);
        }
        for (uint32_t j = 0; j < table->family_count; j++) {
            check_family(checker, table->number, &table->families[j]);
        }
    }
    checker->settled = true;
    for (uint32_t i = 0; i < image.tablet_count; i++) {
        const struct tablet_record *tablet = &image.tablets[i];
        check_places(checker->sim, tablet);
        if (checker->settled && !is_settled(&image, tablet)) {
            checker->settled = false;
            (void)snprintf(checker->unsettled, sizeof checker->unsettled,
                           "tablet %llu in state %d, wish %d, %u members",
                           (unsigned long long)tablet->number, (int)tablet->state,
                           (int)tablet->goal.wish, tablet->configuration.member_count);
        }
    }
}

bool sim_checker_is_settled(const struct sim_checker *checker)
{
    return checker->settled;
}

const char *sim_checker_unsettled(const struct sim_checker *checker)
{
    return checker->settled ? "settled" : checker->unsettled;
}

void sim_checker_on_served(struct sim_checker *checker, uint32_t server, uint64_t tablet)
{
    ASSERT(tablet < SIM_TABLET_NUMBERS_MAX);
    if (checker->tablet_server[tablet] == 0) {
        checker->tablet_server[tablet] = (uint8_t)server;
    } else if (checker->tablet_server[tablet] != server) {
        sim_fail(checker->sim, "tablet %llu: servers %u and %u both acknowledge its writes",
                 (unsigned long long)tablet, checker->tablet_server[tablet], server);
    }
}
