/*
 * Loading a catalog from hostile records: the input is a list of (kind, number, length, value);
 * the layout byte and the checksum are made to fit, so that what is behind them is reached.  What
 * loads must hold the invariants; what does not must say so, and leak nothing.
 */
#include <stdlib.h>

#include "common/base/assert.h"
#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "master/core/catalog.h"

static const char kinds[] = {'I', 'C', 'S', 'T', 'P', 'D', 'N'};

static enum status load_one(
    struct catalog *catalog, char kind, uint64_t number, const uint8_t *body, size_t body_bytes)
{
    struct error error = {0};
    struct record_key key = record_key_of(kind, kind == 'I' || kind == 'C' ? 0 : number);
    uint8_t *value = memory_allocate(body_bytes + 5);
    uint64_t seed = checksum64(key.data, key.size_bytes, 0);

    value[0] = kind != 'P' ? RECORD_LAYOUT : 1 + number % RECORD_LAYOUT_TABLET;
    memcpy(value + 1, body, body_bytes);
    store_le32(value + 1 + body_bytes, checksum32(value, body_bytes + 1, seed));
    enum status status = catalog_load(catalog, record_key_bytes(&key),
                                      bytes_of(value, body_bytes + 5), &error);
    ASSERT(status == STATUS_OK || error.text[0] != '\0' || status == STATUS_NO_MEMORY);
    memory_free(value);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct catalog_settings settings;
    struct catalog *catalog = NULL;
    struct error error = {0};
    enum status status = STATUS_OK;
    uint64_t seen = 0; /* a coordinator holds each key once */

    catalog_settings_default(&settings);
    ASSERT(catalog_create(&settings, &catalog) == STATUS_OK);
    while (size_bytes >= 3 && status == STATUS_OK) {
        size_t kind = data[0] % sizeof kinds;
        uint64_t number = 1 + data[1] % 8;
        size_t body_bytes = data[2] > size_bytes - 3 ? size_bytes - 3 : data[2];
        uint64_t bit = UINT64_C(1) << (kind < 2 ? kind : kind * 8 + number - 1);
        if ((seen & bit) == 0) {
            status = load_one(catalog, kinds[kind], number, data + 3, body_bytes);
        }
        seen |= bit;
        data += 3 + body_bytes;
        size_bytes -= 3 + body_bytes;
    }
    if (status == STATUS_OK && catalog_load_end(catalog, 1, &error) == STATUS_OK) {
        catalog_check(catalog);
    }
    catalog_destroy(catalog);
    return 0;
}
