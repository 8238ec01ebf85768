/*
 * SHA-256 (FIPS 180-4), for tests alone: large states are recorded by their digest.
 */
#ifndef TESTS_UNIT_MODEL_SHA256_H
#define TESTS_UNIT_MODEL_SHA256_H

#include <stdio.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/endian.h"

#define SHA256_TEXT_SIZE 65

static const uint32_t sha256_rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static inline uint32_t sha256_rotate(uint32_t x, unsigned count)
{
    return (x >> count) | (x << (32 - count));
}

static inline void sha256_block(uint32_t hash[8], const uint8_t block[64])
{
    uint32_t words[64];
    for (int i = 0; i < 16; i++) {
        words[i] = load_be32(block + 4 * i);
    }
    for (int i = 16; i < 64; i++) {
        uint32_t a = words[i - 15];
        uint32_t b = words[i - 2];
        words[i] = words[i - 16] + (sha256_rotate(a, 7) ^ sha256_rotate(a, 18) ^ (a >> 3)) +
                   words[i - 7] + (sha256_rotate(b, 17) ^ sha256_rotate(b, 19) ^ (b >> 10));
    }
    uint32_t h[8];
    memcpy(h, hash, sizeof h);
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = sha256_rotate(h[4], 6) ^ sha256_rotate(h[4], 11) ^ sha256_rotate(h[4], 25);
        uint32_t choice = (h[4] & h[5]) ^ (~h[4] & h[6]);
        uint32_t t1 = h[7] + s1 + choice + sha256_rounds[i] + words[i];
        uint32_t s0 = sha256_rotate(h[0], 2) ^ sha256_rotate(h[0], 13) ^ sha256_rotate(h[0], 22);
        uint32_t majority = (h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]);
        memmove(h + 1, h, 7 * sizeof *h);
        h[4] += t1;
        h[0] = t1 + s0 + majority;
    }
    for (int i = 0; i < 8; i++) {
        hash[i] += h[i];
    }
}

/* The digest in lower-case hex. */
static inline void sha256_text(struct bytes input, char ret_text[SHA256_TEXT_SIZE])
{
    uint32_t hash[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    size_t at = 0;
    for (; input.size_bytes - at >= 64; at += 64) {
        sha256_block(hash, input.data + at);
    }
    uint8_t tail[128] = {0};
    size_t rest = input.size_bytes - at;
    if (rest > 0) {
        memcpy(tail, input.data + at, rest);
    }
    tail[rest] = 0x80;
    size_t tail_size = rest < 56 ? 64 : 128;
    store_be64(tail + tail_size - 8, (uint64_t)input.size_bytes * 8);
    for (size_t i = 0; i < tail_size; i += 64) {
        sha256_block(hash, tail + i);
    }
    for (int i = 0; i < 8; i++) {
        (void)snprintf(ret_text + 8 * i, 9, "%08x", hash[i]);
    }
}

#endif /* TESTS_UNIT_MODEL_SHA256_H */
