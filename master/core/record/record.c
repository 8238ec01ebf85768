#include "master/core/record/record.h"

#include "common/base/assert.h"
#include "common/base/endian.h"
#include "common/base/limits.h"
#include "master/core/record/record_parts.h"

#define SERVER_DRAINING   1 /* flags of a server's record */
#define SERVER_REPLICATES 2

/* --- keys ------------------------------------------------------------------------------------- */

static bool kind_has_number(char kind)
{
    return kind == RECORD_KIND_SERVER || kind == RECORD_KIND_TABLE || kind == RECORD_KIND_TABLET ||
           kind == RECORD_KIND_DROPPED || kind == RECORD_KIND_DROPPED_MORE ||
           kind == RECORD_KIND_DOCUMENT;
}

struct record_key record_key_of(char kind, uint64_t number)
{
    struct record_key key = {.data = {(uint8_t)kind}, .size_bytes = 1};
    ASSERT(kind_has_number(kind) == (number != 0));
    if (number != 0) {
        store_be64(key.data + 1, number);
        key.size_bytes = RECORD_KEY_BYTES_MAX;
    }
    return key;
}

enum status record_key_decode(struct bytes key,
                              char *ret_kind,
                              uint64_t *ret_number,
                              struct error *ret_error)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    char kind = key.size_bytes > 0 ? (char)key.data[0] : '\0';
    bool single = kind == RECORD_KIND_IDENTITY || kind == RECORD_KIND_COUNTERS;
    uint64_t number = 0;

    if (kind_has_number(kind) && key.size_bytes == RECORD_KEY_BYTES_MAX) {
        number = load_be64(key.data + 1);
    }
    if (!(single && key.size_bytes == 1) && number == 0) {
        return error_set(ret_error, STATUS_CORRUPT, "the catalog holds an unknown key '%s'",
                         bytes_printable(key, text));
    }
    *ret_kind = kind;
    *ret_number = number;
    return STATUS_OK;
}

/* --- values ----------------------------------------------------------------------------------- */

static enum status open_value(char kind,
                              uint64_t number,
                              struct bytes value,
                              struct record_reader *ret_reader,
                              struct error *ret_error)
{
    return record_open_layout(kind, number, value, RECORD_LAYOUT, ret_reader, ret_error);
}

static enum status close_value(char kind,
                               uint64_t number,
                               const struct record_reader *reader,
                               struct error *ret_error)
{
    return reader->bad ? record_corrupt(kind, number, "its fields do not fit", ret_error)
                       : STATUS_OK;
}

void identity_record_encode(const struct identity_record *record, struct buffer *out)
{
    size_t start = out->size_bytes;
    buffer_append_u8(out, RECORD_LAYOUT);
    record_put_number(out, record->format);
    record_put_number(out, record->cluster);
    record_put_number(out, record->generation);
    record_put_number(out, record->predecessor);
    record_put_checksum(out, start, RECORD_KIND_IDENTITY, 0);
}

void counters_record_encode(const struct counters_record *record, struct buffer *out)
{
    size_t start = out->size_bytes;
    buffer_append_u8(out, RECORD_LAYOUT);
    record_put_number(out, record->table_next);
    record_put_number(out, record->tablet_next);
    record_put_number(out, record->version);
    record_put_number(out, record->tablet_first);
    record_put_checksum(out, start, RECORD_KIND_COUNTERS, 0);
}

void server_record_encode(const struct server_record *record, struct buffer *out)
{
    size_t start = out->size_bytes;
    buffer_append_u8(out, RECORD_LAYOUT);
    record_put_number(out, record->changed_version);
    record_put_number(out, record->incarnation);
    record_put_bytes(out, record->address);
    record_put_bytes(out, record->http_address);
    record_put_bytes(out, record->zone);
    record_put_number(out, record->store_count);
    for (size_t i = 0; i < record->store_count; i++) {
        record_put_number(out, record->stores[i].number);
        record_put_bytes(out, record->stores[i].folder);
    }
    record_put_number(out, (record->draining ? SERVER_DRAINING : 0) |
                               (record->replicates ? SERVER_REPLICATES : 0));
    record_put_checksum(out, start, RECORD_KIND_SERVER, record->number);
}

void table_record_encode(const struct table_record *record, struct buffer *out)
{
    size_t start = out->size_bytes;
    buffer_append_u8(out, RECORD_LAYOUT);
    record_put_number(out, record->changed_version);
    table_encode(&record->table, out);
    record_put_checksum(out, start, RECORD_KIND_TABLE, record->table.number);
}

static void put_dropped(const struct dropped_record *record, struct buffer *out)
{
    ASSERT(record->tablet_range_count <= RECORD_DROPPED_RANGES_MAX);
    record_put_number(out, record->changed_version);
    record_put_number(out, record->tablet_range_count);
    for (size_t i = 0; i < record->tablet_range_count; i++) {
        record_put_number(out, record->tablets[i].first);
        record_put_number(out, record->tablets[i].count);
    }
}

