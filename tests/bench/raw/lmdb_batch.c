/*
 * LMDB and nothing else, as fast as it takes rows when nothing must be durable: rows are gathered,
 * sorted, and put in one transaction each, without any sync.
 *
 *   raw_lmdb_batch --folder F [--rows 1000000] [--value-bytes 100] [--keys hashed|series]
 *                  [--batch 20000] [--map-mib 65536]
 *                  [--distinct ROWS] [--log-bytes 0] [--transaction 20000]
 *
 * With --log-bytes it is what a durable store has to write at the least: LMDB syncs every
 * transaction, and beside it as many bytes a row go to a log that is synced, too, as far as rows
 * have been put.  A batch is then what is sorted in memory, cut into transactions of so many rows.
 * --distinct: after so many rows their keys come again.
 */
#include <errno.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
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

#define LOG_BYTES   (UINT64_C(512) << 20) /* written round and round */
#define GROUP_BYTES ((size_t)1 << 20)

struct log {
    pthread_t thread;
    int file;
    uint64_t record_bytes;     /* 0 = there is no log */
    atomic_uint_fast64_t rows; /* put so far */
    atomic_bool over;
};

struct bench {
    MDB_env *env;
    MDB_dbi dbi;
    enum load_key_form keys;
    struct row *rows;
    uint8_t *value;
    size_t value_bytes;
    uint64_t distinct;
    uint64_t transaction_rows;
    struct log log;
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

/* --- the log ------------------------------------------------------------------------------------- */

static void *write_log(void *context)
{
    struct log *log = context;
    uint8_t *group = raw_allocate(GROUP_BYTES);
    uint64_t written = 0;
    for (;;) {
        bool over = atomic_load(&log->over);
        uint64_t due = atomic_load(&log->rows) * log->record_bytes;
        if (due < written + GROUP_BYTES) {
            if (over) {
                break;
            }
            (void)usleep(200);
            continue;
        }
        memset(group, (int)(written >> 20 & 0xff), GROUP_BYTES);
        if (pwrite(log->file, group, GROUP_BYTES, (off_t)(written % LOG_BYTES)) !=
                (ssize_t)GROUP_BYTES ||
            fdatasync(log->file) != 0) {
            raw_fail("log", strerror(errno));
        }
        written += GROUP_BYTES;
    }
    free(group);
    return NULL;
}

static void log_start(struct log *log, const char *folder)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/raw_lmdb_log", folder);
    log->file = raw_written_file(path, LOG_BYTES);
    (void)unlink(path);
    int code = pthread_create(&log->thread, NULL, write_log, log);
    if (code != 0) {
        raw_fail("thread", strerror(code));
    }
}

static void log_finish(struct log *log)
{
    atomic_store(&log->over, true);
    (void)pthread_join(log->thread, NULL);
    (void)close(log->file);
}

/* --- rows ---------------------------------------------------------------------------------------- */

static void put_rows(struct bench *bench, struct row *rows, uint64_t count)
{
    MDB_txn *txn = NULL;
    must(mdb_txn_begin(bench->env, NULL, 0, &txn));
    for (uint64_t i = 0; i < count; i++) {
        raw_value(rows[i].number, bench->value, bench->value_bytes);
        MDB_val key = {rows[i].key_bytes, rows[i].key};
        MDB_val value = {bench->value_bytes, bench->value};
        must(mdb_put(txn, bench->dbi, &key, &value, 0));
    }
    must(mdb_txn_commit(txn));
    atomic_fetch_add(&bench->log.rows, count);
}

static void put_batch(struct bench *bench, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct row *row = &bench->rows[i];
        row->number = (first + i) % bench->distinct;
        row->key_bytes = raw_key(bench->keys, row->number, row->key);
    }
    qsort(bench->rows, count, sizeof *bench->rows, compare);
    for (uint64_t i = 0; i < count; i += bench->transaction_rows) {
        uint64_t left = count - i;
        put_rows(bench, bench->rows + i,
                 left < bench->transaction_rows ? left : bench->transaction_rows);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"folder",      "rows",    "value-bytes", "keys",
                                        "batch",       "map-mib", "distinct",    "log-bytes",
                                        "transaction", NULL};
    raw_check_options(argc, argv, names);
    const char *key_name = raw_option_text(argc, argv, "keys", "hashed");
    uint64_t rows = raw_option_number(argc, argv, "rows", 1000000);
    uint64_t batch = raw_option_number(argc, argv, "batch", 20000);
    struct bench bench = {.keys = raw_keys_of_name(key_name),
                          .value_bytes = raw_option_number(argc, argv, "value-bytes", 100),
                          .distinct = raw_option_number(argc, argv, "distinct", UINT64_MAX),
                          .transaction_rows = raw_option_number(argc, argv, "transaction", batch),
                          .log = {.record_bytes = raw_option_number(argc, argv, "log-bytes", 0)}};
    const char *folder = raw_option_text(argc, argv, "folder", ".");
    if (batch == 0 || bench.transaction_rows == 0 || bench.distinct == 0) {
        raw_fail("batch, transaction, distinct", "more than 0");
    }
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/raw_lmdb", folder);
    (void)unlink(path);

    bench.rows = raw_allocate(batch * sizeof *bench.rows);
    bench.value = raw_allocate(bench.value_bytes + sizeof(uint64_t));
    must(mdb_env_create(&bench.env));
    must(mdb_env_set_mapsize(bench.env, raw_option_number(argc, argv, "map-mib", 65536) << 20));
    unsigned sync = bench.log.record_bytes > 0 ? 0 : MDB_NOSYNC;
    must(mdb_env_open(bench.env, path, MDB_NOSUBDIR | MDB_NOLOCK | sync, 0644));
    MDB_txn *txn = NULL;
    must(mdb_txn_begin(bench.env, NULL, 0, &txn));
    must(mdb_dbi_open(txn, NULL, MDB_CREATE, &bench.dbi));
    must(mdb_txn_commit(txn));

    if (bench.log.record_bytes > 0) {
        log_start(&bench.log, folder);
    }
    int64_t begin_ns = raw_now_ns();
    for (uint64_t first = 0; first < rows; first += batch) {
        put_batch(&bench, first, rows - first < batch ? rows - first : batch);
    }
    if (bench.log.record_bytes > 0) {
        log_finish(&bench.log);
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
