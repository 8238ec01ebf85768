#include "common/aggregate/hll_sparse.h"

#include <string.h>

#include "common/aggregate/hll_encoding.h"
#include "common/base/assert.h"
#include "common/base/endian.h"
#include "common/base/memory.h"

#define ENCODING_MAX         UINT32_C(0x7fffffff)
#define ENTRY_SIZE_MAX_BYTES 5 /* the varint of a 31-bit number */

/* A list being written; `last` is the entry last written, 0 before the first. */
struct writer {
    uint8_t *at;
    uint32_t last;
};

static void write_entry(struct writer *writer, uint32_t encoding)
{
    ASSERT(encoding > writer->last);
    writer->at += varint_store(writer->at, encoding - writer->last);
    writer->last = encoding;
}

/* Two entries of one sparse index: they differ in rho alone, and the larger one says more.
 * Only flagged ones can meet so, as an index is either flagged or not. */
static bool is_same_index(uint32_t flag, uint32_t smaller, uint32_t larger)
{
    return smaller >= flag && smaller >> 6 == larger >> 6;
}

/* The sum of the low 7 bits of those bytes of word whose high bit is set in `which`. */
static uint64_t sum_of_bytes(uint64_t word, uint64_t which)
{
    const uint64_t even_bytes = UINT64_C(0x00ff00ff00ff00ff);
    uint64_t chosen = word & (which - (which >> 7));
    uint64_t pairs = (chosen & even_bytes) + (chosen >> 8 & even_bytes);
    return pairs * UINT64_C(0x0001000100010001) >> 48;
}

/* Add up, without looking at each, the entries that lie wholly in the next eight bytes: every byte
 * counts 7 bits, times 128 for each byte of the same varint before it.  Reading entry by entry
 * costs a mispredicted branch each, and a fold walks through half a list of ten thousand.
 * False, and nothing moves, when fewer bytes are left or an entry has five bytes or more. */
static bool read_word(struct hll_sparse_reader *reader)
{
    const uint64_t high_bits = UINT64_C(0x8080808080808080);
    if (reader->end - reader->at < 8) {
        return false;
    }
    uint64_t word = load_le64(reader->at);
    uint64_t last_bytes = ~word & high_bits; /* the last byte of each varint */
    if (last_bytes == 0) {
        return false;
    }
    unsigned unused_bits = (unsigned)__builtin_clzll(last_bytes);
    word = word << unused_bits >> unused_bits;
    uint64_t second = (word & high_bits) << 8; /* second or later byte of its varint, and so on */
    uint64_t third = second & second << 8;
    uint64_t fourth = second & third << 8;
    uint64_t fifth = second & fourth << 8;
    if (fifth != 0) {
        return false;
    }
    uint64_t sum = sum_of_bytes(word, high_bits & ~second);
    sum += sum_of_bytes(word, second & ~third) << 7;
    if (third != 0) {
        sum += sum_of_bytes(word, third & ~fourth) << 14;
        sum += sum_of_bytes(word, fourth) << 21;
    }
    if (sum > ENCODING_MAX - reader->encoding) {
        return false;
    }
    reader->at += 8 - unused_bits / 8;
    reader->encoding += (uint32_t)sum;
    return true;
}

/* Let reader stand before the last entry that is smaller than `first`, or before the first. */
static void skip_smaller(struct hll_sparse_reader *reader, uint32_t first)
{
    /* By words: stop a word early, as the last smaller entry may end a word. */
    struct hll_sparse_reader before_word = *reader;
    struct hll_sparse_reader ahead = *reader;
    struct hll_sparse_reader here = ahead;
    while ((read_word(&ahead) || hll_sparse_read(&ahead)) && ahead.encoding < first) {
        before_word = here;
        here = ahead;
    }
    /* By entries. */
    struct hll_sparse_reader before_last = before_word;
    ahead = before_word;
    here = ahead;
    while (hll_sparse_read(&ahead) && ahead.encoding < first) {
        before_last = here;
        here = ahead;
    }
    *reader = before_last;
}

/* Copy, undecoded, the entries of base that stand before all of other's, but for the last of
 * them: it may share its index with other's first. */
