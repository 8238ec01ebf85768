#include "tabletserver/storage/rows/entry.h"

/* Deletes come before the cells they cover: of the row, of a family, of a column. */
static int rank(const struct entry *entry)
{
    switch (entry->kind) {
    case ENTRY_ROW_DELETE:
        return 0;
    case ENTRY_FAMILY_DELETE:
        return 1;
    case ENTRY_COLUMN_DELETE:
        return 2;
    case ENTRY_PUT:
    case ENTRY_FOLD:
    case ENTRY_ERASE:
        return 3;
    }
    return 3;
}

static int compare_i64_descending(int64_t a, int64_t b)
{
    return (a < b) - (a > b);
}

int entry_compare(const struct entry *a, const struct entry *b)
{
    int rank_a = rank(a);
    int rank_b = rank(b);
    if (rank_a == 0 || rank_b == 0) {
        return rank_a - rank_b;
    }
    if (a->family != b->family) {
        return a->family < b->family ? -1 : 1;
    }
    if (rank_a == 1 || rank_b == 1) {
        return rank_a - rank_b;
    }
    int order = bytes_compare(a->qualifier, b->qualifier);
    if (order != 0) {
        return order;
    }
    if (rank_a != rank_b) {
        return rank_a - rank_b;
    }
    if (rank_a == 2) {
        order = compare_i64_descending(a->start_us, b->start_us);
        return order != 0 ? order : compare_i64_descending(a->end_us, b->end_us);
    }
    return compare_i64_descending(a->timestamp_us, b->timestamp_us);
}
