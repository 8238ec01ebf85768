#include "client/load/core/zipfian.h"

#include <math.h>

#define SCRAMBLED_ITEMS UINT64_C(10000000000) /* YCSB's ITEM_COUNT */
#define FNV_OFFSET      UINT64_C(0xCBF29CE484222325)
#define FNV_PRIME       UINT64_C(1099511628211)

static double add_up(uint64_t items, double theta)
{
    double sum = 0;
    for (uint64_t i = items; i >= 1; i--) {
        sum += pow((double)i, -theta);
    }
    return sum;
}

/* Euler and Maclaurin: the sum from LOAD_ZETA_EXACT on is nearly an integral. */
static double zeta_of(const struct load_zipfian *zipfian, uint64_t items)
{
    const double theta = zipfian->theta;
    if (items <= LOAD_ZETA_EXACT) {
        return add_up(items, theta);
    }
    double a = LOAD_ZETA_EXACT;
    double b = (double)items;
    double at_a = pow(a, -theta);
    double at_b = pow(b, -theta);
    return zipfian->head + (b * at_b - a * at_a) / (1 - theta) + (at_b - at_a) / 2 -
           theta / 12 * (at_b / b - at_a / a);
}

void load_zipfian_resize(struct load_zipfian *zipfian, uint64_t items)
{
    double theta = zipfian->theta;
    zipfian->items = items;
    zipfian->zeta = zeta_of(zipfian, items);
    zipfian->eta = (1 - pow(2.0 / (double)items, 1 - theta)) /
                   (1 - (1 + zipfian->half) / zipfian->zeta);
}

void load_zipfian_init(struct load_zipfian *zipfian, uint64_t items, double theta)
{
    zipfian->theta = theta;
    zipfian->head = add_up(LOAD_ZETA_EXACT, theta);
    zipfian->half = pow(0.5, theta);
    zipfian->alpha = 1 / (1 - theta);
    load_zipfian_resize(zipfian, items);
}

uint64_t load_zipfian_item(const struct load_zipfian *zipfian, double uniform)
{
    double uz = uniform * zipfian->zeta;
    if (uz < 1 || zipfian->items < 2) {
        return 0;
    }
    if (uz < 1 + zipfian->half) {
        return 1;
    }
    double place = pow(zipfian->eta * uniform - zipfian->eta + 1, zipfian->alpha);
    uint64_t item = (uint64_t)((double)zipfian->items * place);
    return item < zipfian->items ? item : zipfian->items - 1;
}

void load_scrambled_init(struct load_zipfian *zipfian, double theta)
{
    load_zipfian_init(zipfian, SCRAMBLED_ITEMS, theta);
}

uint64_t load_scrambled_item(const struct load_zipfian *zipfian, uint64_t records, double uniform)
{
    return load_fnv(load_zipfian_item(zipfian, uniform)) % records;
}

uint64_t load_fnv(uint64_t number)
{
    uint64_t hash = FNV_OFFSET;
    for (int i = 0; i < 8; i++) {
        hash = (hash ^ (number & 0xff)) * FNV_PRIME;
        number >>= 8;
    }
    /* Java's Math.abs() of a long. */
    return (hash >> 63) != 0 ? ~hash + 1 : hash;
}