static void copy_prefix(struct writer *writer,
                        struct hll_sparse_reader *base,
                        const struct hll_sparse_reader *other)
{
    const uint8_t *start = base->at;
    skip_smaller(base, other->encoding);
    size_t prefix_bytes = (size_t)(base->at - start);
    if (prefix_bytes > 0) {
        memcpy(writer->at, start, prefix_bytes);
        writer->at += prefix_bytes;
        writer->last = base->encoding;
    }
}

/* Copy, undecoded but for the first, the entry that base stands on and all that follow. */
static void copy_suffix(struct writer *writer, const struct hll_sparse_reader *base)
{
    write_entry(writer, base->encoding);
    size_t suffix_bytes = (size_t)(base->end - base->at);
    memcpy(writer->at, base->at, suffix_bytes);
    writer->at += suffix_bytes;
}

/* Heap sort: in place, and no worse on what a client chose. */
static void sift_down(uint32_t *values, size_t root, size_t count)
{
    uint32_t sifted = values[root];
    for (size_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        if (child + 1 < count && values[child + 1] > values[child]) {
            child++;
        }
        if (values[child] <= sifted) {
            break;
        }
        values[root] = values[child];
        root = child;
    }
    values[root] = sifted;
}

static void sort_ascending(uint32_t *values, size_t count)
{
    for (size_t root = count / 2; root > 0; root--) {
        sift_down(values, root - 1, count);
    }
    for (size_t end = count; end > 1; end--) {
        uint32_t largest = values[0];
        values[0] = values[end - 1];
        values[end - 1] = largest;
        sift_down(values, 0, end - 1);
    }
}

/* The list of ascending values, of which several may share an index. */
static struct hll_sparse_list write_sorted(const uint32_t *values,
                                           size_t count,
                                           uint32_t flag,
                                           uint8_t *data)
{
    struct writer writer = {.at = data};
    uint32_t written = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_last = i + 1 == count;
        if (is_last ||
            (values[i] != values[i + 1] && !is_same_index(flag, values[i], values[i + 1]))) {
            write_entry(&writer, values[i]);
            written++;
        }
    }
    return (struct hll_sparse_list){bytes_of(data, (size_t)(writer.at - data)), written};
}

/* Every entry at the lower precision, ascending.  False for what is no list. */
static bool downgrade_values(struct bytes data,
                             struct hll_precision from,
                             struct hll_precision to,
                             uint32_t *ret_values,
                             size_t *ret_count)
{
    struct hll_sparse_reader reader = hll_sparse_reader_of(data);
    size_t count = 0;
    while (hll_sparse_read(&reader)) {
        if (!hll_encoding_is_valid(from, reader.encoding)) {
            return false;
        }
        ret_values[count++] = hll_encoding_downgrade(reader.encoding, from, to);
    }
    if (reader.at != reader.end) {
        return false;
    }
    sort_ascending(ret_values, count);
    *ret_count = count;
    return true;
}

struct hll_sparse_reader hll_sparse_reader_of(struct bytes data)
{
    static const uint8_t nothing; /* there is no arithmetic on NULL */
    const uint8_t *start = data.size_bytes == 0 ? &nothing : data.data;
    return (struct hll_sparse_reader){start, start + data.size_bytes, 0};
}

bool hll_sparse_read(struct hll_sparse_reader *reader)
{
    uint64_t difference = 0;
    for (size_t i = 0; i < ENTRY_SIZE_MAX_BYTES && reader->at + i < reader->end; i++) {
        uint8_t byte = reader->at[i];
        difference |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte >= 0x80) {
            continue;
        }
        /* A zero here is a difference of zero, or a varint that could be shorter. */
        if (byte == 0 || difference > ENCODING_MAX - reader->encoding) {
            return false;
        }
        reader->at += i + 1;
        reader->encoding += (uint32_t)difference;
        return true;
    }
    return false;
}

size_t hll_sparse_size_limit_bytes(uint32_t precision)
{
    ASSERT(precision >= 2);
    return (size_t)3 << (precision - 2);
}

