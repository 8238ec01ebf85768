/*
 * Builds the sketch of a vector record's inputs, of any precision, by hll_merge and in place.
 */
#ifndef TESTS_UNIT_MODEL_HLL_BUILDER_H
#define TESTS_UNIT_MODEL_HLL_BUILDER_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/aggregate/hll_hash.h"
#include "common/aggregate/hll_merge.h"
#include "common/aggregate/hll_state.h"
#include "common/base/endian.h"

/* A sketch being built: adds gather in `recent`, which is merged into `state` when it has grown,
 * as long as state is sparse; so a hundred thousand adds need no hundred thousand copies. */
struct builder {
    struct hll_precision precision;
    enum hll_value_type value_type;
    struct buffer state;
    struct buffer recent;
    struct buffer scratch;
    size_t recent_count;
};

#define RECENT_COUNT_MAX 256

static inline void merge_into(struct builder *builder, struct buffer *to, struct bytes operand)
{
    buffer_reset(&builder->scratch);
    cr_assert_eq(hll_merge(buffer_bytes(to), operand, builder->value_type, &builder->scratch),
                 STATUS_OK);
    struct buffer merged = builder->scratch;
    builder->scratch = *to;
    *to = merged;
}

static inline void append_empty(const struct builder *builder, struct buffer *out)
{
    struct hll_state empty = {
        .value_type = builder->value_type,
        .precision = builder->precision,
    };
    uint8_t head[HLL_STATE_HEAD_SIZE_MAX_BYTES];
    buffer_append(out, head, hll_state_write_head(&empty, head));
}

static inline struct builder builder_of(struct hll_precision precision,
                                        enum hll_value_type value_type)
{
    struct builder builder = {.precision = precision, .value_type = value_type};
    append_empty(&builder, &builder.state);
    append_empty(&builder, &builder.recent);
    return builder;
}

static inline void builder_flush(struct builder *builder)
{
    if (builder->recent_count > 0) {
        merge_into(builder, &builder->state, buffer_bytes(&builder->recent));
        buffer_reset(&builder->recent);
        append_empty(builder, &builder->recent);
        builder->recent_count = 0;
    }
}

static inline void builder_deinit(struct builder *builder)
{
    buffer_deinit(&builder->state);
    buffer_deinit(&builder->recent);
    buffer_deinit(&builder->scratch);
}

static inline void add_operand(struct builder *builder, struct bytes operand)
{
    if (hll_merge_in_place(builder->state.data, builder->state.size_bytes, operand,
                           builder->value_type)) {
        return;
    }
    merge_into(builder, &builder->recent, operand);
    if (++builder->recent_count == RECENT_COUNT_MAX) {
        builder_flush(builder);
    }
}

static inline void add_hash(struct builder *builder, uint64_t hash)
{
    struct hll_precision precision = builder->precision;
    if (precision.sparse == 0) {
        precision.sparse = precision.normal + 5; /* any: the merge forgets it */
    }
    uint8_t single[HLL_STATE_SINGLE_SIZE_MAX_BYTES];
    size_t size = hll_state_write_single(precision, builder->value_type, hash, single);
    add_operand(builder, bytes_of(single, size));
}

static inline void add_bytes(struct builder *builder, struct bytes input)
{
    add_hash(builder, hll_hash_bytes(input));
}

static inline void add_int64_range(struct builder *builder, int64_t first, int64_t last)
{
    for (int64_t i = first; i < last; i++) {
        add_hash(builder, hll_hash_int64(i));
    }
    if (first <= last) {
        add_hash(builder, hll_hash_int64(last)); /* last may be the largest there is */
    }
}

static inline void add_words(struct builder *builder, const char *words)
{
    while (*words != '}') {
        size_t length = strcspn(words, ",}");
        add_bytes(builder, bytes_of(words, length));
        words += length + (words[length] == ',' ? 1 : 0);
    }
}

/* Add what a record's inputs field describes. */
static inline void add_inputs(struct builder *builder, const char *inputs)
{
    long long first = 0;
    long long last = 0;
    if (sscanf(inputs, "i64[%lld..%lld]", &first, &last) == 2) {
        add_int64_range(builder, first, last);
    } else if (sscanf(inputs, "i32[%lld..%lld]", &first, &last) == 2) {
        for (long long i = first; i <= last; i++) {
            uint8_t data[4];
            store_le32(data, (uint32_t)i);
            add_bytes(builder, bytes_of(data, sizeof data));
        }
    } else if (sscanf(inputs, "be64bytes[%lld..%lld]", &first, &last) == 2) {
        for (long long i = first; i <= last; i++) {
            uint8_t data[8];
            store_be64(data, (uint64_t)i);
            add_bytes(builder, bytes_of(data, sizeof data));
        }
    } else if (sscanf(inputs, "utf8 user-%lld..user-%lld", &first, &last) == 2) {
        for (long long i = first; i <= last; i++) {
            char text[32];
            (void)snprintf(text, sizeof text, "user-%lld", i);
            add_bytes(builder, bytes_of_text(text));
        }
    } else if (strcmp(inputs, "i64{MIN,MAX,0,-1}") == 0) {
        add_int64_range(builder, INT64_MIN, INT64_MIN);
        add_int64_range(builder, INT64_MAX, INT64_MAX);
        add_int64_range(builder, 0, 0);
        add_int64_range(builder, -1, -1);
    } else if (strcmp(inputs, "bytes{a..z one byte each}") == 0) {
        for (char letter = 'a'; letter <= 'z'; letter++) {
            add_bytes(builder, bytes_of(&letter, 1));
        }
    } else if (strncmp(inputs, "bytes{", 6) == 0) {
        add_words(builder, inputs + 6);
    } else {
        cr_assert_fail("inputs %s", inputs);
    }
}

#endif /* TESTS_UNIT_MODEL_HLL_BUILDER_H */
