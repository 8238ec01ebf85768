/* Documents: put by version, listed in order, kept through restarts, told to no tablet server. */
#include "tests/support/catalog_fixture.h"
#include "tests/support/catalog_memory.h"

TestSuite(catalog, .init = start, .fini = stop, .timeout = 300);

static uint64_t send_put(const char *name, const char *content, uint64_t version)
{
    return driver_put_document(&driver, bytes_of_text(name), bytes_of_text(content), version);
}

static struct put_documents_response put(const char *name, const char *content, uint64_t version)
{
    return driver_put_answer(&driver, send_put(name, content, version));
}

static struct list_documents_response list(const char *prefix)
{
    return driver_list_documents(&driver, bytes_of_text(prefix), BYTES_EMPTY, 0);
}

/* --- versions --------------------------------------------------------------------------------- */

Test(catalog, a_document_is_put_over_the_version_that_is_there)
{
    struct put_documents_response first = put("p/one", "1", 0);
    cr_assert(first.applied);
    cr_assert_gt(first.version, 0);
    struct put_documents_response again = put("p/one", "again", 0);
    cr_assert_not(again.applied, "it is there already");
    cr_assert_eq(again.version, first.version);
    struct put_documents_response second = put("p/one", "2", first.version);
    cr_assert(second.applied);
    cr_assert_gt(second.version, first.version);
    cr_assert_not(put("p/one", "3", first.version).applied, "an older version");
    struct list_documents_response all = list("");
    cr_assert_eq(all.document_count, 1);
    cr_assert_not(all.more);
    cr_assert(bytes_equal(all.documents[0].name, bytes_of_text("p/one")));
    cr_assert(bytes_equal(all.documents[0].content, bytes_of_text("2")));
    cr_assert_eq(all.documents[0].version, second.version);
}

Test(catalog, a_document_that_is_not_there_has_version_0)
{
    struct put_documents_response answer = put("p", "content", 7);
    cr_assert_not(answer.applied);
    cr_assert_eq(answer.version, 0);
    cr_assert_eq(list("").document_count, 0);
}

Test(catalog, a_deleted_document_comes_back_with_another_version)
{
    uint64_t first = put("p", "1", 0).version;
    cr_assert_not(put("p", "", first + 1).applied);
    struct put_documents_response deleted = put("p", "", first);
    cr_assert(deleted.applied);
    cr_assert_gt(deleted.version, first);
    cr_assert_eq(list("").document_count, 0);
    cr_assert_gt(put("p", "1", 0).version, first + 1, "the deletion had a version too");
    driver_assert_refused(&driver, send_put("q", "", 0), STATUS_INVALID_ARGUMENT, "no bytes");
}

/* --- several at once -------------------------------------------------------------------------- */

static struct put_documents_response put_all(const struct document *documents, size_t count)
{
    return driver_put_answer(&driver, driver_put_documents(&driver, documents, count));
}

Test(catalog, documents_are_put_together_or_not_at_all)
{
    struct document documents[] = {
        {bytes_of_text("b"), bytes_of_text("1"), 0},
        {bytes_of_text("a"), bytes_of_text("2"), 0},
        {bytes_of_text("c"), bytes_of_text("3"), 0},
    };
    uint64_t there = put("a", "there", 0).version;
    struct put_documents_response refused = put_all(documents, 3);
    cr_assert_not(refused.applied);
    cr_assert_eq(refused.index, 1);
    cr_assert_eq(refused.version, there);
    cr_assert_eq(list("").document_count, 1, "nothing was put");
    documents[1].version = there;
    struct put_documents_response done = put_all(documents, 3);
    cr_assert(done.applied);
    struct list_documents_response all = list("");
    cr_assert_eq(all.document_count, 3);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(all.documents[i].version, done.version, "they have one version");
        documents[i].version = done.version;
    }
    documents[0].content = BYTES_EMPTY;
    documents[1].content = bytes_of_text("4");
    documents[2].content = BYTES_EMPTY;
    cr_assert(put_all(documents, 3).applied);
    all = list("");
    cr_assert_eq(all.document_count, 1);
    cr_assert(bytes_equal(all.documents[0].content, bytes_of_text("4")));
}

/* Each has a number of its own, which is never given again, also not to what comes next. */
Test(catalog, documents_that_were_made_together_are_loaded_as_they_were)
{
    const struct document documents[] = {
        {bytes_of_text("a"), bytes_of_text("1"), 0},
        {bytes_of_text("b"), bytes_of_text("2"), 0},
        {bytes_of_text("c"), bytes_of_text("3"), 0},
    };
    uint64_t version = put_all(documents, 3).version;
    cr_assert_gt(put("d", "4", 0).version, version);
    driver_crash(&driver);
    struct list_documents_response all = list("");
    cr_assert_eq(all.document_count, 4);
    for (size_t i = 0; i < 3; i++) {
        cr_assert(bytes_equal(all.documents[i].name, documents[i].name));
        cr_assert(bytes_equal(all.documents[i].content, documents[i].content));
        cr_assert_eq(all.documents[i].version, version);
    }
}

