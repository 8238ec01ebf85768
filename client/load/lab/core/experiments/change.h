/*
 * A change: the rows and cells that one event becomes.
 *
 * Built row by row, each row's cells behind it.  Texts that cells point to lie in the change itself, so
 * it must not be copied; it is good until the next lab_change_init.
 *
 * Requires: the limits below are known to every builder (each is tested with its longest texts); beyond
 * them the change is marked as one that does not fit, and the run refuses to begin.
 */
#ifndef CLIENT_LOAD_LAB_CORE_EXPERIMENTS_CHANGE_H
#define CLIENT_LOAD_LAB_CORE_EXPERIMENTS_CHANGE_H

#include "edubba_keys.h"

#define LAB_ROWS_MAX       8
#define LAB_CELLS_MAX      32
#define LAB_KEY_BYTES_MAX  128
#define LAB_TEXT_BYTES_MAX 4096

struct lab_row {
    uint8_t key[LAB_KEY_BYTES_MAX];
    size_t key_size;
    size_t first; /* of its cells */
    size_t count;
};

struct lab_change {
    struct lab_row rows[LAB_ROWS_MAX];
    size_t row_count;
    struct edubba_mutation cells[LAB_CELLS_MAX];
    size_t cell_count;
    bool increments; /* one row, one read-modify-write of `rule` instead of cells */
    struct edubba_rmw_rule rule;
    bool fits;
    size_t text_size;
    char text[LAB_TEXT_BYTES_MAX];
};

void lab_change_init(struct lab_change *change);

/* The next row. */
void lab_change_row(struct lab_change *change, const struct edubba_key *key);

/* Cells of the row begun last. */
void lab_change_set(struct lab_change *change,
                    const char *family,
                    struct edubba_bytes qualifier,
                    int64_t timestamp_us,
                    struct edubba_bytes value);
void lab_change_add(struct lab_change *change,
                    const char *family,
                    struct edubba_bytes qualifier,
                    int64_t timestamp_us,
                    int64_t amount);
/* Instead of cells: read the number in the cell and write it back with amount added. */
void lab_change_increment(struct lab_change *change,
                          const char *family,
                          struct edubba_bytes qualifier,
                          int64_t amount);

/* Text that lives as long as the change. */
__attribute__((format(printf, 2, 3))) struct edubba_bytes lab_change_text(struct lab_change *change,
                                                                          const char *format,
                                                                          ...);

/* Bytes of keys, families, qualifiers, timestamps and values: what is sent for each cell, and stored. */
uint64_t lab_change_bytes(const struct lab_change *change);

#endif /* CLIENT_LOAD_LAB_CORE_EXPERIMENTS_CHANGE_H */
