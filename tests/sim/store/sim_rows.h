/*
 * Rows in memory, sorted: what the memtable and LMDB are to the real store.
 *
 * Each cell remembers the log sequence of its last change, and which one of the record it was (as production's stamps
 * do); a delete takes only what is older.
 * So a delete may be applied again, after changes that came later: replay needs that where a flush
 * was cut inside a row.
 *
 * Everything is small and lies in place: the workload's keys, qualifiers and values are short.
 */
#ifndef TESTS_SIM_STORE_SIM_ROWS_H
#define TESTS_SIM_STORE_SIM_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/model/mutation.h"
#include "common/model/row_set.h"
#include "common/model/schema.h"
#include "common/wire/message.h"
#include "tabletserver/storage/record/applied_map.h"

#define SIM_KEY_BYTES_MAX       24
#define SIM_QUALIFIER_BYTES_MAX 7
#define SIM_VALUE_BYTES_MAX     31

struct sim_cell {
    uint32_t family;
    int64_t timestamp_us;
    uint64_t sequence;
    uint32_t index; /* of the change in its record */
    uint8_t qualifier_bytes;
    uint8_t qualifier[SIM_QUALIFIER_BYTES_MAX];
    uint8_t value_bytes;
    uint8_t value[SIM_VALUE_BYTES_MAX];
};

struct sim_row {
    uint8_t key[SIM_KEY_BYTES_MAX];
    uint32_t key_bytes;
    uint32_t cell_count; /* >= 1: a row without cells is no row */
    uint32_t cell_capacity;
    struct sim_cell *cells; /* by family, qualifier, timestamp descending */
};

struct sim_rows {
    struct sim_row *rows;
    uint32_t count;
    uint32_t capacity;
};

void sim_rows_deinit(struct sim_rows *rows);

static inline struct bytes sim_row_key(const struct sim_row *row)
{
    return bytes_of(row->key, row->key_bytes);
}

/* The first row at or above key; rows->count if there is none. */
uint32_t sim_rows_seek(const struct sim_rows *rows, struct bytes key);
/* NULL when there is none. */
const struct sim_row *sim_rows_find(const struct sim_rows *rows, struct bytes key);

void sim_rows_apply(struct sim_rows *rows,
                    uint64_t sequence,
                    uint32_t index,
                    struct bytes key,
                    const struct change *change);
/* Cells of the range that are not newer than sequence go. */
void sim_rows_delete_range(struct sim_rows *rows, uint64_t sequence, const struct row_range *range);

/* Add copies of the rows of range; none of them may be there. */
void sim_rows_copy(struct sim_rows *to, const struct sim_rows *from, const struct row_range *range);

/* Add what of `below` lies below the position, and what of `above` does not. */
void sim_rows_stitch(struct sim_rows *to,
                     const struct sim_rows *below,
                     const struct sim_rows *above,
                     const struct tablet_position *position);

bool sim_rows_equal(const struct sim_rows *a, const struct sim_rows *b);
/* But for cells that only one of them has and may be lacking (NULL: none may). */
typedef bool sim_may_lack(void *context, const struct sim_row *row, const struct sim_cell *cell);
bool sim_rows_equal_but(const struct sim_rows *a,
                        const struct sim_rows *b,
                        sim_may_lack *may_lack,
                        void *context);
/* Returns how many. */
uint32_t sim_rows_erase(struct sim_rows *rows,
                        bool (*must)(void *context, const struct sim_cell *cell),
                        void *context);
uint64_t sim_rows_size_bytes(const struct sim_rows *rows);

/* The newest cell of a column; NULL when there is none. */
const struct sim_cell *sim_row_newest(const struct sim_row *row,
                                      uint32_t family,
                                      struct bytes qualifier);

/* Has the cell of that place expired, by its family's rule? */
bool sim_row_drops(const struct sim_row *row,
                   uint32_t at,
                   const struct table *schema,
                   int64_t now_us);

/* Cells of families that the schema does not know are invisible, and so are those that have expired.  False for
 * a row without visible cells. */
bool sim_row_write_block(const struct sim_row *row,
                         const struct table *schema,
                         int64_t now_us,
                         struct row_block_writer *writer);
bool sim_row_is_visible(const struct sim_row *row, const struct table *schema);

#endif /* TESTS_SIM_STORE_SIM_ROWS_H */
