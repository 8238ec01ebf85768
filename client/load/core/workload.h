/*
 * The workloads: one table, from which runs, help, man page and shell completion are made.
 *
 * A workload is a mix of operations, how keys are chosen, and the shape of rows; every default here
 * can be overridden by an option.
 */
#ifndef CLIENT_LOAD_CORE_WORKLOAD_H
#define CLIENT_LOAD_CORE_WORKLOAD_H

#include "client/load/core/row_key.h"

/* What is measured apart. */
enum load_kind {
    LOAD_READ,
    LOAD_WRITE,
    LOAD_UPDATE, /* one field of a row that is there */
    LOAD_INSERT, /* a row that was not there */
    LOAD_RMW,    /* read a row, then write one field: two round trips */
    LOAD_SCAN,
    LOAD_ADD,
    LOAD_KINDS,
};

enum load_distribution {
    LOAD_UNIFORM = 1,
    LOAD_ZIPFIAN,    /* scattered over the key space, as YCSB's */
    LOAD_LATEST,     /* zipfian, counted back from the last insert */
    LOAD_SEQUENTIAL, /* each number once, in order, over and over */
};

struct load_workload {
    const char *name;
    const char *summary; /* one line */
    const char *details;
    uint8_t percent[LOAD_KINDS];
    enum load_distribution distribution;
    enum load_key_form keys;
    uint64_t records;
    uint64_t operations; /* 0 = by time */
    bool each_once;      /* as many operations as there are records */
    uint64_t fields;
    uint64_t value_bytes;
    uint64_t batch;
    uint64_t scan_rows; /* at most, uniform from 1; 0 = the whole table */
    uint64_t in_flight;
    bool needs_rows; /* the load phase makes them */
};

extern const struct load_workload LOAD_WORKLOADS[];
extern const size_t LOAD_WORKLOAD_COUNT;

/* NULL when there is none. */
const struct load_workload *load_workload_find(const char *name);

const char *load_kind_name(enum load_kind kind);
const char *load_distribution_name(enum load_distribution distribution);
const char *load_key_form_name(enum load_key_form form);

/* Kind for a number in [0, 100). */
enum load_kind load_workload_kind(const struct load_workload *workload, uint64_t dice);

/* The name of a field: field0, field1 ... or, of series, those of METRIC (8 to 20 bytes). */
#define LOAD_FIELD_NAME_BYTES_MAX 32
size_t load_field_name(enum load_key_form form,
                       uint64_t index,
                       char out[LOAD_FIELD_NAME_BYTES_MAX]);

#endif /* CLIENT_LOAD_CORE_WORKLOAD_H */
