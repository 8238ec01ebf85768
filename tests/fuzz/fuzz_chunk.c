/*
 * The chunk decoder: any bytes, with their own checksum and with one that fits; what decodes must
 * come out the same when it is encoded and decoded again.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/assert.h"
#include "tabletserver/storage/base/base_cells.h"

#define SEED 7

static struct base_cells first;
static struct base_cells second;
static struct chunk_reader reader;

static void check_again(void)
{
    struct buffer out = BUFFER_INIT;
    chunk_encode(first.cells, first.count, first.stamps[0], SEED, &out);
    base_cells_reset(&second);
    ASSERT(base_cells_decode(&second, &reader, buffer_bytes(&out), SEED) == STATUS_OK);
    ASSERT(first.count == second.count);
    for (size_t i = 0; i < first.count; i++) {
        const struct chunk_cell *a = &first.cells[i];
        const struct chunk_cell *b = &second.cells[i];
        ASSERT(a->family == b->family && a->timestamp_us == b->timestamp_us);
        ASSERT(a->aggregate == b->aggregate && a->large == b->large);
        ASSERT(bytes_equal(a->qualifier, b->qualifier) && bytes_equal(a->value, b->value));
        ASSERT(stamp_compare(first.stamps[i], second.stamps[i]) == 0);
    }
    buffer_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    static bool ready;
    if (!ready) {
        base_cells_init(&first);
        base_cells_init(&second);
        chunk_reader_init(&reader);
        ready = true;
    }
    base_cells_reset(&first);
    (void)base_cells_decode(&first, &reader, bytes_of(data, size_bytes), SEED);

    struct buffer copy = BUFFER_INIT;
    buffer_append(&copy, data, size_bytes);
    if (size_bytes > 14) {
        chunk_seal(&copy, 0, SEED);
        base_cells_reset(&first);
        if (base_cells_decode(&first, &reader, buffer_bytes(&copy), SEED) == STATUS_OK &&
            first.count > 0) {
            check_again();
        }
    }
    buffer_deinit(&copy);
    return 0;
}
