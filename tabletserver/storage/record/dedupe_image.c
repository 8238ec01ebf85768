/*
 * The image of a tablet's exactly-once records, as kept with a flush and given to children.
 *
 *     1 byte     version (1)
 *     varint     number of clients; then each, longest not heard of first:
 *         8 bytes    client, little-endian
 *         varint     first_unfinished
 *         varint     keep_until_us, zigzag
 *     varint     number of requests on record; then each, oldest first:
 *         varint     index of its client above
 *         varint     sequence
 *         varint     keep_until_us, zigzag
 *         varint     size of the result; then the result
 */
#include "common/base/assert.h"
#include "common/base/byte_reader.h"
#include "common/base/endian.h"
#include "common/base/memory.h"
#include "tabletserver/storage/record/dedupe_table.h"

#define IMAGE_VERSION         1
#define CLIENT_SIZE_BYTES_MIN 10
#define RECORD_SIZE_BYTES_MIN 4

/* The requests of a record that go into an image: bits. */
static uint64_t requests_for_image(const struct dedupe *dedupe, const struct dedupe_record *record)
{
    return record->log_sequence <= dedupe->committed_sequence ? record->requests : 0;
}

static uint64_t encode_clients(const struct dedupe *dedupe, struct buffer *out)
{
    uint32_t index = 0;
    byte_append_varint(out, dedupe->client_count);
    for (struct dedupe_client *client = dedupe->oldest_client; client != NULL;
         client = client->newer) {
        uint8_t id[8];
        store_le64(id, client->id);
        buffer_append(out, id, sizeof id);
        byte_append_varint(out, client->first_unfinished);
        byte_append_zigzag(out, client->keep_until_us);
        client->index = index++;
    }
    uint64_t committed_count = 0;
    for (const struct dedupe_record *record = dedupe->oldest_record; record != NULL;
         record = record->newer) {
        committed_count += (uint64_t)__builtin_popcountll(requests_for_image(dedupe, record));
    }
    return committed_count;
}

void dedupe_encode(const struct dedupe *dedupe, struct buffer *out)
{
    buffer_append_u8(out, IMAGE_VERSION);
    byte_append_varint(out, encode_clients(dedupe, out));
    for (const struct dedupe_record *record = dedupe->oldest_record; record != NULL;
         record = record->newer) {
        uint64_t requests = requests_for_image(dedupe, record);
        for (; requests != 0; requests &= requests - 1) {
            byte_append_varint(out, record->client->index);
            byte_append_varint(out,
                               dedupe_record_span(record) + (uint64_t)__builtin_ctzll(requests));
            byte_append_zigzag(out, record->keep_until_us);
            byte_append_bytes(out, bytes_of(record->result, record->result_size));
        }
    }
}

struct image_client {
    uint64_t id;
    uint64_t first_unfinished;
    int64_t keep_until_us;
};

struct image_record {
    uint64_t client_index;
    uint64_t sequence;
    int64_t keep_until_us;
    struct bytes result;
};

/* A count that the rest of the image could hold. */
static uint64_t read_count(struct byte_reader *reader, size_t item_size_bytes_min)
{
    uint64_t count = byte_reader_varint(reader);
    if (count > byte_reader_left(reader) / item_size_bytes_min) {
        reader->failed = true;
        return 0;
    }
    return count;
}

static struct image_client read_client(struct byte_reader *reader)
{
    struct image_client client = {0};
    client.id = byte_reader_le64(reader);
    client.first_unfinished = byte_reader_varint(reader);
    client.keep_until_us = byte_reader_zigzag(reader);
    if (client.id == 0) {
        reader->failed = true;
    }
    return client;
}

static struct image_record read_record(struct byte_reader *reader, uint64_t client_count)
{
    struct image_record record = {0};
    record.client_index = byte_reader_varint(reader);
    record.sequence = byte_reader_varint(reader);
    record.keep_until_us = byte_reader_zigzag(reader);
    record.result = byte_reader_bytes_max(reader, UINT32_MAX);
    if (record.client_index >= client_count) {
        reader->failed = true;
    }
    return record;
}

/* What an image holds, found by reading all of it. */
struct image_size {
    uint64_t client_count;
    uint64_t record_count;
    size_t result_bytes;
};

