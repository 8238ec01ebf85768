/*
 * The catalog against a model, by seed: random requests, servers that restart, lose tablets, lose
 * answers, disks that move, commits that fail, and crashes at any commit, before or after it took
 * place.  After every step the catalog checks itself; here we check what was promised:
 *
 *   (1) an acknowledged table, family or split boundary stays until its deletion is asked for;
 *   (2) an acknowledged deletion stays;
 *   (3) a number means one thing for ever: a table's name, a tablet's table and range;
 *   (4) a tablet that was shown serving is never ordered to be created again;
 *   (5) what was answered is still so after a crash and a load;
 *   (6) a document is what was put last and acknowledged, with that version, or what was put with
 *       an unknown outcome since; a put with another version than is there changes nothing, and
 *       what is put together is put or not put together;
 *   (7) where no disk loses anything, everything serves in the end: no server was ever told to drop
 *       what was needed.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>

#include "common/base/prng.h"
#include "tests/support/catalog_driver.h"

#define NAMES       5
#define SERVERS     4
#define NUMBERS_MAX 20000
#define BOUNDARIES  512
#define DOCUMENTS   4
#define STEPS       700
#define SEEDS       40

enum existence {
    GONE,
    THERE,
    MAYBE, /* asked for, and the master died or could not say */
};

struct known_tablet {
    uint64_t table;
    char start[16];
    char end[16];
    bool served;
};

struct boundary {
    uint64_t table;
    char row[16];
};

/* A document as we know it; a content is a number as text, 0 = there is none. */
struct known_document {
    uint64_t content;
    uint64_t version;
    bool unsure;    /* the master died over a put of: */
    uint64_t maybe; /* this content */
    uint64_t version_max;
};

static struct {
    struct driver driver;
    struct fake_server servers[SERVERS];
    struct prng prng;
    enum existence exists[NAMES];
    uint32_t families[NAMES];      /* acknowledged extra families */
    uint64_t table_numbers[NAMES]; /* last seen under the name */
    uint64_t table_number_max;
    struct known_tablet tablets[NUMBERS_MAX];
    struct boundary boundaries[BOUNDARIES];
    size_t boundary_count;
    struct known_document documents[DOCUMENTS];
    uint64_t content_next;
    uint64_t store_next;
    bool crashed; /* during the running request */
    bool losses;  /* does this seed's world lose tablets and disks? */
} model;

static const char *const names[NAMES] = {"alpha", "beta", "gamma", "delta", "epsilon"};

static uint64_t below(uint64_t bound)
{
    return prng_below(&model.prng, bound);
}

static bool chance(uint64_t one_in)
{
    return prng_chance(&model.prng, one_in);
}

static const char *random_row(char row[16])
{
    snprintf(row, 16, "%c%c", (char)('a' + below(26)), (char)('a' + below(26)));
    return row;
}

static void keep_text(struct bytes bytes, char text[16])
{
    cr_assert_lt(bytes.size_bytes, 16);
    memset(text, 0, 16);
    if (bytes.size_bytes > 0) {
        memcpy(text, bytes.data, bytes.size_bytes);
    }
}

/* --- looking ---------------------------------------------------------------------------------- */

/* (3), (4) for one tablet as a client sees it. */
static void see_tablet(const struct location *location)
{
    char start[16];
    char end[16];
    cr_assert_lt(location->tablet, NUMBERS_MAX);
    struct known_tablet *known = &model.tablets[location->tablet];
    keep_text(location->range.start, start);
    keep_text(location->range.end, end);
    if (known->table == 0) {
        known->table = location->table;
        memcpy(known->start, start, sizeof start);
        memcpy(known->end, end, sizeof end);
    }
    cr_assert_eq(known->table, location->table);
    cr_assert_str_eq(known->start, start);
    cr_assert_str_eq(known->end, end);
    cr_assert_not(known->served && location->state == TABLET_CREATING,
                  "tablet %lu served and is created again", (unsigned long)location->tablet);
    known->served = known->served || location->state == TABLET_SERVING;
}