Test(catalog, documents_that_are_put_together_have_bounds)
{
    static char names[LIMIT_DOCUMENTS_PER_PUT + 1][8];
    static struct document documents[LIMIT_DOCUMENTS_PER_PUT + 1];
    for (size_t i = 0; i <= LIMIT_DOCUMENTS_PER_PUT; i++) {
        snprintf(names[i], sizeof names[i], "%zu", i);
        documents[i] = (struct document){bytes_of_text(names[i]), bytes_of_text("c"), 0};
    }
    driver_assert_refused(&driver, driver_put_documents(&driver, documents, 0),
                          STATUS_INVALID_ARGUMENT, "1 to 128");
    driver_assert_refused(&driver,
                          driver_put_documents(&driver, documents, LIMIT_DOCUMENTS_PER_PUT + 1),
                          STATUS_INVALID_ARGUMENT, "1 to 128");
    documents[7].name = documents[3].name;
    driver_assert_refused(&driver, driver_put_documents(&driver, documents, 8),
                          STATUS_INVALID_ARGUMENT, "3 and 7 have one name");
    documents[7].name = bytes_of_text(names[7]);
    cr_assert(put_all(documents, LIMIT_DOCUMENTS_PER_PUT).applied);
    cr_assert_eq(list("").document_count, LIMIT_DOCUMENTS_PER_PUT);
}

/* --- limits ----------------------------------------------------------------------------------- */

Test(catalog, names_and_documents_have_bounds)
{
    static uint8_t large[LIMIT_DOCUMENT_BYTES + 1];
    static uint8_t name[LIMIT_DOCUMENT_NAME_BYTES + 1];
    struct bytes content = bytes_of(large, LIMIT_DOCUMENT_BYTES);
    struct bytes longest = bytes_of(name, LIMIT_DOCUMENT_NAME_BYTES);
    driver_assert_refused(&driver, send_put("", "c", 0), STATUS_INVALID_ARGUMENT, "1 to 512");
    driver_assert_refused(&driver,
                          driver_put_document(&driver, bytes_of(name, sizeof name), content, 0),
                          STATUS_INVALID_ARGUMENT, "513 bytes");
    driver_assert_refused(&driver,
                          driver_put_document(&driver, longest, bytes_of(large, sizeof large), 0),
                          STATUS_INVALID_ARGUMENT, "65537 bytes");
    cr_assert(
        driver_put_answer(&driver, driver_put_document(&driver, longest, content, 0)).applied);
    driver_crash(&driver); /* as large as may be, and read again */
    struct list_documents_response all = list("");
    cr_assert_eq(all.document_count, 1);
    cr_assert(bytes_equal(all.documents[0].name, longest));
    cr_assert(bytes_equal(all.documents[0].content, content));
}

Test(catalog, all_documents_together_have_a_bound)
{
    static uint8_t large[LIMIT_DOCUMENT_BYTES];
    const struct bytes content = bytes_of(large, sizeof large);
    struct catalog_counts counts;
    uint64_t version = 0;
    uint64_t request = 0;
    size_t count = 0;
    /* straight into the catalog: a thousand copies of a memory coordinator would take a minute */
    driver.hold_commits = true;
    for (;; count++) {
        char name[16];
        snprintf(name, sizeof name, "%05zu", count);
        request = driver_put_document(&driver, bytes_of_text(name), content, 0);
        if (driver.transaction == 0) {
            break;
        }
        struct catalog_event event = {.type = CATALOG_EVENT_PERSISTED,
                                      .number = driver.transaction};
        driver.transaction = 0;
        driver_step(&driver, event);
        version = driver_put_answer(&driver, request).version;
        driver_forget_replies(&driver);
    }
    driver_assert_refused(&driver, request, STATUS_RESOURCE_EXHAUSTED, "all together");
    catalog_counts(driver.catalog, &counts);
    cr_assert_eq(counts.documents, count);
    cr_assert_leq(counts.document_bytes, LIMIT_DOCUMENTS_BYTES);
    cr_assert_gt(counts.document_bytes, LIMIT_DOCUMENTS_BYTES - 2 * LIMIT_DOCUMENT_BYTES);
    /* what replaces one, and what deletes one, still goes */
    char name[16];
    snprintf(name, sizeof name, "%05zu", count - 1);
    (void)driver_put_document(&driver, bytes_of_text(name), content, version);
    cr_assert_neq(driver.transaction, 0);
}

