/*
 * LMDB and nothing else, as fast as it takes rows when nothing must be durable: rows are gathered,
 * sorted, and put in one transaction each, without any sync.
 *
 *   raw_lmdb_batch --folder F [--rows 1000000] [--value-bytes 100] [--keys hashed|series]
 *                  [--batch 20000] [--map-mib 65536]
 */
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bench/raw/raw.h"

struct row {
    uint8_t key[LOAD_ROW_KEY_BYTES_MAX];
    size_t key_bytes;
    uint64_t number;
};

struct bench {
    MDB_env *env;
    MDB_dbi dbi;
    enum load_key_form keys;
    struct row *rows;
    uint8_t *value;
    size_t value_bytes;
};

static void must(int code)
{
    if (code != MDB_SUCCESS) {
        raw_fail("lmdb", mdb_strerror(code));
    }
}

static int compare(const void *a, const void *b)
{
    const struct row *left = a;
    const struct row *right = b;
    size_t common = left->key_bytes < right->key_bytes ? left->key_bytes : right->key_bytes;
    int order = memcmp(left->key, right->key, common);
    return order != 0 ? order
                      : (left->key_bytes > right->key_bytes) - (left->key_bytes < right->key_bytes);
}

static void put_batch(struct bench *bench, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct row *row = &bench->rows[i];
        row->number = first + i;
        row->key_bytes = raw_key(bench->keys, row->number, row->key);
    }
    qsort(bench->rows, count, sizeof *bench->rows, compare);
    MDB_txn *txn = NULL;
    must(mdb_txn_begin(bench->env, NULL, 0, &txn));
    for (uint64_t i = 0; i < count; i++) {
        struct row *row = &bench->rows[i];
        raw_value(row->number, bench->value, bench->value_bytes);
        MDB_val key = {row->key_bytes, row->key};
        MDB_val value = {bench->value_bytes, bench->value};
        must(mdb_put(txn, bench->dbi, &key, &value, 0));
    }
    must(mdb_txn_commit(txn));
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"folder", "rows",    "value-bytes", "keys",
                                        "batch",  "map-mib", NULL};
    raw_check_options(argc, argv, names);
    const char *key_name = raw_option_text(argc, argv, "keys", "hashed");
    uint64_t rows = raw_option_number(argc, argv, "rows", 1000000);
    uint64_t batch = raw_option_number(argc, argv, "batch", 20000);
    struct bench bench = {.keys = raw_keys_of_name(key_name),
                          .value_bytes = raw_option_number(argc, argv, "value-bytes", 100)};
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/raw_lmdb", raw_option_text(argc, argv, "folder", "."));
    (void)unlink(path);

    bench.rows = raw_allocate(batch * sizeof *bench.rows);
    bench.value = raw_allocate(bench.value_bytes + sizeof(uint64_t));
    must(mdb_env_create(&bench.env));
    must(mdb_env_set_mapsize(bench.env, raw_option_number(argc, argv, "map-mib", 65536) << 20));
    must(mdb_env_open(bench.env, path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0644));
    MDB_txn *txn = NULL;
    must(mdb_txn_begin(bench.env, NULL, 0, &txn));
    must(mdb_dbi_open(txn, NULL, MDB_CREATE, &bench.dbi));
    must(mdb_txn_commit(txn));

    int64_t begin_ns = raw_now_ns();
    for (uint64_t first = 0; first < rows; first += batch) {
        put_batch(&bench, first, rows - first < batch ? rows - first : batch);
    }
    double took = (double)(raw_now_ns() - begin_ns) / 1e9;

    struct stat file;
    (void)memset(&file, 0, sizeof file);
    (void)stat(path, &file);
    printf("{\"program\":\"lmdb_batch\",\"keys\":\"%s\",\"rows\":%llu,\"value_bytes\":%zu,"
           "\"rows_per_second\":%.0f,\"file_bytes\":%lld}\n",
           key_name, (unsigned long long)rows, bench.value_bytes, (double)rows / took,
           (long long)file.st_blocks * 512);
    mdb_env_close(bench.env);
    (void)unlink(path);
    free(bench.rows);
    free(bench.value);
    return 0;
}