/* (1) for boundaries: each acknowledged row begins a tablet. */
static void see_boundaries(const struct locate_response *where)
{
    for (size_t i = 0; i < model.boundary_count; i++) {
        bool found = model.boundaries[i].table != where->table.number;
        for (size_t j = 0; j < where->location_count && !found; j++) {
            found = bytes_equal(where->locations[j].range.start,
                                bytes_of_text(model.boundaries[i].row));
        }
        cr_assert(found, "boundary %s of table %lu is lost", model.boundaries[i].row,
                  (unsigned long)where->table.number);
    }
}

static void see_table(size_t name)
{
    struct driver *driver = &model.driver;
    uint64_t request = driver_by_name(driver, METHOD_GET_TABLE, names[name]);
    const struct driver_reply *reply = driver_reply(driver, request);
    bool there = reply->status == STATUS_OK;

    cr_assert(there || reply->status == STATUS_NOT_FOUND);
    cr_assert_not(there && model.exists[name] == GONE, "%s came back", names[name]);
    cr_assert_not(!there && model.exists[name] == THERE, "%s is lost", names[name]);
    model.exists[name] = there ? THERE : GONE;
    if (!there) {
        model.table_numbers[name] = 0;
        model.families[name] = 0;
        return;
    }
    struct table_response table = driver_table(driver, request);
    if (model.table_numbers[name] != table.table.number) {
        cr_assert_eq(model.table_numbers[name], 0, "%s changed its number", names[name]);
        cr_assert_gt(table.table.number, model.table_number_max, "a table number was reused");
        model.table_numbers[name] = table.table.number;
        model.table_number_max = table.table.number;
    }
    cr_assert_geq(table.table.family_count, model.families[name] + 1, "a family is lost");
    struct locate_response where = driver_locate(driver, names[name], "");
    cr_assert_eq(where.location_count, table.tablet_count);
    for (size_t i = 0; i < where.location_count; i++) {
        see_tablet(&where.locations[i]);
    }
    see_boundaries(&where);
}

static const char *const document_names[DOCUMENTS] = {"d", "da", "d/a", "e"};

/* (6); true if a put of unknown outcome turns out to have taken place. */
static bool see_document(size_t index)
{
    struct known_document *known = &model.documents[index];
    struct bytes name = bytes_of_text(document_names[index]);
    struct list_documents_response list = driver_list_documents(&model.driver, name, name, 1);
    bool there = list.document_count == 1 && bytes_equal(list.documents[0].name, name);
    char text[16] = "0";
    if (there) {
        keep_text(list.documents[0].content, text);
    }
    uint64_t content = strtoull(text, NULL, 10);
    uint64_t version = there ? list.documents[0].version : 0;
    bool unchanged = content == known->content && version == known->version;
    bool done = known->unsure && content == known->maybe &&
                (!there || version > known->version_max);

    cr_assert(unchanged || done, "%s is %lu of version %lu", document_names[index],
              (unsigned long)content, (unsigned long)version);
    known->content = content;
    known->version = version;
    known->unsure = false;
    known->version_max = version > known->version_max ? version : known->version_max;
    return !unchanged;
}

/* Those of unknown outcome were put together. */
static void see_documents(void)
{
    size_t unsure = 0;
    size_t done = 0;
    for (size_t i = 0; i < DOCUMENTS; i++) {
        unsure += model.documents[i].unsure;
        done += see_document(i);
    }
    cr_assert(done == 0 || done == unsure, "%zu of %zu documents were put", done, unsure);
}

static void see_all(void)
{
    see_documents();
    for (size_t i = 0; i < NAMES; i++) {
        see_table(i);
    }
    driver_forget_replies(&model.driver);
}

/* --- servers ---------------------------------------------------------------------------------- */

static void lose_something(struct fake_server *server)
{
    if (server->held_count > 0) {
        size_t index = below(server->held_count);
        if (chance(2)) {
            server->held[index].state = server->held[index].state == HELD_FAILED ? HELD_SERVING
                                                                                 : HELD_FAILED;
        } else {
            server->held[index] = server->held[--server->held_count];
        }
    }
}

