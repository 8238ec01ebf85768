/* libedubba's documents against a master in this process: real connections, a real folder. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/include/edubba_documents.h"
#include "tests/support/master_in_process.h"

TestSuite(documents, .init = start_master, .fini = stop_master, .timeout = 300);

static enum edubba_code put(const char *name,
                            const char *content,
                            uint64_t expected,
                            uint64_t *version)
{
    struct edubba_error error;
    return edubba_put_document(client, EDUBBA_TEXT(name), EDUBBA_TEXT(content), expected, version,
                               &error);
}

static void assert_content(const char *name, const char *content, uint64_t version)
{
    struct edubba_document *document = NULL;
    struct edubba_error error;
    cr_assert_eq(edubba_get_document(client, EDUBBA_TEXT(name), &document, &error), EDUBBA_OK, "%s",
                 error.text);
    cr_assert_eq(document->version, version);
    cr_assert_eq(document->content.size, strlen(content));
    cr_assert_eq(memcmp(document->content.data, content, strlen(content)), 0);
    edubba_free(document);
}

Test(documents, are_put_got_and_deleted_by_version)
{
    struct edubba_document *document = NULL;
    struct edubba_error error;
    uint64_t version = 0;
    uint64_t other = 0;
    cr_assert_eq(edubba_get_document(client, EDUBBA_TEXT("a"), &document, &error),
                 EDUBBA_NOT_FOUND);
    cr_assert_eq(put("ab", "longer", 0, NULL), EDUBBA_OK);
    cr_assert_eq(edubba_get_document(client, EDUBBA_TEXT("a"), &document, &error), EDUBBA_NOT_FOUND,
                 "a longer name is another");
    cr_assert_eq(put("a", "1", 0, &version), EDUBBA_OK);
    assert_content("a", "1", version);
    cr_assert_eq(put("a", "2", 0, &other), EDUBBA_ABORTED);
    cr_assert_eq(other, version, "it says which there is");
    cr_assert_eq(put("a", "2", version, &version), EDUBBA_OK);
    assert_content("a", "2", version);
    cr_assert_eq(put("a", "", version, &other), EDUBBA_OK);
    cr_assert_eq(other, 0);
    cr_assert_eq(put("a", "3", version, &other), EDUBBA_ABORTED);
    cr_assert_eq(other, 0);
    cr_assert_eq(put("", "1", 0, &other), EDUBBA_INVALID_ARGUMENT);
}

Test(documents, are_put_together_or_not_at_all)
{
    struct edubba_document documents[] = {
        {EDUBBA_TEXT("a"), EDUBBA_TEXT("1"), 0},
        {EDUBBA_TEXT("b"), EDUBBA_TEXT("2"), 7},
    };
    struct edubba_error error;
    struct edubba_document *found = NULL;
    uint64_t version = 1;
    size_t index = 9;
    cr_assert_eq(edubba_put_documents(client, documents, 2, &version, &index, &error),
                 EDUBBA_ABORTED);
    cr_assert_eq(index, 1);
    cr_assert_eq(version, 0);
    cr_assert_not_null(strstr(error.text, "'b' has version 0"), "%s", error.text);
    cr_assert_eq(edubba_get_document(client, EDUBBA_TEXT("a"), &found, &error), EDUBBA_NOT_FOUND);
    documents[1].version = 0;
    cr_assert_eq(edubba_put_documents(client, documents, 2, &version, &index, &error), EDUBBA_OK,
                 "%s", error.text);
    assert_content("a", "1", version);
    assert_content("b", "2", version);
    cr_assert_eq(edubba_put_documents(client, documents, 0, NULL, NULL, &error),
                 EDUBBA_INVALID_ARGUMENT);
    cr_assert_eq(edubba_put_documents(client, documents, EDUBBA_DOCUMENTS_PER_PUT_MAX + 1, NULL,
                                      NULL, &error),
                 EDUBBA_INVALID_ARGUMENT);
}

/* More than one answer holds. */
Test(documents, are_listed_all_or_so_many)
{
    static char large[EDUBBA_DOCUMENT_BYTES_MAX];
    struct edubba_document *documents = NULL;
    struct edubba_error error;
    char name[32];
    size_t count = 0;
    memset(large, 'x', sizeof large);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "list/%02d", i);
        cr_assert_eq(edubba_put_document(client, EDUBBA_TEXT(name),
                                         edubba_bytes_of(large, sizeof large), 0, NULL, &error),
                     EDUBBA_OK, "%s", error.text);
    }
    cr_assert_eq(put("other", "1", 0, NULL), EDUBBA_OK);
    cr_assert_eq(edubba_list_documents(client, EDUBBA_TEXT("list/"), EDUBBA_NOTHING, 0, &documents,
                                       &count, &error),
                 EDUBBA_OK, "%s", error.text);
    cr_assert_eq(count, 40);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "list/%02d", i);
        cr_assert_eq(documents[i].name.size, strlen(name));
        cr_assert_eq(memcmp(documents[i].name.data, name, strlen(name)), 0);
        cr_assert_eq(documents[i].content.size, sizeof large);
    }
    edubba_free(documents);
    cr_assert_eq(edubba_list_documents(client, EDUBBA_TEXT("list/"), EDUBBA_TEXT("list/05"), 25,
                                       &documents, &count, &error),
                 EDUBBA_OK);
    cr_assert_eq(count, 25);
    cr_assert_eq(memcmp(documents[24].name.data, "list/29", 7), 0);
    edubba_free(documents);
    cr_assert_eq(edubba_list_documents(client, EDUBBA_TEXT("none"), EDUBBA_NOTHING, 0, &documents,
                                       &count, &error),
                 EDUBBA_OK);
    cr_assert_eq(count, 0);
    edubba_free(documents);
}

Test(documents, outlive_the_master)
{
    uint64_t version = 0;
    cr_assert_eq(put("kept", "1", 0, &version), EDUBBA_OK);
    cr_assert_eq(put("kept", "2", version, &version), EDUBBA_OK);
    close_master();
    open_master();
    assert_content("kept", "2", version);
    cr_assert_eq(put("kept", "3", version, NULL), EDUBBA_OK);
}

#define WRITERS 4
#define PUTS    25

/* Adds 1 to the number in the document so many times. */
static void *add(void *context)
{
    (void)context;
    for (int i = 0; i < PUTS; i++) {
        enum edubba_code code = EDUBBA_ABORTED;
        while (code == EDUBBA_ABORTED) {
            struct edubba_document *document = NULL;
            struct edubba_error error;
            char text[16];
            cr_assert_eq(edubba_get_document(client, EDUBBA_TEXT("sum"), &document, &error),
                         EDUBBA_OK);
            snprintf(text, sizeof text, "%d", atoi(document->content.data) + 1);
            code = put("sum", text, document->version, NULL);
            edubba_free(document);
        }
        cr_assert_eq(code, EDUBBA_OK);
    }
    return NULL;
}

Test(documents, writers_do_not_overwrite_each_other)
{
    pthread_t writers[WRITERS];
    struct edubba_document *document = NULL;
    cr_assert_eq(put("sum", "0", 0, NULL), EDUBBA_OK);
    for (int i = 0; i < WRITERS; i++) {
        cr_assert_eq(pthread_create(&writers[i], NULL, add, NULL), 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i], NULL);
    }
    cr_assert_eq(edubba_get_document(client, EDUBBA_TEXT("sum"), &document, NULL), EDUBBA_OK);
    cr_assert_eq(atoi(document->content.data), WRITERS * PUTS);
    edubba_free(document);
}
