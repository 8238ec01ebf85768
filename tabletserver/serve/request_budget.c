#include "tabletserver/serve/request_budget.h"

void request_budget_init(struct request_budget *budget, uint64_t bytes_max)
{
    budget->bytes_max = bytes_max;
    atomic_init(&budget->bytes, 0);
    atomic_init(&budget->read_bytes, 0);
}

uint64_t request_budget_bytes(const struct request_budget *budget)
{
    return atomic_load(&budget->bytes);
}

static bool fits(uint64_t others_bytes, uint64_t bytes, uint64_t bytes_max)
{
    return others_bytes + bytes <= bytes_max ||
           (bytes > bytes_max / 2 && others_bytes <= bytes_max / 2);
}

static bool charge(atomic_uint_fast64_t *sum,
                   uint64_t bytes,
                   uint64_t own_bytes,
                   uint64_t bytes_max)
{
    uint64_t before = atomic_fetch_add(sum, bytes);
    if (!fits(before - own_bytes, own_bytes + bytes, bytes_max)) {
        atomic_fetch_sub(sum, bytes);
        return false;
    }
    return true;
}

bool request_budget_charge(struct request_budget *budget, uint64_t bytes, uint64_t own_bytes)
{
    return charge(&budget->bytes, bytes, own_bytes, budget->bytes_max);
}

void request_budget_release(struct request_budget *budget, uint64_t bytes)
{
    atomic_fetch_sub(&budget->bytes, bytes);
}

bool request_budget_is_short(const struct request_budget *budget)
{
    uint64_t half_bytes = budget->bytes_max / 2;
    return atomic_load(&budget->bytes) > half_bytes ||
           atomic_load(&budget->read_bytes) > half_bytes / 2;
}

bool request_budget_note_reads(struct request_budget *budget, uint64_t bytes, uint64_t own_bytes)
{
    return charge(&budget->read_bytes, bytes, own_bytes, budget->bytes_max / 2);
}

void request_budget_forget_reads(struct request_budget *budget, uint64_t bytes)
{
    atomic_fetch_sub(&budget->read_bytes, bytes);
}

bool request_budget_charge_reads(struct request_budget *budget, uint64_t bytes, uint64_t own_bytes)
{
    if (!request_budget_note_reads(budget, bytes, own_bytes)) {
        return false;
    }
    if (!request_budget_charge(budget, bytes, own_bytes)) {
        request_budget_forget_reads(budget, bytes);
        return false;
    }
    return true;
}

void request_budget_release_reads(struct request_budget *budget, uint64_t bytes)
{
    request_budget_release(budget, bytes);
    request_budget_forget_reads(budget, bytes);
}