/* The disk is replaced by an empty one: a new store number, and nothing on it. */
static void wipe(struct fake_server *server)
{
    server->stores[0].number = model.store_next++;
    server->held_count = 0;
    server->incarnation++;
}

static void restart(struct fake_server *server)
{
    server->incarnation++;
    server->known_version = 0;
    for (size_t i = 0; i < server->held_count; i++) {
        if (server->held[i].state == HELD_CREATED) {
            server->held[i].state = HELD_SERVING;
        }
    }
    if (chance(3)) {
        snprintf(server->address, sizeof server->address, "tcp://127.0.0.1:%lu",
                 (unsigned long)(10000 + below(1000)));
    }
}

static void wish(struct fake_server *server)
{
    static char rows[64][16];
    static size_t next;
    if (server->held_count > 0) {
        struct held_tablet *held = &server->held[below(server->held_count)];
        held->wants_split = true;
        held->size_bytes = UINT64_C(1) << 40;
        held->split_row = bytes_of_text(random_row(rows[next++ % 64]));
    }
}

static void disturb(struct fake_server *server)
{
    switch (below(12)) {
    case 0:
        if (model.losses) {
            lose_something(server);
        }
        break;
    case 1:
        if (model.losses && chance(4)) {
            wipe(server);
        }
        break;
    case 2:
        restart(server);
        break;
    case 3:
        server->stores[0].condition = (uint32_t)below(3);
        break;
    default:
        wish(server);
        break;
    }
}

/* It was moved, and is taken for a copy until its former self was not heard of for a time. */
static bool is_taken_for_copy(uint64_t request)
{
    const struct driver_reply *reply = driver_reply(&model.driver, request);
    return reply != NULL && reply->status == STATUS_PERMISSION_DENIED &&
           strstr(reply->text, "must end if its folder is a copy") != NULL;
}

static void sync_one(void)
{
    struct fake_server *server = &model.servers[below(SERVERS)];
    if (chance(6)) {
        disturb(server);
    }
    uint64_t request = fake_send(&model.driver, server);
    if (model.crashed || chance(8)) {
        return; /* the answer is lost */
    }
    if (driver_reply(&model.driver, request) != NULL && !is_taken_for_copy(request)) {
        fake_take(&model.driver, server, request);
    }
}

static void wake_everyone(void)
{
    for (size_t i = 0; i < SERVERS; i++) {
        struct fake_server *server = &model.servers[i];
        server->stores[0].condition = 0;
        uint64_t request = fake_send(&model.driver, server);
        if (is_taken_for_copy(request)) {
            driver_pass(&model.driver, 4 * SECOND_NS);
            request = fake_send(&model.driver, server);
        }
        fake_take(&model.driver, server, request);
    }
}

/* --- commits ---------------------------------------------------------------------------------- */

/* The pending transaction: it commits, fails, or the master dies before or after. */
static void resolve_commit(void)
{
    struct driver *driver = &model.driver;
    if (driver->transaction == 0) {
        return;
    }
    switch (below(16)) {
    case 0:
        model.crashed = true;
        driver_crash(driver);
        break;
    case 1:
        cr_assert_eq(coordinator_commit(driver->coordinator, driver->puts, driver->put_count, NULL),
                     STATUS_OK);
        model.crashed = true;
        driver_crash(driver);
        break;
    case 2:
        coordinator_memory_fail(driver->coordinator, 0, 1);
        (void)driver_commit(driver);
        break;
    default:
        (void)driver_commit(driver);
        break;
    }
}

/* Until the request is answered, the master died, or patience ends. */
static const struct driver_reply *await(uint64_t request)
{
    for (int i = 0; i < 400 && !model.crashed; i++) {
        const struct driver_reply *reply = driver_reply(&model.driver, request);
        if (reply != NULL) {
            return reply;
        }
        resolve_commit();
        if (!model.crashed) {
            sync_one();
            driver_pass(&model.driver, SECOND_NS / 10);
        }
    }
    cr_assert(model.crashed, "a request was never answered");
    return NULL;
}