static enum status check_image(struct bytes image,
                               struct image_size *ret_size,
                               struct error *ret_error)
{
    struct byte_reader reader = byte_reader_of(image);
    if (image.size_bytes == 0) {
        return error_set(ret_error, STATUS_CORRUPT, "the image of exactly-once records is empty");
    }
    uint8_t version = byte_reader_u8(&reader);
    if (version != IMAGE_VERSION) {
        return error_set(ret_error, STATUS_VERSION,
                         "the image of exactly-once records has version %u, not %d", version,
                         IMAGE_VERSION);
    }
    struct image_size size = {0};
    size.client_count = read_count(&reader, CLIENT_SIZE_BYTES_MIN);
    for (uint64_t i = 0; i < size.client_count && byte_reader_ok(&reader); i++) {
        (void)read_client(&reader);
    }
    size.record_count = read_count(&reader, RECORD_SIZE_BYTES_MIN);
    for (uint64_t i = 0; i < size.record_count && byte_reader_ok(&reader); i++) {
        size.result_bytes += read_record(&reader, size.client_count).result.size_bytes;
    }
    if (!byte_reader_ok(&reader) || reader.at != reader.end) {
        return error_set(ret_error, STATUS_CORRUPT,
                         "the image of exactly-once records makes no sense at byte %zu of %zu",
                         (size_t)(reader.at - image.data), image.size_bytes);
    }
    *ret_size = size;
    return STATUS_OK;
}

static struct dedupe_client *take_client(struct dedupe *dedupe,
                                         const struct image_client *image,
                                         struct dedupe_client **at)
{
    struct dedupe_client *client = dedupe_table_client(dedupe, image->id);
    if (client == NULL) {
        client = dedupe_table_add_client(dedupe, image->id);
        ASSERT(client != NULL); /* there is emergency memory for all of them */
        client->keep_until_us = image->keep_until_us;
        dedupe_table_place_client(dedupe, client, at);
    } else if (image->keep_until_us > client->keep_until_us) {
        client->keep_until_us = image->keep_until_us;
    }
    dedupe_table_trim(dedupe, client, image->first_unfinished);
    return client;
}

static void take_record(struct dedupe *dedupe,
                        struct dedupe_client *client,
                        const struct image_record *image,
                        struct dedupe_record **at)
{
    if (image->sequence < client->first_unfinished) {
        return;
    }
    struct dedupe_record *record = dedupe_table_record(dedupe, client, image->sequence);
    if (record != NULL) {
        /* It was committed, or it would not be in an image; and with it all of its log record. */
        record->log_sequence = 0;
        return;
    }
    record = dedupe_table_add_request(dedupe, client, image->sequence, image->result, 0,
                                      image->keep_until_us);
    ASSERT(record != NULL);
    if (dedupe_record_requests(record) == 1) { /* a new one */
        dedupe_table_place_record(dedupe, record, at);
    }
}

enum status dedupe_load(struct dedupe *dedupe, struct bytes image, struct error *ret_error)
{
    struct image_size size = {0};
    enum status status = check_image(image, &size, ret_error);
    if (status != STATUS_OK) {
        return status;
    }
    struct dedupe_client **clients = memory_allocate_zeroed(size.client_count, sizeof *clients);
    size_t room = size.client_count * dedupe_table_record_size_bytes(0) +
                  size.record_count * (dedupe_table_record_size_bytes(0) + 8) + size.result_bytes;
    if (clients == NULL || dedupe_table_reserve(dedupe, room) != STATUS_OK) {
        memory_free(clients);
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for exactly-once records");
    }
    struct byte_reader reader = byte_reader_of(image);
    struct dedupe_client *client_at = NULL;
    struct dedupe_record *record_at = NULL;
    (void)byte_reader_u8(&reader); /* the version: check_image has looked at it */
    (void)byte_reader_varint(&reader);
    for (uint64_t i = 0; i < size.client_count; i++) {
        struct image_client client = read_client(&reader);
        clients[i] = take_client(dedupe, &client, &client_at);
    }
    (void)byte_reader_varint(&reader);
    for (uint64_t i = 0; i < size.record_count; i++) {
        struct image_record record = read_record(&reader, size.client_count);
        take_record(dedupe, clients[record.client_index], &record, &record_at);
    }
    memory_free(clients);
    dedupe_table_release(dedupe);
    ASSERT(byte_reader_ok(&reader));
    return STATUS_OK;
}
