/*
 * YCSB's zipfian choosers: item k of n with a chance in proportion to 1 / (k + 1)^theta.
 *
 * After Gray et al., "Quickly generating billion-record synthetic databases" (SIGMOD 1994), as
 * YCSB's ZipfianGenerator has it.  The sum zeta(n) = 1 + 1/2^theta + ... + 1/n^theta, which
 * YCSB keeps adding to, is computed here by Euler and Maclaurin's formula: exact to 12 digits, at
 * no cost for any n.
 */
#ifndef CLIENT_LOAD_CORE_ZIPFIAN_H
#define CLIENT_LOAD_CORE_ZIPFIAN_H

#include <stdint.h>

struct load_zipfian {
    uint64_t items;
    double theta;
    double head; /* zeta of the first LOAD_ZETA_EXACT, added up */
    double half; /* 1 / 2^theta */
    double zeta; /* of items */
    double alpha;
    double eta;
};

#define LOAD_ZETA_EXACT 1000

/* theta in (0, 1); items at least 1. */
void load_zipfian_init(struct load_zipfian *zipfian, uint64_t items, double theta);

/* The same theta, other items; cheap from LOAD_ZETA_EXACT items on. */
void load_zipfian_resize(struct load_zipfian *zipfian, uint64_t items);

/* The item, 0 the most frequent, for a uniform number in [0, 1). */
uint64_t load_zipfian_item(const struct load_zipfian *zipfian, double uniform);

/* YCSB's ScrambledZipfianGenerator: the popular items lie scattered over [0, records).  zipfian is
 * one of load_scrambled_init(). */
void load_scrambled_init(struct load_zipfian *zipfian, double theta);
uint64_t load_scrambled_item(const struct load_zipfian *zipfian, uint64_t records, double uniform);

/* FNV-1a over the eight bytes, low first, made positive: YCSB's hash of key numbers. */
uint64_t load_fnv(uint64_t number);

#endif /* CLIENT_LOAD_CORE_ZIPFIAN_H */