enum status hll_sparse_check(struct hll_sparse_list list,
                             struct hll_precision precision,
                             struct error *ret_error)
{
    struct hll_sparse_reader reader = hll_sparse_reader_of(list.data);
    uint32_t flag = hll_encoding_flag(precision);
    uint32_t previous = 0;
    uint32_t count = 0;
    while (hll_sparse_read(&reader)) {
        if (!hll_encoding_is_valid(precision, reader.encoding)) {
            return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                             "sketch: sparse entry %u is %u, which precision %u/%u cannot give",
                             count, reader.encoding, precision.normal, precision.sparse);
        }
        if (is_same_index(flag, previous, reader.encoding)) {
            return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                             "sketch: sparse entries %u and %u share an index", count - 1, count);
        }
        previous = reader.encoding;
        count++;
    }
    if (reader.at != reader.end) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "sketch: sparse entry %u is no larger than the one before it, over 31 "
                         "bits, longer than it need be, or cut",
                         count);
    }
    if (count != list.count) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "sketch: sparse_size is %u, but there are %u sparse entries", list.count,
                         count);
    }
    return STATUS_OK;
}

/* Room: an entry's difference in the union is never larger than in its own list, and where an
 * entry is dropped its own bytes make up for what the next one's difference grows by.
 *
 * Most often the shorter list is one entry, just added.  So what lies before the first entry of
 * the shorter list and what lies after its last are copied as they are. */
bool hll_sparse_unite(struct hll_precision precision,
                      struct hll_sparse_list a,
                      struct hll_sparse_list b,
                      uint8_t *ret_data,
                      struct hll_sparse_list *ret_list)
{
    bool a_is_longer = a.data.size_bytes >= b.data.size_bytes;
    struct hll_sparse_reader base = hll_sparse_reader_of(a_is_longer ? a.data : b.data);
    struct hll_sparse_reader other = hll_sparse_reader_of(a_is_longer ? b.data : a.data);
    uint32_t flag = hll_encoding_flag(precision);
    uint32_t dropped = 0;
    uint32_t pending = 0; /* taken, not written: the next may share its index and replace it */
    struct writer writer = {.at = ret_data};

    bool other_holds = hll_sparse_read(&other);
    if (other_holds) {
        copy_prefix(&writer, &base, &other);
    }
    bool base_holds = hll_sparse_read(&base);
    while (other_holds) {
        uint32_t taken = other.encoding;
        if (base_holds && base.encoding <= other.encoding) {
            taken = base.encoding;
            bool is_in_both = base.encoding == other.encoding;
            dropped += is_in_both ? 1 : 0;
            base_holds = hll_sparse_read(&base);
            other_holds = is_in_both ? hll_sparse_read(&other) : true;
        } else {
            other_holds = hll_sparse_read(&other);
        }
        if (is_same_index(flag, pending, taken)) {
            dropped++;
        } else if (pending != 0) {
            write_entry(&writer, pending);
        }
        pending = taken;
    }
    if (other.at != other.end || (!base_holds && base.at != base.end)) {
        return false;
    }
    if (base_holds && is_same_index(flag, pending, base.encoding)) {
        dropped++;
    } else if (pending != 0) {
        write_entry(&writer, pending);
    }
    if (base_holds) {
        copy_suffix(&writer, &base);
    }
    *ret_list = (struct hll_sparse_list){
        .data = bytes_of(ret_data, (size_t)(writer.at - ret_data)),
        .count = a.count + b.count - dropped,
    };
    return true;
}

enum status hll_sparse_downgrade(struct hll_sparse_list list,
                                 struct hll_precision from,
                                 struct hll_precision to,
                                 struct buffer *out,
                                 struct hll_sparse_list *ret_list)
{
    size_t count_max = list.data.size_bytes; /* an entry is a byte at least */
    uint32_t *values = memory_allocate(count_max * sizeof *values);
    uint8_t *data = buffer_reserve(out, count_max * ENTRY_SIZE_MAX_BYTES);
    size_t count = 0;
    enum status status = STATUS_OK;
    if (values == NULL || data == NULL) {
        status = STATUS_NO_MEMORY;
    } else if (!downgrade_values(list.data, from, to, values, &count)) {
        status = STATUS_INVALID_ARGUMENT;
    } else {
        *ret_list = write_sorted(values, count, hll_encoding_flag(to), data);
        buffer_advance(out, ret_list->data.size_bytes);
    }
    memory_free(values);
    return status;
}