void dropped_record_encode(const struct dropped_record *record, struct buffer *out)
{
    size_t start = out->size_bytes;
    buffer_append_u8(out, RECORD_LAYOUT);
    put_dropped(record, out);
    record_put_checksum(out, start, RECORD_KIND_DROPPED, record->number);
}

void dropped_more_record_encode(const struct dropped_record *record, struct buffer *out)
{
    size_t start = out->size_bytes;
    buffer_append_u8(out, RECORD_LAYOUT);
    record_put_number(out, record->number);
    put_dropped(record, out);
    record_put_checksum(out, start, RECORD_KIND_DROPPED_MORE, record->tablets[0].first);
}

void document_record_encode(const struct document_record *record, struct buffer *out)
{
    size_t start = out->size_bytes;
    buffer_append_u8(out, RECORD_LAYOUT);
    record_put_number(out, record->changed_version);
    record_put_bytes(out, record->name);
    record_put_bytes(out, record->content);
    record_put_checksum(out, start, RECORD_KIND_DOCUMENT, record->number);
}

enum status identity_record_decode(struct bytes value,
                                   struct identity_record *ret_record,
                                   struct error *ret_error)
{
    struct record_reader reader;
    struct identity_record record = {0};
    enum status status = open_value(RECORD_KIND_IDENTITY, 0, value, &reader, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    record.format = record_take_number32(&reader);
    record.cluster = record_take_number(&reader);
    record.generation = record_take_number(&reader);
    record.predecessor = reader.at < reader.end ? record_take_number(&reader) : 0; /* as of old */
    status = close_value(RECORD_KIND_IDENTITY, 0, &reader, ret_error);
    if (status == STATUS_OK) {
        *ret_record = record;
    }
    return status;
}

enum status counters_record_decode(struct bytes value,
                                   struct counters_record *ret_record,
                                   struct error *ret_error)
{
    struct record_reader reader;
    struct counters_record record = {0};
    enum status status = open_value(RECORD_KIND_COUNTERS, 0, value, &reader, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    record.table_next = record_take_number(&reader);
    record.tablet_next = record_take_number(&reader);
    record.version = record_take_number(&reader);
    /* An older writer did not keep catalogs apart. */
    record.tablet_first = reader.at < reader.end ? record_take_number(&reader) : record.tablet_next;
    status = close_value(RECORD_KIND_COUNTERS, 0, &reader, ret_error);
    if (status == STATUS_OK && record.tablet_first > record.tablet_next) {
        status = record_corrupt(RECORD_KIND_COUNTERS, 0, "its first tablet was never given out",
                                ret_error);
    }
    if (status == STATUS_OK) {
        *ret_record = record;
    }
    return status;
}

bool server_record_lists(const struct server_record *record, uint64_t store)
{
    for (size_t i = 0; i < record->store_count; i++) {
        if (record->stores[i].number == store) {
            return true;
        }
    }
    return false;
}

/* The stores of a server record; NULL in *ret_stores only when there are none. */
static enum status take_stores(struct record_reader *reader,
                               struct arena *arena,
                               struct server_record *record)
{
    uint64_t count = record_take_number(reader);
    if (count == 0 || count > RECORD_STORES_MAX) {
        reader->bad = reader->bad || count != 0;
        return STATUS_OK;
    }
    struct store_record *stores = arena_allocate_array(arena, (size_t)count, sizeof *stores);
    if (stores == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        stores[i].number = record_take_number(reader);
        stores[i].folder = record_take_bytes(reader);
        reader->bad = reader->bad || stores[i].number == 0;
    }
    record->stores = stores;
    record->store_count = (size_t)count;
    return STATUS_OK;
}

enum status server_record_decode(uint64_t number,
                                 struct bytes value,
                                 struct arena *arena,
                                 struct server_record *ret_record,
                                 struct error *ret_error)
{
    struct record_reader reader;
    struct server_record record = {.number = number};
    enum status status = open_value(RECORD_KIND_SERVER, number, value, &reader, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    record.changed_version = record_take_number(&reader);
    record.incarnation = record_take_number(&reader);
    record.address = record_take_bytes(&reader);
    record.http_address = record_take_bytes(&reader);
    record.zone = record_take_bytes(&reader);
    status = take_stores(&reader, arena, &record);
    if (status != STATUS_OK) {
        return error_set(ret_error, status, "no memory to read a server's record");
    }
    /* an older writer did not know it */
    uint64_t flags = reader.at < reader.end ? record_take_number(&reader) : 0;
    record.draining = (flags & SERVER_DRAINING) != 0;
    record.replicates = (flags & SERVER_REPLICATES) != 0;
    status = close_value(RECORD_KIND_SERVER, number, &reader, ret_error);
    if (status == STATUS_OK) {
        *ret_record = record;
    }
    return status;
}

enum status table_record_decode(uint64_t number,
                                struct bytes value,
                                struct arena *arena,
                                struct table_record *ret_record,
                                struct error *ret_error)
{
    struct record_reader reader;
    struct table_record record = {0};
    enum status status = open_value(RECORD_KIND_TABLE, number, value, &reader, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    record.changed_version = record_take_number(&reader);
    status = close_value(RECORD_KIND_TABLE, number, &reader, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct bytes schema = {reader.at, (size_t)(reader.end - reader.at)};
    status = table_decode(schema, arena, &record.table, ret_error);
    if (status == STATUS_NO_MEMORY) {
        return status;
    }
    struct error reason = {.status = STATUS_OK};
    if (status == STATUS_OK && table_check(&record.table, &reason) != STATUS_OK) {
        return record_corrupt(RECORD_KIND_TABLE, number, reason.text, ret_error);
    }
    if (status != STATUS_OK || record.table.number != number) {
        return record_corrupt(RECORD_KIND_TABLE, number, "its schema cannot be read", ret_error);
    }
    /* of before there were copies */
    record.table.replicas = record.table.replicas == 0 ? 1 : record.table.replicas;
    record.table.min_in_sync = record.table.min_in_sync == 0 ? 1 : record.table.min_in_sync;
    *ret_record = record;
    return STATUS_OK;
}

/* Two bytes at least each: the count is checked before anything is allocated. */
static enum status take_ranges(struct record_reader *reader,
                               struct arena *arena,
                               struct dropped_record *record)
{
    uint64_t count = record_take_number(reader);
    if (reader->bad || count > (uint64_t)(reader->end - reader->at) / 2) {
        reader->bad = true;
        return STATUS_OK;
    }
    struct number_range *ranges = arena_allocate_array(arena, (size_t)count + 1, sizeof *ranges);
    if (ranges == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        ranges[i].first = record_take_number(reader);
        ranges[i].count = record_take_number(reader);
    }
    record->tablets = ranges;
    record->tablet_range_count = (size_t)count;
    return STATUS_OK;
}

static enum status take_dropped(struct record_reader *reader,
                                struct arena *arena,
                                struct dropped_record *record,
                                struct error *ret_error)
{
    record->changed_version = record_take_number(reader);
    enum status status = take_ranges(reader, arena, record);
    return status == STATUS_OK
               ? STATUS_OK
               : error_set(ret_error, status, "no memory to read a dropped table's record");
}

enum status dropped_record_decode(uint64_t number,
                                  struct bytes value,
                                  struct arena *arena,
                                  struct dropped_record *ret_record,
                                  struct error *ret_error)
{
    struct record_reader reader;
    struct dropped_record record = {.number = number};
    enum status status = open_value(RECORD_KIND_DROPPED, number, value, &reader, ret_error);

    if (status == STATUS_OK) {
        status = take_dropped(&reader, arena, &record, ret_error);
    }
    if (status == STATUS_OK) {
        status = close_value(RECORD_KIND_DROPPED, number, &reader, ret_error);
    }
    if (status == STATUS_OK) {
        *ret_record = record;
    }
    return status;
}

enum status dropped_more_record_decode(uint64_t tablet,
                                       struct bytes value,
                                       struct arena *arena,
                                       struct dropped_record *ret_record,
                                       struct error *ret_error)
{
    struct record_reader reader;
    struct dropped_record record = {0};
    enum status status = open_value(RECORD_KIND_DROPPED_MORE, tablet, value, &reader, ret_error);

    if (status == STATUS_OK) {
        record.number = record_take_number(&reader);
        status = take_dropped(&reader, arena, &record, ret_error);
    }
    if (status == STATUS_OK) {
        status = close_value(RECORD_KIND_DROPPED_MORE, tablet, &reader, ret_error);
    }
    if (status == STATUS_OK) {
        *ret_record = record;
    }
    return status;
}

static bool document_record_has_meaning(const struct document_record *record)
{
    return record->changed_version >= record->number && record->name.size_bytes > 0 &&
           record->name.size_bytes <= LIMIT_DOCUMENT_NAME_BYTES && record->content.size_bytes > 0 &&
           record->content.size_bytes <= LIMIT_DOCUMENT_BYTES;
}

enum status document_record_decode(uint64_t number,
                                   struct bytes value,
                                   struct document_record *ret_record,
                                   struct error *ret_error)
{
    struct record_reader reader;
    struct document_record record = {.number = number};
    enum status status = open_value(RECORD_KIND_DOCUMENT, number, value, &reader, ret_error);

    if (status != STATUS_OK) {
        return status;
    }
    record.changed_version = record_take_number(&reader);
    record.name = record_take_bytes(&reader);
    record.content = record_take_bytes(&reader);
    status = close_value(RECORD_KIND_DOCUMENT, number, &reader, ret_error);
    if (status == STATUS_OK && !document_record_has_meaning(&record)) {
        status = record_corrupt(RECORD_KIND_DOCUMENT, number, "a field has no meaning", ret_error);
    }
    if (status == STATUS_OK) {
        *ret_record = record;
    }
    return status;
}
