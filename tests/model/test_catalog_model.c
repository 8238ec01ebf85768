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
#include "tests/model/catalog_trouble.h"

#define STEPS 700
#define SEEDS 40

/* --- tables ----------------------------------------------------------------------------------- */

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

/* --- documents -------------------------------------------------------------------------------- */

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

/* --- a world ---------------------------------------------------------------------------------- */

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
