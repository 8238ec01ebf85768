/*
 * Images of exactly-once records.  What loads must give an image that loads into an empty table and
 * gives itself again; loading a second time changes nothing; what does not load leaves the table as
 * it was, and says why.  Then requests are asked about, so that what was loaded is walked over.
 */
#include <stdlib.h>

#include "common/base/assert.h"
#include "tabletserver/storage/record/dedupe.h"

#define CLIENT       1
#define NOW_CLOCK    UINT64_C(1700000000000000)
#define SEQUENCE_MAX 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct dedupe_limits limits = {16, 64, 4096};

static struct dedupe *make(void)
{
    struct dedupe *dedupe = NULL;
    ASSERT(dedupe_create(&limits, &dedupe) == STATUS_OK);
    return dedupe;
}

static void check_same(const struct dedupe *a, const struct dedupe *b)
{
    struct buffer first = BUFFER_INIT;
    struct buffer second = BUFFER_INIT;
    dedupe_encode(a, &first);
    dedupe_encode(b, &second);
    ASSERT(bytes_equal(buffer_bytes(&first), buffer_bytes(&second)));
    buffer_deinit(&first);
    buffer_deinit(&second);
}

static void check_image(struct dedupe *dedupe)
{
    struct dedupe *copy = make();
    struct buffer image = BUFFER_INIT;
    struct error error = {0};
    dedupe_encode(dedupe, &image);
    ASSERT(dedupe_load(copy, buffer_bytes(&image), &error) == STATUS_OK);
    ASSERT(dedupe_record_count(copy) == dedupe_record_count(dedupe));
    ASSERT(dedupe_client_count(copy) == dedupe_client_count(dedupe));
    check_same(dedupe, copy);
    ASSERT(dedupe_load(copy, buffer_bytes(&image), &error) == STATUS_OK);
    ASSERT(dedupe_record_count(copy) == dedupe_record_count(dedupe));
    buffer_deinit(&image);
    dedupe_destroy(copy);
}

/* Ask, and record what is new, as the loop does. */
static void use(struct dedupe *dedupe)
{
    for (uint64_t i = 1; i <= SEQUENCE_MAX; i++) {
        struct request_id request = {CLIENT, i, i > 4 ? i - 4 : 1, (int64_t)NOW_CLOCK};
        struct bytes result = BYTES_EMPTY;
        uint64_t sequence = 0;
        if (dedupe_check(dedupe, &request, NOW_CLOCK, &result, &sequence) == DEDUPE_NEW &&
            dedupe_reserve(dedupe, 1, 2) == STATUS_OK) {
            ASSERT(dedupe_record(dedupe, &request, i, NOW_CLOCK, bytes_of_text("ok")) == STATUS_OK);
        }
    }
    dedupe_commit(dedupe, SEQUENCE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dedupe *dedupe = make();
    struct error error = {0};
    if (dedupe_load(dedupe, bytes_of(data, size), &error) != STATUS_OK) {
        ASSERT(error.text[0] != '\0');
        ASSERT(dedupe_record_count(dedupe) == 0 && dedupe_client_count(dedupe) == 0);
    } else {
        check_image(dedupe);
    }
    use(dedupe);
    check_image(dedupe);
    dedupe_destroy(dedupe);
    return 0;
}
