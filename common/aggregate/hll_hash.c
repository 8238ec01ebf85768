#include "common/aggregate/hll_hash.h"

#include "common/base/endian.h"

#define K0 UINT64_C(0xa5b85c5e198ed849)
#define K1 UINT64_C(0x8d58ac26afe12e47)
#define K2 UINT64_C(0xc47b6e9e3a970ed3)
#define K3 UINT64_C(0xc6a4a7935bd1e995)

/* Up to here each length class has a way of its own. */
#define SHORT_SIZE_MAX_BYTES  32
#define MEDIUM_SIZE_MAX_BYTES 64
#define BLOCK_SIZE_BYTES      64

/* 128 bits of running state. */
struct pair {
    uint64_t first;
    uint64_t second;
};

static uint64_t rotate_right(uint64_t x, unsigned count)
{
    return (x >> count) | (x << (64 - count));
}

/* Bring the high bits down, which multiplications only carry up. */
static uint64_t fold_high(uint64_t x)
{
    return x ^ (x >> 47);
}

static uint64_t combine(uint64_t high, uint64_t low)
{
    uint64_t a = fold_high((low ^ high) * K3);
    uint64_t b = fold_high((high ^ a) * K3);
    return b * K3;
}

/* As Murmur: a word at a time, then the tail as one short little-endian number. */
static uint64_t core_of_short(const uint8_t *data, size_t size_bytes)
{
    uint64_t x = (K0 ^ K1 ^ K2) ^ (size_bytes * K3);
    size_t at = 0;
    for (; at + 8 <= size_bytes; at += 8) {
        x = (x ^ (fold_high(load_le64(data + at) * K3) * K3)) * K3;
    }
    if (at < size_bytes) {
        uint64_t tail = 0;
        for (size_t i = 0; at + i < size_bytes; i++) {
            tail |= (uint64_t)data[at + i] << (8 * i);
        }
        x = (x ^ tail) * K3;
    }
    return fold_high(fold_high(x) * K3);
}

/* Four words, of which two are given with what they start from. */
static struct pair mix_four(uint64_t a, uint64_t z, uint64_t u, uint64_t v)
{
    uint64_t b = rotate_right(a + z, 52);
    uint64_t c = rotate_right(a, 37);
    a += u;
    c += rotate_right(a, 7);
    a += v;
    return (struct pair){a + z, b + rotate_right(a, 31) + c};
}

static uint64_t core_of_medium(const uint8_t *data, size_t size_bytes)
{
    const uint8_t *end = data + size_bytes;
    struct pair v = mix_four(load_le64(data) + (size_bytes + load_le64(end - 16)) * K0,
                             load_le64(data + 24), load_le64(data + 8), load_le64(data + 16));
    struct pair w = mix_four(load_le64(data + 16) + load_le64(end - 32), load_le64(end - 8),
                             load_le64(end - 24), load_le64(end - 16));
    uint64_t r = fold_high((v.first + w.second) * K2 + (w.first + v.second) * K0);
    return fold_high(r * K0 + v.second) * K2;
}

/* Half a block: 32 bytes into a pair. */
static struct pair mix_half(const uint8_t *data, uint64_t a, uint64_t b)
{
    a += load_le64(data);
    b = rotate_right(b + a + load_le64(data + 24), 51);
    uint64_t c = a;
    a += load_le64(data + 8);
    a += load_le64(data + 16);
    b += rotate_right(a, 23);
    return (struct pair){a + load_le64(data + 24), b + c};
}

static uint64_t core_of_long(const uint8_t *data, size_t size_bytes)
{
    const uint8_t *end = data + size_bytes;
    uint64_t x = load_le64(data);
    uint64_t y = load_le64(end - 16) ^ K1;
    uint64_t z = load_le64(end - 56) ^ K0;
    struct pair v = mix_half(end - 64, size_bytes, y);
    struct pair w = mix_half(end - 32, size_bytes * K1, K0);
    z += fold_high(v.second) * K1;
    x = rotate_right(z + x, 39) * K1;
    y = rotate_right(y, 33) * K1;

    const uint8_t *blocks_end = data + (size_bytes - 1) / BLOCK_SIZE_BYTES * BLOCK_SIZE_BYTES;
    for (const uint8_t *block = data; block < blocks_end; block += BLOCK_SIZE_BYTES) {
        x = rotate_right(x + y + v.first + load_le64(block + 16), 37) * K1;
        y = rotate_right(y + v.second + load_le64(block + 48), 42) * K1;
        x ^= w.second;
        y ^= v.first;
        z = rotate_right(z ^ w.first, 33);
        v = mix_half(block, v.second * K1, x + w.first);
        w = mix_half(block + 32, z + w.second, y);
        uint64_t swapped = z;
        z = x;
        x = swapped;
    }
    return combine(combine(v.first, w.first) + fold_high(y) * K1 + z,
                   combine(v.second, w.second) + x);
}

static uint64_t core(const uint8_t *data, size_t size_bytes)
{
    if (size_bytes <= SHORT_SIZE_MAX_BYTES) {
        return core_of_short(data, size_bytes);
    }
    return size_bytes <= MEDIUM_SIZE_MAX_BYTES ? core_of_medium(data, size_bytes)
                                               : core_of_long(data, size_bytes);
}

uint64_t hll_hash_bytes(struct bytes input)
{
    size_t size_bytes = input.size_bytes;
    /* The limits differ, 8 and 9: for an int64 u is the value itself and v is K0. */
    uint64_t u = size_bytes >= 8 ? load_le64(input.data) : K0;
    uint64_t v = size_bytes >= 9 ? load_le64(input.data + size_bytes - 8) : K0;
    uint64_t hash = combine(core(input.data, size_bytes) + v, u);
    /* 0 and 1 are taken: they become the two largest but one and the largest. */
    return hash <= 1 ? hash - 2 : hash;
}

uint64_t hll_hash_int64(int64_t input)
{
    uint8_t data[8];
    store_le64(data, (uint64_t)input);
    return hll_hash_bytes(bytes_of(data, sizeof data));
}
