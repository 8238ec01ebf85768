/*
 * What the catalog has acknowledged of tables, tablets and documents, and whether it is so: promises (1) to (6) of
 * test_catalog_model.c.
 */
#ifndef TESTS_MODEL_CATALOG_TRUTH_H
#define TESTS_MODEL_CATALOG_TRUTH_H

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

static const char *const document_names[DOCUMENTS] = {"d", "da", "d/a", "e"};

/* --- chance ----------------------------------------------------------------------------------- */

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

/* --- looking ---------------------------------------------------------------------------------- */

static void keep_text(struct bytes bytes, char text[16])
{
    cr_assert_lt(bytes.size_bytes, 16);
    memset(text, 0, 16);
    if (bytes.size_bytes > 0) {
        memcpy(text, bytes.data, bytes.size_bytes);
    }
}

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

#endif /* TESTS_MODEL_CATALOG_TRUTH_H */