/* --- requests --------------------------------------------------------------------------------- */

static void try_create(size_t name)
{
    char rows[3][16];
    const char *splits[3] = {random_row(rows[0]), random_row(rows[1]), random_row(rows[2])};
    uint64_t request = driver_create(&model.driver, names[name], splits, below(4));
    const struct driver_reply *reply = await(request);

    if (reply == NULL || reply->status == STATUS_UNAVAILABLE) {
        model.exists[name] = model.exists[name] == THERE ? THERE : MAYBE;
    } else if (reply->status == STATUS_OK || reply->status == STATUS_DEADLINE_EXCEEDED) {
        cr_assert_eq(model.exists[name], GONE);
        model.exists[name] = reply->status == STATUS_OK ? THERE : MAYBE;
    } else if (reply->status == STATUS_ALREADY_EXISTS) {
        cr_assert_eq(model.exists[name], THERE);
    } else {
        cr_assert_eq(reply->status, STATUS_RESOURCE_EXHAUSTED, "%s", reply->text);
    }
}

static void try_delete(size_t name)
{
    uint64_t request = driver_by_name(&model.driver, METHOD_DELETE_TABLE, names[name]);
    enum existence before = model.exists[name];
    model.exists[name] = MAYBE;
    const struct driver_reply *reply = await(request);

    if (reply == NULL) {
        return;
    }
    if (reply->status == STATUS_OK) {
        cr_assert_eq(before, THERE);
        model.exists[name] = GONE;
    } else if (reply->status == STATUS_NOT_FOUND) {
        cr_assert_neq(before, THERE);
        model.exists[name] = GONE;
    } else if (reply->status == STATUS_RESOURCE_EXHAUSTED) {
        model.exists[name] = before;
    }
}

static void try_alter(size_t name)
{
    char family[16];
    snprintf(family, sizeof family, "f%lu", (unsigned long)below(1000000));
    const struct alteration add = {.kind = ALTER_CREATE_FAMILY,
                                   .family = {.name = bytes_of_text(family)}};
    const struct driver_reply *reply = await(driver_alter(&model.driver, names[name], &add, 1));
    if (reply != NULL && reply->status == STATUS_OK) {
        cr_assert_eq(model.exists[name], THERE);
        model.families[name]++;
    }
}

static void try_split(size_t name)
{
    char row[16];
    uint64_t table = model.table_numbers[name];
    const struct driver_reply *reply = await(
        driver_split(&model.driver, names[name], random_row(row)));
    if (reply != NULL && reply->status == STATUS_OK && model.boundary_count < BOUNDARIES) {
        struct boundary *boundary = &model.boundaries[model.boundary_count++];
        boundary->table = table;
        memcpy(boundary->row, row, sizeof row);
    }
}

struct asked_document {
    size_t index;
    uint64_t content;
    uint64_t expected;
    char text[24]; /* the content's */
};

static struct asked_document ask_document(size_t index)
{
    const struct known_document *known = &model.documents[index];
    struct asked_document asked = {index, 0, chance(6) ? below(50) : known->version, ""};
    if (asked.expected == 0 || known->content == 0 || !chance(4)) {
        asked.content = ++model.content_next;
        snprintf(asked.text, sizeof asked.text, "%lu", (unsigned long)asked.content);
    }
    return asked;
}

/* The first that expects another version than is there; count if none does. */
static size_t first_wrong(const struct asked_document *asked, size_t count)
{
    size_t i = 0;
    while (i < count && asked[i].expected == model.documents[asked[i].index].version) {
        i++;
    }
    return i;
}