/* --- listing ---------------------------------------------------------------------------------- */

Test(catalog, documents_are_listed_by_prefix_from_a_start_in_order)
{
    static const char *const names[] = {"b/2", "a", "b/1", "c", "b", "b/10"};
    for (size_t i = 0; i < 6; i++) {
        cr_assert(put(names[i], names[i], 0).applied);
    }
    static const char *const under_b[] = {"b/1", "b/10", "b/2"};
    struct list_documents_response some = list("b/");
    cr_assert_eq(some.document_count, 3);
    for (size_t i = 0; i < 3; i++) {
        cr_assert(bytes_equal(some.documents[i].name, bytes_of_text(under_b[i])));
    }
    some = driver_list_documents(&driver, bytes_of_text("b/"), bytes_of_text("b/10"), 1);
    cr_assert_eq(some.document_count, 1);
    cr_assert(bytes_equal(some.documents[0].name, bytes_of_text("b/10")));
    cr_assert(some.more);
    some = driver_list_documents(&driver, bytes_of_text("b/"), bytes_of_text("a"), 0);
    cr_assert_eq(some.document_count, 3, "a start before the prefix changes nothing");
    some = driver_list_documents(&driver, bytes_of_text("b/"), bytes_of_text("c"), 0);
    cr_assert_eq(some.document_count, 0);
    cr_assert_not(some.more);
}

Test(catalog, a_long_list_comes_in_pages)
{
    static uint8_t large[LIMIT_DOCUMENT_BYTES];
    char name[16];
    size_t seen = 0;
    bool more = true;
    for (size_t i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "%02zu", i);
        (void)driver_put_document(&driver, bytes_of_text(name), bytes_of(large, sizeof large), 0);
    }
    for (size_t page = 0; more; page++) {
        snprintf(name, sizeof name, "%02zu", seen);
        struct list_documents_response some = driver_list_documents(&driver, BYTES_EMPTY,
                                                                    bytes_of_text(name), 0);
        cr_assert_lt(page, 5);
        cr_assert_gt(some.document_count, 0);
        cr_assert_leq(some.document_count, 16, "about a MiB");
        cr_assert(bytes_equal(some.documents[0].name, bytes_of_text(name)));
        seen += some.document_count;
        more = some.more;
    }
    cr_assert_eq(seen, 40);
}

/* --- durable before visible ------------------------------------------------------------------- */

Test(catalog, documents_survive_a_crash)
{
    uint64_t version = put("a", "1", 0).version;
    (void)put("b", "2", 0);
    version = put("a", "3", version).version;
    (void)put("c", "4", 0);
    (void)put("c", "", list("c").documents[0].version);
    driver_crash(&driver);
    struct list_documents_response all = list("");
    cr_assert_eq(all.document_count, 2);
    cr_assert(bytes_equal(all.documents[0].content, bytes_of_text("3")));
    cr_assert_eq(all.documents[0].version, version);
    cr_assert(bytes_equal(all.documents[1].content, bytes_of_text("2")));
    cr_assert(put("a", "5", version).applied);
}

Test(catalog, a_document_is_not_seen_before_it_is_durable)
{
    driver.hold_commits = true;
    uint64_t first = send_put("a", "1", 0);
    uint64_t second = send_put("a", "2", 0);
    cr_assert_eq(list("").document_count, 0);
    cr_assert_null(driver_reply(&driver, first));
    driver.hold_commits = false;
    (void)driver_commit(&driver);
    cr_assert(driver_put_answer(&driver, first).applied);
    cr_assert_not(driver_put_answer(&driver, second).applied, "they went in order");
    cr_assert(bytes_equal(list("").documents[0].content, bytes_of_text("1")));
}

Test(catalog, a_failed_write_puts_no_document)
{
    uint64_t version = put("a", "1", 0).version;
    coordinator_memory_fail(driver.coordinator, 0, 1);
    driver_assert_refused(&driver, send_put("a", "2", version), STATUS_RESOURCE_EXHAUSTED,
                          "nothing was changed");
    cr_assert(bytes_equal(list("").documents[0].content, bytes_of_text("1")));
    cr_assert(put("a", "2", version).applied);
}

/* --- servers ---------------------------------------------------------------------------------- */

static bool holds(struct bytes message, const char *text)
{
    struct bytes wanted = bytes_of_text(text);
    for (size_t i = 0; i + wanted.size_bytes <= message.size_bytes; i++) {
        if (bytes_equal(bytes_of(message.data + i, wanted.size_bytes), wanted)) {
            return true;
        }
    }
    return false;
}

