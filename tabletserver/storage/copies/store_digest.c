#include "tabletserver/storage/copies/store_digest.h"

#include "common/aggregate/aggregate_form.h"
#include "common/base/checksum.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "tabletserver/storage/store/store_internal.h"

/* Two chains of 64 bits, begun apart. */
#define SEED_FIRST  UINT64_C(0x6564756262612d31)
#define SEED_SECOND UINT64_C(0x6564756262612d32)

/* In front of each row and each cell, so that no two contents give the same bytes. */
#define HEAD_BYTES 32

struct store_digesting {
    struct store_schema *schema;
    struct store_read *read;
    struct buffer form; /* of the cell that is being added, where it is not the value itself */
};

/* --- life --------------------------------------------------------------------------------------- */

uint64_t store_digest_schema_version(struct store_tablet *tablet)
{
    struct store_schema *schema = store_schema_find(tablet->store, tablet->descriptor.table);
    uint64_t version = schema == NULL ? 0 : schema->table.version;
    if (schema != NULL) {
        store_schema_unref(schema);
    }
    return version;
}

int64_t store_digest_time_us(struct store_tablet *tablet, int64_t now_us)
{
    struct store_schema *schema = store_schema_find(tablet->store, tablet->descriptor.table);
    if (schema == NULL) {
        return now_us;
    }
    (void)pthread_mutex_lock(&tablet->mutex);
    int64_t time_us = horizon_time_us(&tablet->horizons, &schema->table, now_us);
    (void)pthread_mutex_unlock(&tablet->mutex);
    store_schema_unref(schema);
    return time_us;
}

enum status store_digest_begin(struct store_tablet *tablet,
                               uint64_t schema_version,
                               int64_t now_us,
                               struct store_digesting **ret_digesting)
{
    struct store_digesting *digesting = memory_allocate_zeroed(1, sizeof *digesting);
    if (digesting == NULL) {
        return STATUS_NO_MEMORY;
    }
    digesting->schema = store_schema_find(tablet->store, tablet->descriptor.table);
    enum status status = STATUS_FAILED_PRECONDITION;
    if (digesting->schema != NULL && digesting->schema->table.version == schema_version) {
        status = store_read_begin(tablet, &digesting->schema->table, STORE_READ_COMMITTED, now_us,
                                  &digesting->read);
    }
    if (status != STATUS_OK) {
        store_digest_end(digesting);
        return status;
    }
    *ret_digesting = digesting;
    return STATUS_OK;
}

void store_digest_end(struct store_digesting *digesting)
{
    if (digesting == NULL) {
        return;
    }
    if (digesting->read != NULL) {
        store_read_end(digesting->read);
    }
    if (digesting->schema != NULL) {
        store_schema_unref(digesting->schema);
    }
    buffer_deinit(&digesting->form);
    memory_free(digesting);
}

/* --- the digest --------------------------------------------------------------------------------- */

static void add(struct store_digest *digest, struct bytes bytes)
{
    digest->halves[0] = checksum64(bytes.data, bytes.size_bytes, digest->halves[0]);
    digest->halves[1] = checksum64(bytes.data, bytes.size_bytes, digest->halves[1]);
    digest->size_bytes += bytes.size_bytes;
}

static void add_row(struct store_digest *digest, struct bytes row)
{
    uint8_t head[HEAD_BYTES] = {0};
    store_be64(head, row.size_bytes);
    add(digest, bytes_of(head, sizeof head));
    add(digest, row);
    digest->rows++;
}

static void add_cell(struct store_digest *digest, const struct cell *cell, struct bytes value)
{
    uint8_t head[HEAD_BYTES];
    store_be64(head, cell->family); /* above 0: no row's head */
    store_be64(head + 8, cell->qualifier.size_bytes);
    store_be64(head + 16, (uint64_t)cell->timestamp_us);
    store_be64(head + 24, value.size_bytes);
    head[0] = 1;
    add(digest, bytes_of(head, sizeof head));
    add(digest, cell->qualifier);
    add(digest, value);
}

/* The order in which a copy folded what was written to a cell is its own. */
static enum status form_of(struct store_digesting *digesting,
                           const struct cell *cell,
                           struct bytes *ret_form)
{
    const struct family *family = table_family_by_number(&digesting->schema->table, cell->family);
    enum aggregate_kind kind = family == NULL ? AGGREGATE_NONE : family->aggregate;
    return aggregate_form(kind, cell->value, &digesting->form, ret_form);
}

/* A row without a visible cell is none. */
static enum status digest_row(struct store_digesting *digesting,
                              struct bytes row,
                              struct store_digest *digest)
{
    struct cell_source source = row_reader_source(store_read_reader(digesting->read));
    struct cell cell;
    bool found = false;
    bool any = false;
    enum status status = source.rewind(source.context, 0, BYTES_EMPTY);
    while (status == STATUS_OK) {
        status = source.next(source.context, CELL_NEXT, &cell, &found);
        if (status != STATUS_OK || !found) {
            return status;
        }
        if (!any) {
            any = true;
            add_row(digest, row);
        }
        struct bytes form = BYTES_EMPTY;
        status = form_of(digesting, &cell, &form);
        if (status == STATUS_OK) {
            add_cell(digest, &cell, form);
        }
    }
    return status;
}

static enum status keep_row(struct buffer *out, struct bytes row)
{
    buffer_reset(out);
    buffer_append_bytes(out, row);
    return out->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

/* From where `at` stands, which moves along.  The range ends with a row that is shown: of one that is not,
 * another copy may have nothing any more. */
static enum status digest_rows(struct store_digesting *digesting,
                               struct buffer *at,
                               uint64_t bytes_max,
                               struct store_digest *digest)
{
    struct row_reader *reader = store_read_reader(digesting->read);
    enum row_seek seek = at->size_bytes == 0 ? ROW_AT_OR_AFTER : ROW_AFTER;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && digest->size_bytes < bytes_max) {
        struct bytes row = BYTES_EMPTY;
        bool found = false;
        uint64_t rows_before = digest->rows;
        status = row_reader_seek(reader, seek, buffer_bytes(at), &row, &found);
        if (status != STATUS_OK || !found) {
            digest->is_end = status == STATUS_OK;
            return status;
        }
        seek = ROW_AFTER;
        status = keep_row(at, row);
        if (status == STATUS_OK) {
            status = digest_row(digesting, buffer_bytes(at), digest);
        }
        if (status == STATUS_OK && digest->rows > rows_before) {
            status = keep_row(&digest->last, buffer_bytes(at));
        }
    }
    return status;
}

enum status store_digest_run(struct store_digesting *digesting,
                             struct bytes after,
                             uint64_t bytes_max,
                             struct store_digest *ret_digest)
{
    struct buffer at = BUFFER_INIT;
    *ret_digest = (struct store_digest){.halves = {SEED_FIRST, SEED_SECOND}, .last = BUFFER_INIT};
    enum status status = keep_row(&at, after);
    if (status == STATUS_OK) {
        status = keep_row(&ret_digest->last, after);
    }
    if (status == STATUS_OK) {
        status = digest_rows(digesting, &at, bytes_max, ret_digest);
    }
    buffer_deinit(&at);
    return status;
}
