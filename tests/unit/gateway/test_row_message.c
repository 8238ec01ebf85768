/* Random rows, cut into messages, packed, unpacked, and read by the API's rules. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "common/base/prng.h"
#include "gateway/methods/read/row_message.h"
#include "gateway/rpc/message.h"
#include "tests/support/chunk_stream.h"

#define ROWS          40
#define CELLS_MAX     12
#define VALUE_MAX     (3u << 20)
#define SCRATCH_BYTES (8u << 20)

static uint8_t *noise; /* values are pieces of it */

static void make_noise(struct prng *prng)
{
    noise = memory_allocate(VALUE_MAX);
    for (size_t i = 0; i < VALUE_MAX; i++) {
        noise[i] = (uint8_t)prng_next(prng);
    }
}

static struct edubba_bytes random_value(struct prng *prng)
{
    static const size_t sizes[] = {1, 8, 1000, ROW_MESSAGE_PIECE_BYTES + 2, VALUE_MAX};
    size_t size = prng_below(prng, sizes[prng_below(prng, prng_chance(prng, 20) ? 5 : 3)]);
    return edubba_bytes_of(noise + prng_below(prng, VALUE_MAX - size), size);
}

/* Names repeat, and a qualifier may be empty. */
static void random_cells(struct prng *prng, struct edubba_cell *cells, size_t count)
{
    static const char *const families[] = {"a", "b", "stats"};
    static const char *const qualifiers[] = {"", "q", "qq"};
    for (size_t i = 0; i < count; i++) {
        cells[i] = (struct edubba_cell){
            .family = EDUBBA_TEXT(families[prng_below(prng, 3)]),
            .qualifier = EDUBBA_TEXT(qualifiers[prng_below(prng, 3)]),
            .timestamp_us = (int64_t)prng_below(prng, 3) * 1000,
            .value = random_value(prng),
            .label = prng_chance(prng, 5) ? EDUBBA_TEXT("seen") : EDUBBA_NOTHING,
        };
    }
}

struct wire {
    struct chunk_stream stream;
    struct arena arena;
    uint8_t *packed;
    uint64_t messages;
};

/* As it arrives at a client. */
static void deliver(struct wire *wire, struct row_message *message)
{
    Google__Bigtable__V2__ReadRowsResponse response;
    ProtobufCMessage *arrived = NULL;
    row_message_respond(message, &response);
    size_t size = google__bigtable__v2__read_rows_response__get_packed_size(&response);
    cr_assert_leq(size, SCRATCH_BYTES);
    (void)google__bigtable__v2__read_rows_response__pack(&response, wire->packed);
    row_message_reset(message);
    arena_reset(&wire->arena);
    cr_assert_eq(message_decode(&google__bigtable__v2__read_rows_response__descriptor,
                                bytes_of(wire->packed, size), &wire->arena, &arrived, NULL),
                 STATUS_OK);
    cr_assert(chunk_stream_take_message(&wire->stream, (const StreamMessage *)arrived, size), "%s",
              wire->stream.trouble);
    cr_assert_leq(size, ROW_MESSAGE_BYTES_MAX + ROW_MESSAGE_BYTES_MAX / 2);
    wire->messages++;
}

static void send_row(struct wire *wire, struct row_message *message, const struct edubba_row *row)
{
    struct chunk_cursor cursor;
    bool is_whole = false;
    chunk_cursor_begin(&cursor, row);
    while (!is_whole) {
        cr_assert_eq(row_message_fill(message, &cursor, &is_whole), STATUS_OK);
        if (row_message_is_full(message)) {
            deliver(wire, message);
        }
    }
}

static bool is_same(struct edubba_bytes sent, struct bytes read)
{
    return bytes_equal(bytes_of(sent.data, sent.size), read);
}

static void compare(const struct chunk_stream *stream,
                    const struct stream_row *read,
                    const struct edubba_row *sent)
{
    cr_assert(is_same(sent->key, read->key));
    cr_assert_eq(read->cell_count, sent->cell_count);
    for (size_t i = 0; i < sent->cell_count; i++) {
        const struct stream_cell *cell = &stream->cells[read->first_cell + i];
        cr_assert(is_same(sent->cells[i].family, cell->family));
        cr_assert(is_same(sent->cells[i].qualifier, cell->qualifier));
        cr_assert(is_same(sent->cells[i].label, cell->label));
        cr_assert(is_same(sent->cells[i].value, cell->value));
        cr_assert_eq(sent->cells[i].timestamp_us, cell->timestamp_us);
    }
}