Test(catalog, no_server_hears_of_documents_or_is_waited_for)
{
    make_table("t", NULL, 0);
    fakes_settle(&driver, servers, 3);
    cr_assert(put("secret-name", "secret-content", 0).applied, "answered before any sync");
    uint64_t sync = fake_send(&driver, &servers[0]);
    struct bytes body = driver_body(&driver, sync);
    struct sync_response response;
    cr_assert_eq(sync_response_decode(body, &driver.arena, &response, NULL), STATUS_OK);
    cr_assert_not(response.reset);
    cr_assert_eq(response.tablet_count + response.table_count + response.dropped_table_count, 0);
    cr_assert_not(holds(body, "secret"));
    servers[1].known_version = 0; /* nor in a whole map */
    sync = fake_send(&driver, &servers[1]);
    body = driver_body(&driver, sync);
    cr_assert_not(holds(body, "secret"));
}

/* --- without memory --------------------------------------------------------------------------- */

/* Two puts at once with memory that fails after so many allocations; true if it got through. */
static bool put_with_failing_memory(uint64_t after, uint64_t version, const char *content)
{
    struct buffer body = BUFFER_INIT;
    const struct document documents[] = {
        {bytes_of_text("a"), bytes_of_text(content), version},
        {bytes_of_text("b"), bytes_of_text(content), version},
    };
    const struct put_documents_request request = {documents, 2};
    put_documents_request_encode(&request, &body);
    (void)driver_send_without_memory(&driver, METHOD_PUT_DOCUMENTS, &body, after);
    return driver.transaction != 0;
}

Test(catalog, putting_and_deleting_survive_failing_memory)
{
    uint64_t after = 0;
    while (!put_with_failing_memory(after, 0, "content")) {
        cr_assert_eq(list("").document_count, 0);
        cr_assert_lt(++after, 500);
    }
    cr_assert_gt(after, 2);
    /* it is durable, and applying it needs none */
    driver_commit_without_memory(&driver, 0);
    uint64_t version = driver_put_answer(&driver, driver.request).version;
    for (after = 0; !put_with_failing_memory(after, version, ""); after++) {
        cr_assert_eq(list("").document_count, 2);
        cr_assert_lt(after, 500);
    }
    (void)driver_commit(&driver);
    cr_assert_eq(list("").document_count, 0);
}

static bool list_with_failing_memory(uint64_t after)
{
    struct buffer body = BUFFER_INIT;
    const struct list_documents_request list = {0};
    list_documents_request_encode(&list, &body);
    uint64_t request = driver_send_without_memory(&driver, METHOD_LIST_DOCUMENTS, &body, after);
    const struct driver_reply *reply = driver_reply(&driver, request);
    return reply != NULL && reply->status == STATUS_OK;
}

Test(catalog, listing_documents_survives_failing_memory)
{
    (void)put("a", "content", 0);
    driver_forget_replies(&driver);
    for (uint64_t after = 0; !list_with_failing_memory(after); after++) {
        cr_assert_lt(after, 100);
    }
}

/* --- loading ---------------------------------------------------------------------------------- */

static enum status load_documents(const struct document_record *records, size_t count)
{
    struct catalog *catalog = NULL;
    struct error error = {0};
    cr_assert_eq(catalog_create(&driver.settings, &catalog), STATUS_OK);
    cr_assert_eq(coordinator_load(driver.coordinator, driver_take, catalog, &error), STATUS_OK);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        struct record_key key = record_key_of(RECORD_KIND_DOCUMENT, records[i].number);
        struct buffer value = BUFFER_INIT;
        document_record_encode(&records[i], &value);
        status = catalog_load(catalog, record_key_bytes(&key), buffer_bytes(&value), &error);
        buffer_deinit(&value);
    }
    status = status == STATUS_OK ? catalog_load_end(catalog, 1, &error) : status;
    cr_assert(status == STATUS_OK || error.text[0] != '\0');
    catalog_destroy(catalog);
    return status;
}

Test(catalog, documents_that_cannot_be_are_corrupt)
{
    (void)put("z", "1", 0); /* the version is 1 at least */
    struct document_record good = {.number = 1,
                                   .changed_version = 1,
                                   .name = bytes_of_text("a"),
                                   .content = bytes_of_text("c")};
    struct document_record twice[] = {good, good};
    struct document_record future = good;
    struct document_record empty = good;
    struct document_record nameless = good;
    future.changed_version = 1000000;
    empty.content = BYTES_EMPTY;
    nameless.name = BYTES_EMPTY;
    cr_assert_eq(load_documents(&good, 1), STATUS_OK);
    cr_assert_eq(load_documents(twice, 2), STATUS_CORRUPT);
    cr_assert_eq(load_documents(&future, 1), STATUS_CORRUPT);
    cr_assert_eq(load_documents(&empty, 1), STATUS_CORRUPT);
    cr_assert_eq(load_documents(&nameless, 1), STATUS_CORRUPT);
}
