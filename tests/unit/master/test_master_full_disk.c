/* A master whose disk is full says so, with what to do, for as long as it is. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tests/support/blocking_client.h"
#include "tests/support/own_master.h"
#include "tests/support/skip.h"
#include "tests/support/told_metrics.h"
#include "tests/support/wait_for.h"

static char filler[300];

static void fill_disk(void)
{
    static const char block[4096];
    (void)snprintf(filler, sizeof filler, "%s/filler", folder);
    int file = open(filler, O_CREAT | O_WRONLY, 0600);
    cr_assert_geq(file, 0);
    while (write(file, block, sizeof block) > 0) {
    }
    (void)close(file);
}

/* Larger ones than the file has room for. */
static enum status put(struct blocking_client *client, unsigned number)
{
    static uint8_t content[60000];
    char name[32];
    struct buffer body = BUFFER_INIT;
    struct bytes answer;
    (void)snprintf(name, sizeof name, "document-%u", number);
    const struct document document = {.name = bytes_of_text(name),
                                      .content = bytes_of(content, sizeof content)};
    const struct put_documents_request request = {&document, 1};
    put_documents_request_encode(&request, &body);
    return blocking_call(client, METHOD_PUT_DOCUMENTS, &body, 30000, &answer, NULL);
}

static bool status_has(struct blocking_client *client, const char *text)
{
    static char json[65536];
    struct buffer body = BUFFER_INIT;
    struct bytes answer;
    cr_assert_eq(blocking_call(client, METHOD_STATUS, &body, 30000, &answer, NULL), STATUS_OK);
    cr_assert_lt(answer.size_bytes, sizeof json);
    memcpy(json, answer.data, answer.size_bytes);
    json[answer.size_bytes] = '\0';
    return strstr(json + 3, text) != NULL; /* behind its length, which may have zeros */
}

static bool metric_is(const char *name, int64_t value)
{
    return told_metric(name) == value;
}

Test(master_full_disk, it_says_so_until_there_is_room, .timeout = 300)
{
    struct blocking_client client;
    own_master_prepare();
    if (mount("tmpfs", folder, "tmpfs", 0, "size=2m") != 0) {
        own_master_forget();
        test_skip("mounting a tmpfs is not permitted here: %s", strerror(errno));
    }
    own_master_open();
    cr_assert_eq(blocking_open(&client, address), STATUS_OK);
    cr_assert_eq(put(&client, 0), STATUS_OK);
    cr_assert(status_has(&client, "\"alarms\":[]}"));
    fill_disk();
    enum status status = STATUS_OK;
    for (unsigned i = 1; i < 20 && status == STATUS_OK; i++) {
        status = put(&client, i);
    }
    cr_assert_eq(status, STATUS_RESOURCE_EXHAUSTED, "%s", status_name(status));
    cr_assert(status_has(&client, "\"code\":\"catalog_not_written\""));
    cr_assert(status_has(&client, folder), "what to make room on");
    WAIT_FOR(metric_is("edubba_master_catalog_not_written", 1));
    cr_assert_eq(unlink(filler), 0);
    WAIT_FOR(status_has(&client, "\"alarms\":[]}")); /* though nothing is changed any more */
    WAIT_FOR(metric_is("edubba_master_catalog_not_written", 0));
    cr_assert_eq(put(&client, 30), STATUS_OK);
    blocking_close(&client);
    own_master_close();
    cr_assert_eq(umount(folder), 0);
    own_master_forget();
}
