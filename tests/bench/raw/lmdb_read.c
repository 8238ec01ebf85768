/*
 * Reading from LMDB and nothing else: full scans with a cursor, then random gets.  Every byte of
 * every value is looked at, as a server that sends it would.
 *
 *   raw_lmdb_read --folder F [--rows 1000000] [--value-bytes 100] [--seconds 5] [--map-mib 65536]
 */
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/prng.h"
#include "tests/bench/raw/raw.h"

#define FILL_ROWS   100000 /* a transaction */
#define CHECK_GETS  1000   /* between two looks at the clock, and the length of a transaction */
#define NUMBER_SIZE 20

struct bench {
    MDB_env *env;
    MDB_dbi dbi;
    uint64_t rows;
    size_t value_bytes;
    int64_t duration_ns;
    uint64_t sum; /* of what was read: the compiler must not leave the reading out */
};

static void must(int code)
{
    if (code != MDB_SUCCESS) {
        raw_fail("lmdb", mdb_strerror(code));
    }
}

static MDB_txn *begin(struct bench *bench, unsigned flags)
{
    MDB_txn *txn = NULL;
    must(mdb_txn_begin(bench->env, NULL, flags, &txn));
    return txn;
}

static MDB_val key_of(uint64_t number, char text[NUMBER_SIZE + 5])
{
    int size = snprintf(text, NUMBER_SIZE + 5, "user%0*llu", NUMBER_SIZE,
                        (unsigned long long)number);
    return (MDB_val){(size_t)size, text};
}

static void fill(struct bench *bench)
{
    uint8_t *bytes = raw_allocate(bench->value_bytes + sizeof(uint64_t));
    MDB_txn *txn = NULL;
    for (uint64_t i = 0; i < bench->rows; i++) {
        if (i % FILL_ROWS == 0) {
            if (txn != NULL) {
                must(mdb_txn_commit(txn));
            }
            txn = begin(bench, 0);
        }
        char text[NUMBER_SIZE + 5];
        MDB_val key = key_of(i, text);
        raw_value(i, bytes, bench->value_bytes);
        MDB_val value = {bench->value_bytes, bytes};
        must(mdb_put(txn, bench->dbi, &key, &value, MDB_APPEND));
    }
    if (txn != NULL) {
        must(mdb_txn_commit(txn));
    }
    free(bytes);
}

static void look_at(struct bench *bench, const MDB_val *value)
{
    const uint8_t *bytes = value->mv_data;
    for (size_t i = 0; i + sizeof(uint64_t) <= value->mv_size; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, sizeof word);
        bench->sum += word;
    }
}

/* Whole scans until the time is over; rows per second. */
static double scan(struct bench *bench)
{
    uint64_t rows = 0;
    int64_t begin_ns = raw_now_ns();
    int64_t now_ns = begin_ns;
    while (now_ns - begin_ns < bench->duration_ns) {
        MDB_txn *txn = begin(bench, MDB_RDONLY);
        MDB_cursor *cursor = NULL;
        MDB_val key;
        MDB_val value;
        must(mdb_cursor_open(txn, bench->dbi, &cursor));
        while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS) {
            look_at(bench, &value);
            rows++;
        }
        mdb_cursor_close(cursor);
        mdb_txn_abort(txn);
        now_ns = raw_now_ns();
    }
    return (double)rows * 1e9 / (double)(now_ns - begin_ns);
}

static double get(struct bench *bench)
{
    struct prng prng = prng_of_seed(1);
    uint64_t gets = 0;
    int64_t begin_ns = raw_now_ns();
    int64_t now_ns = begin_ns;
    while (now_ns - begin_ns < bench->duration_ns) {
        MDB_txn *txn = begin(bench, MDB_RDONLY);
        for (int i = 0; i < CHECK_GETS; i++) {
            char text[NUMBER_SIZE + 5];
            MDB_val key = key_of(prng_below(&prng, bench->rows), text);
            MDB_val value;
            must(mdb_get(txn, bench->dbi, &key, &value));
            look_at(bench, &value);
        }
        gets += CHECK_GETS;
        mdb_txn_abort(txn);
        now_ns = raw_now_ns();
    }
    return (double)gets * 1e9 / (double)(now_ns - begin_ns);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"folder",  "rows",    "value-bytes",
                                        "seconds", "map-mib", NULL};
    raw_check_options(argc, argv, names);
    struct bench bench = {.rows = raw_option_number(argc, argv, "rows", 1000000),
                          .value_bytes = raw_option_number(argc, argv, "value-bytes", 100),
                          .duration_ns = (int64_t)raw_option_number(argc, argv, "seconds", 5) *
                                         INT64_C(1000000000)};
    if (bench.rows == 0) {
        raw_fail("rows", "at least one");
    }
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/raw_lmdb", raw_option_text(argc, argv, "folder", "."));
    (void)unlink(path);
    must(mdb_env_create(&bench.env));
    must(mdb_env_set_mapsize(bench.env, raw_option_number(argc, argv, "map-mib", 65536) << 20));
    must(mdb_env_open(bench.env, path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0644));
    MDB_txn *txn = begin(&bench, 0);
    must(mdb_dbi_open(txn, NULL, MDB_CREATE, &bench.dbi));
    must(mdb_txn_commit(txn));

    fill(&bench);
    double rows_per_second = scan(&bench);
    double gets_per_second = get(&bench);
    printf("{\"program\":\"lmdb_read\",\"rows\":%llu,\"value_bytes\":%zu,"
           "\"scan_rows_per_second\":%.0f,\"scan_megabytes_per_second\":%.1f,"
           "\"gets_per_second\":%.0f,\"sum\":%llu}\n",
           (unsigned long long)bench.rows, bench.value_bytes, rows_per_second,
           rows_per_second * (double)bench.value_bytes / 1e6, gets_per_second,
           (unsigned long long)bench.sum);
    mdb_env_close(bench.env);
    (void)unlink(path);
    return 0;
}
