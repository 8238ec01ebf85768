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

/* Let reader stand before the last entry that is smaller than `first`, or before the first. */
static void skip_smaller(struct hll_sparse_reader *reader, uint32_t first)
{
    struct hll_sparse_reader before_last = *reader;
    struct hll_sparse_reader ahead = *reader;
    for (;;) {
        struct hll_sparse_reader here = ahead;
        if (!hll_sparse_read(&ahead) || ahead.encoding >= first) {
            break;
        }
        before_last = here;
    }
    *reader = before_last;
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
    if (data.size_bytes == 0) {
        return (struct hll_sparse_reader){NULL, NULL, 0};
    }
    return (struct hll_sparse_reader){data.data, data.data + data.size_bytes, 0};
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
        const uint8_t *start = base.at;
        skip_smaller(&base, other.encoding);
        size_t prefix_bytes = (size_t)(base.at - start);
        if (prefix_bytes > 0) {
            memcpy(writer.at, start, prefix_bytes);
        }
        writer = (struct writer){.at = writer.at + prefix_bytes, .last = base.encoding};
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
        write_entry(&writer, base.encoding);
        size_t rest_bytes = (size_t)(base.end - base.at);
        memcpy(writer.at, base.at, rest_bytes);
        writer.at += rest_bytes;
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