/* By messages that copy, or borrow: then rows stay, as they do here. */
static void check_random_rows(bool borrows)
{
    static struct edubba_cell cells[ROWS][CELLS_MAX];
    struct edubba_row rows[ROWS];
    char keys[ROWS][8];
    struct prng prng = prng_of_seed(5);
    uint64_t messages = 0;
    make_noise(&prng);
    for (int round = 0; round < 20; round++) {
        struct wire wire = {.packed = memory_allocate(SCRATCH_BYTES)};
        struct row_message message;
        bool is_reversed = prng_chance(&prng, 2);
        chunk_stream_init(&wire.stream, is_reversed);
        arena_init(&wire.arena, 64 * 1024, SIZE_MAX);
        row_message_init(&message, false);
        message.borrows = borrows;
        for (int i = 0; i < ROWS; i++) {
            (void)snprintf(keys[i], sizeof keys[i], "r%03d", is_reversed ? ROWS - i : i);
            rows[i] = (struct edubba_row){EDUBBA_TEXT(keys[i]), cells[i],
                                          1 + prng_below(&prng, CELLS_MAX)};
            random_cells(&prng, cells[i], rows[i].cell_count);
            send_row(&wire, &message, &rows[i]);
            if (prng_chance(&prng, 4)) { /* no row was there */
                deliver(&wire, &message);
            }
        }
        deliver(&wire, &message);
        cr_assert(chunk_stream_end(&wire.stream), "%s", wire.stream.trouble);
        cr_assert_eq(wire.stream.row_count, ROWS);
        for (int i = 0; i < ROWS; i++) {
            compare(&wire.stream, &wire.stream.rows[i], &rows[i]);
        }
        messages += wire.messages;
        row_message_deinit(&message);
        chunk_stream_deinit(&wire.stream);
        arena_deinit(&wire.arena);
        memory_free(wire.packed);
    }
    cr_assert_gt(messages, 20 * 10);
    memory_free(noise);
}

Test(row_message, a_client_reads_what_was_sent)
{
    check_random_rows(false);
}

Test(row_message, a_client_reads_what_was_borrowed)
{
    check_random_rows(true);
}

/* A megabyte that is borrowed takes no memory, but for what says where it is. */
Test(row_message, what_is_borrowed_is_not_copied)
{
    static uint8_t value[1 << 20];
    struct edubba_cell cell = {EDUBBA_TEXT("f"), EDUBBA_TEXT("q"), 1000,
                               edubba_bytes_of(value, sizeof value), EDUBBA_NOTHING};
    struct edubba_row row = {EDUBBA_TEXT("r"), &cell, 1};
    struct chunk_cursor cursor;
    struct row_message message;
    bool is_whole = false;
    row_message_init(&message, false);
    message.borrows = true;
    chunk_cursor_begin(&cursor, &row);
    cr_assert_eq(row_message_fill(&message, &cursor, &is_whole), STATUS_OK);
    cr_assert(is_whole);
    cr_assert_lt(message.arena.used_bytes, 1024);
    cr_assert_eq((const uint8_t *)message.chunks[0]->value.data, value);
    row_message_deinit(&message);
}

Test(row_message, many_small_cells_end_a_message_too)
{
    static struct edubba_cell cells[3 * ROW_MESSAGE_CHUNKS_MAX];
    const size_t count = sizeof cells / sizeof *cells;
    struct edubba_row row = {EDUBBA_TEXT("r"), cells, count};
    struct wire wire = {.packed = memory_allocate(SCRATCH_BYTES)};
    struct row_message message;
    for (size_t i = 0; i < count; i++) {
        cells[i] = (struct edubba_cell){.family = EDUBBA_TEXT("f"), .timestamp_us = (int64_t)i};
    }
    chunk_stream_init(&wire.stream, false);
    arena_init(&wire.arena, 64 * 1024, SIZE_MAX);
    row_message_init(&message, false);
    send_row(&wire, &message, &row);
    cr_assert_eq(wire.messages, 3);
    cr_assert(chunk_stream_end(&wire.stream), "%s", wire.stream.trouble);
    cr_assert_eq(wire.stream.row_count, 1);
    cr_assert_eq(wire.stream.rows[0].cell_count, count);
    row_message_deinit(&message);
    chunk_stream_deinit(&wire.stream);
    arena_deinit(&wire.arena);
    memory_free(wire.packed);
}