static void see_put(const struct asked_document *asked,
                    size_t count,
                    struct put_documents_response answer)
{
    size_t wrong = first_wrong(asked, count);
    cr_assert_eq(answer.applied, wrong == count);
    if (!answer.applied) {
        cr_assert_eq(answer.index, wrong);
        cr_assert_eq(answer.version, model.documents[asked[wrong].index].version);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct known_document *known = &model.documents[asked[i].index];
        cr_assert_gt(answer.version, known->version_max);
        known->content = asked[i].content;
        known->version = asked[i].content == 0 ? 0 : answer.version;
    }
}

static void try_put_documents(void)
{
    struct asked_document asked[DOCUMENTS];
    struct document documents[DOCUMENTS];
    size_t count = chance(2) ? 1 : 1 + below(DOCUMENTS);
    size_t first = below(DOCUMENTS);
    for (size_t i = 0; i < count; i++) {
        asked[i] = ask_document((first + i) % DOCUMENTS);
        documents[i] = (struct document){bytes_of_text(document_names[asked[i].index]),
                                         bytes_of_text(asked[i].text), asked[i].expected};
    }
    uint64_t request = driver_put_documents(&model.driver, documents, count);
    const struct driver_reply *reply = await(request);
    for (size_t i = 0; i < count && reply == NULL; i++) {
        model.documents[asked[i].index].unsure = first_wrong(asked, count) == count;
        model.documents[asked[i].index].maybe = asked[i].content;
    }
    if (reply == NULL) {
        return;
    }
    if (reply->status != STATUS_OK) { /* the commit failed: nothing was changed */
        cr_assert_eq(reply->status, STATUS_RESOURCE_EXHAUSTED, "%s", reply->text);
        return;
    }
    see_put(asked, count, driver_put_answer(&model.driver, request));
}

static void one_round(void)
{
    size_t name = below(NAMES);
    model.crashed = false;
    if (chance(6)) {
        try_put_documents();
    }
    model.crashed = false;
    switch (below(8)) {
    case 0:
    case 1:
        try_create(name);
        break;
    case 2:
        if (chance(3)) {
            try_delete(name);
        }
        break;
    case 3:
        try_alter(name);
        break;
    case 4:
        try_split(name);
        break;
    default:
        sync_one();
        resolve_commit();
        break;
    }
    see_all();
}

/* After all trouble: everything that a server still holds serves again. */
static void heal(void)
{
    model.driver.hold_commits = false;
    if (model.driver.transaction != 0) {
        (void)driver_commit(&model.driver);
    }
    for (size_t i = 0; i < SERVERS; i++) {
        struct fake_server *server = &model.servers[i];
        for (size_t j = 0; j < server->held_count; j++) {
            server->held[j].state = HELD_SERVING;
            server->held[j].wants_split = false;
        }
    }
    for (int i = 0; i < 40; i++) {
        wake_everyone();
        driver_pass(&model.driver, SECOND_NS / 2);
        driver_forget_replies(&model.driver);
    }
    struct catalog_counts counts;
    catalog_counts(model.driver.catalog, &counts);
    cr_assert_eq(counts.tablets_by_state[TABLET_CREATING], 0);
    cr_assert_eq(counts.tablets_by_state[TABLET_SPLITTING], 0);
    cr_assert(model.losses || counts.tablets_by_state[TABLET_UNAVAILABLE] == 0,
              "a tablet was lost, and no disk lost it");
}

static void run(uint64_t seed)
{
    memset(&model, 0, sizeof model);
    model.prng = prng_of_seed(seed);
    model.store_next = 1000;
    model.losses = seed % 2 == 0;
    driver_init(&model.driver);
    for (uint64_t i = 0; i < SERVERS; i++) {
        fake_init(&model.servers[i], i + 1);
        model.servers[i].zone = i % 2 == 0 ? "a" : "b";
    }
    wake_everyone();
    model.driver.hold_commits = true;
    for (int i = 0; i < STEPS; i++) {
        one_round();
    }
    heal();
    see_all();
    driver_crash(&model.driver);
    see_all();
    driver_deinit(&model.driver);
}

Test(catalog_model, promises_hold_through_crashes, .timeout = 300)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run(seed);
    }
}
