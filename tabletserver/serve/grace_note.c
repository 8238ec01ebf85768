#include "tabletserver/serve/grace_note.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/assert.h"
#include "common/base/buffer.h"
#include "common/base/checksum.h"
#include "common/io/logger.h"
#include "tabletserver/replica/lease.h"
#include "tabletserver/serve/settings.h"

#define NAME           "GRACE"
#define TEXT_BYTES_MAX 128
#define DECIMAL        10
#define NS_PER_US      1000
#define NS_PER_MS      1000000

/* "grace NANOSECONDS\nchecksum HEX\n", the checksum being that of the first line. */
static int render(int64_t grace_ns, char out[TEXT_BYTES_MAX])
{
    int line = snprintf(out, TEXT_BYTES_MAX, "grace %" PRId64 "\n", grace_ns);
    uint64_t checksum = checksum64(out, (size_t)line, 0);
    return line + snprintf(out + line, TEXT_BYTES_MAX - (size_t)line, "checksum %016" PRIx64 "\n",
                           checksum);
}

/* What is written for the number that is there, is it what is there? */
static bool parse(const struct buffer *text, int64_t *ret_grace_ns)
{
    static const char head[] = "grace ";
    char as_written[TEXT_BYTES_MAX];
    const char *there = (const char *)text->data;
    if (strncmp(there, head, sizeof head - 1) != 0) {
        return false;
    }
    int64_t grace_ns = strtoll(there + sizeof head - 1, NULL, DECIMAL);
    if (grace_ns <= 0) {
        return false;
    }
    size_t size_bytes = (size_t)render(grace_ns, as_written) + 1;
    *ret_grace_ns = grace_ns;
    return text->size_bytes == size_bytes && memcmp(as_written, there, size_bytes) == 0;
}

static int64_t read_former_ns(const char *path)
{
    struct error error = {.status = STATUS_OK};
    struct buffer text = BUFFER_INIT;
    int64_t former_ns = 0;
    enum status status = file_read_whole(path, TEXT_BYTES_MAX, &text, &error);
    buffer_append_u8(&text, '\0');
    if (status == STATUS_NOT_FOUND) {
        former_ns = LEASE_EARLIER_GRACE_NS;
    } else if (status != STATUS_OK || text.failed || !parse(&text, &former_ns)) {
        former_ns = SERVER_GRACE_US_MAX * NS_PER_US;
        LOG_EVENT(LOG_LEVEL_ERROR, "grace_not_read", LOG_TEXT("path", path),
                  LOG_TEXT("error", status != STATUS_OK ? error.text : "not as it was written"),
                  LOG_I64("taken_for_ms", former_ns / NS_PER_MS));
    }
    buffer_deinit(&text);
    return former_ns;
}

static enum status write_note(struct grace_note *note, int64_t grace_ns, struct error *ret_error)
{
    char text[TEXT_BYTES_MAX];
    int length = render(grace_ns, text);
    enum status status = file_write_atomic(note->path, text, (size_t)length, ret_error);
    if (status == STATUS_OK) {
        note->noted_ns = grace_ns;
    }
    return status;
}

enum status grace_note_open(const char *folder,
                            int64_t set_ns,
                            int64_t now_ns,
                            struct grace_note *ret_note,
                            struct error *ret_error)
{
    ASSERT(set_ns > 0);
    *ret_note = (struct grace_note){.set_ns = set_ns};
    enum status status = file_path_join(ret_note->path, folder, NAME, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    ret_note->former_ns = read_former_ns(ret_note->path);
    ret_note->noted_ns = ret_note->former_ns;
    ret_note->outlived_ns = now_ns + ret_note->former_ns;
    if (set_ns > ret_note->noted_ns && write_note(ret_note, set_ns, ret_error) != STATUS_OK) {
        return error_prefix(ret_error,
                            "grace cannot be raised before that is noted (until then: grace = "
                            "\"%" PRId64 " ms\", or less)",
                            ret_note->noted_ns / NS_PER_MS);
    }
    return STATUS_OK;
}

void grace_note_settle(struct grace_note *note, int64_t now_ns)
{
    struct error error = {.status = STATUS_OK};
    if (note->noted_ns == note->set_ns || now_ns < note->outlived_ns) {
        return;
    }
    if (write_note(note, note->set_ns, &error) != STATUS_OK && !note->complained) {
        note->complained = true;
        LOG_EVENT(LOG_LEVEL_WARN, "grace_not_noted", LOG_TEXT("error", error.text));
    }
}