Test(row_message, without_memory_it_says_so_and_nothing_is_lost)
{
    struct edubba_cell cell = {.family = EDUBBA_TEXT("f"),
                               .qualifier = EDUBBA_TEXT("q"),
                               .label = EDUBBA_TEXT("l"),
                               .value = EDUBBA_TEXT("value")};
    struct edubba_row row = {EDUBBA_TEXT("r"), &cell, 1};
    enum status status = STATUS_NO_MEMORY;
    for (uint64_t after = 0; status != STATUS_OK; after++) {
        struct row_message message;
        struct chunk_cursor cursor;
        bool is_whole = false;
        cr_assert_lt(after, 10);
        row_message_init(&message, false);
        chunk_cursor_begin(&cursor, &row);
        memory_fail_arm(after, 1);
        status = row_message_fill(&message, &cursor, &is_whole);
        memory_fail_disarm();
        cr_assert(status == STATUS_NO_MEMORY || is_whole);
        row_message_deinit(&message);
    }
}

/* --- the reader itself ------------------------------------------------------------------------ */

struct planted {
    StreamChunk chunks[3];
    size_t count;
    Google__Protobuf__StringValue family;
    Google__Protobuf__BytesValue qualifier;
};

static ProtobufCBinaryData data_of(const char *text)
{
    static uint8_t bytes[4][16];
    static int at;
    uint8_t *place = bytes[at++ % 4];
    memcpy(place, text, strlen(text));
    return (ProtobufCBinaryData){strlen(text), place};
}

/* A row of one cell in one chunk, then what a test makes of it. */
static void plant(struct planted *planted)
{
    google__protobuf__string_value__init(&planted->family);
    google__protobuf__bytes_value__init(&planted->qualifier);
    for (int i = 0; i < 3; i++) {
        google__bigtable__v2__read_rows_response__cell_chunk__init(&planted->chunks[i]);
    }
    planted->count = 1;
    planted->chunks[0].row_key = data_of("r");
    planted->chunks[0].family_name = &planted->family;
    planted->chunks[0].qualifier = &planted->qualifier;
    planted->chunks[0].value = data_of("abc");
}

static void commit(StreamChunk *chunk)
{
    chunk->row_status_case =
        GOOGLE__BIGTABLE__V2__READ_ROWS_RESPONSE__CELL_CHUNK__ROW_STATUS_COMMIT_ROW;
    chunk->commit_row = 1;
}

static const char *read_planted(struct planted *planted)
{
    static struct chunk_stream stream;
    bool is_good = true;
    chunk_stream_init(&stream, false);
    for (size_t i = 0; i < planted->count && is_good; i++) {
        is_good = chunk_stream_take(&stream, &planted->chunks[i]);
    }
    is_good = is_good && chunk_stream_end(&stream);
    cr_assert_eq(is_good, stream.trouble == NULL);
    chunk_stream_deinit(&stream);
    return stream.trouble;
}

Test(chunk_stream, each_broken_rule_is_found)
{
    struct planted planted;

    plant(&planted);
    commit(&planted.chunks[0]);
    cr_assert_null(read_planted(&planted), "what is good is taken");

    plant(&planted);
    cr_assert_not_null(read_planted(&planted), "not committed");

    plant(&planted);
    commit(&planted.chunks[0]);
    planted.chunks[0].row_key = data_of("");
    cr_assert_not_null(read_planted(&planted), "no key");

    plant(&planted);
    commit(&planted.chunks[0]);
    planted.chunks[0].qualifier = NULL;
    cr_assert_not_null(read_planted(&planted), "no qualifier");

    plant(&planted);
    commit(&planted.chunks[0]);
    planted.chunks[1] = planted.chunks[0];
    planted.count = 2;
    cr_assert_not_null(read_planted(&planted), "the same key again");

    plant(&planted);
    planted.chunks[0].value_size = 10;
    commit(&planted.chunks[0]);
    cr_assert_not_null(read_planted(&planted), "committed inside a cell");

    plant(&planted);
    planted.chunks[0].value_size = 10;
    planted.chunks[1].value = data_of("def");
    commit(&planted.chunks[1]);
    planted.count = 2;
    cr_assert_not_null(read_planted(&planted), "less than was said");

    plant(&planted);
    planted.chunks[0].value_size = 6;
    planted.chunks[1].value = data_of("def");
    commit(&planted.chunks[1]);
    planted.count = 2;
    cr_assert_null(read_planted(&planted), "two good pieces");

    planted.chunks[1].timestamp_micros = 1000;
    cr_assert_not_null(read_planted(&planted), "a second piece that says which cell it is of");
}
