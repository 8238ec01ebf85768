#include <criterion/criterion.h>

#include "common/base/memory.h"
#include "common/wire/writer.h"
#include "message_random_data.h"
#include "message_random_servers.h"
#include "tests/support/message_codecs.h"

struct codec {
    const char *name;
    void (*encode_any)(struct random_source *source, struct buffer *out);
    message_recoder recode;
};

static const struct codec codecs[] = {
#define CODEC_ENTRY(name) {#name, any_##name, recode_##name},
    MESSAGE_LIST(CODEC_ENTRY) CODEC_ENTRY(operations_request) CODEC_ENTRY(operations_response)
        CODEC_ENTRY(scan_request) CODEC_ENTRY(scan_response) CODEC_ENTRY(hello)
            CODEC_ENTRY(hello_ack){"table", any_table_message, recode_table},
};
#define CODEC_COUNT (sizeof codecs / sizeof codecs[0])

#define ARENA_LIMIT_BYTES (4 * 1024 * 1024)

struct bench {
    struct arena random_arena;
    struct arena arena;
    struct random_source source;
};

static void bench_init(struct bench *bench, uint64_t seed)
{
    arena_init(&bench->random_arena, 65536, SIZE_MAX);
    arena_init(&bench->arena, 65536, ARENA_LIMIT_BYTES);
    bench->source = (struct random_source){prng_of_seed(seed), &bench->random_arena};
}

static void bench_reset(struct bench *bench)
{
    arena_reset(&bench->random_arena);
    arena_reset(&bench->arena);
}

static void bench_deinit(struct bench *bench)
{
    arena_deinit(&bench->random_arena);
    arena_deinit(&bench->arena);
}

Test(message, every_kind_survives_the_wire)
{
    struct bench bench;
    struct buffer first = BUFFER_INIT;
    struct buffer second = BUFFER_INIT;
    bench_init(&bench, 1);
    for (size_t c = 0; c < CODEC_COUNT; c++) {
        for (int round = 0; round < 300; round++) {
            buffer_reset(&first);
            buffer_reset(&second);
            codecs[c].encode_any(&bench.source, &first);
            enum status status = codecs[c].recode(buffer_bytes(&first), &bench.arena, &second);
            cr_assert_eq((int)status, STATUS_OK, "%s round %d: %s", codecs[c].name, round,
                         status_name(status));
            cr_assert(bytes_equal(buffer_bytes(&first), buffer_bytes(&second)), "%s round %d",
                      codecs[c].name, round);
            bench_reset(&bench);
        }
    }
    buffer_deinit(&first);
    buffer_deinit(&second);
    bench_deinit(&bench);
}

Test(message, a_cut_message_is_malformed_at_every_byte)
{
    struct bench bench;
    struct buffer whole = BUFFER_INIT;
    struct buffer out = BUFFER_INIT;
    bench_init(&bench, 2);
    for (size_t c = 0; c < CODEC_COUNT; c++) {
        for (int round = 0; round < 10; round++) {
            buffer_reset(&whole);
            codecs[c].encode_any(&bench.source, &whole);
            for (size_t cut = 0; cut < whole.size_bytes && cut < 3000; cut++) {
                /* Its own allocation, so that a sanitizer sees every step too far. */
                uint8_t *exact = memory_allocate(cut);
                memcpy(exact, whole.data, cut);
                enum status status = codecs[c].recode(bytes_of(exact, cut), &bench.arena, &out);
                cr_assert_eq((int)status, STATUS_MALFORMED, "%s cut at %zu", codecs[c].name, cut);
                memory_free(exact);
                arena_reset(&bench.arena);
            }
            bench_reset(&bench);
        }
    }
    buffer_deinit(&whole);
    buffer_deinit(&out);
    bench_deinit(&bench);
}

Test(message, damage_is_refused_or_read_but_never_more)
{
    struct bench bench;
    struct buffer whole = BUFFER_INIT;
    struct buffer out = BUFFER_INIT;
    bench_init(&bench, 3);
    for (size_t c = 0; c < CODEC_COUNT; c++) {
        for (int round = 0; round < 400; round++) {
            buffer_reset(&whole);
            codecs[c].encode_any(&bench.source, &whole);
            for (uint64_t i = 1 + any_below(&bench.source, 4); i > 0; i--) {
                whole.data[any_below(&bench.source, whole.size_bytes)] = (uint8_t)prng_next(
                    &bench.source.prng);
            }
            buffer_reset(&out);
            enum status status = codecs[c].recode(buffer_bytes(&whole), &bench.arena, &out);
            cr_assert(status == STATUS_OK || status == STATUS_MALFORMED ||
                          status == STATUS_NO_MEMORY,
                      "%s: %s", codecs[c].name, status_name(status));
            bench_reset(&bench);
        }
    }
    buffer_deinit(&whole);
    buffer_deinit(&out);
    bench_deinit(&bench);
}

Test(message, failing_memory_is_a_status)
{
    struct bench bench;
    struct buffer whole = BUFFER_INIT;
    struct buffer out = BUFFER_INIT;
    bench_init(&bench, 4);
    for (size_t c = 0; c < CODEC_COUNT; c++) {
        buffer_reset(&whole);
        codecs[c].encode_any(&bench.source, &whole);
        bool survived = false;
        for (uint64_t after = 0; !survived; after++) {
            struct arena arena;
            arena_init(&arena, 64, SIZE_MAX);
            buffer_deinit(&out);
            memory_fail_arm(after, 1);
            enum status status = codecs[c].recode(buffer_bytes(&whole), &arena, &out);
            memory_fail_disarm();
            survived = status == STATUS_OK && !out.failed;
            cr_assert(status == STATUS_OK || status == STATUS_NO_MEMORY, "%s", codecs[c].name);
            arena_deinit(&arena);
        }
        bench_reset(&bench);
    }
    buffer_deinit(&whole);
    buffer_deinit(&out);
    bench_deinit(&bench);
}
