/*
 * What a run of an experiment came to: figures, and nothing that has to be asked for.
 *
 * Filled by client/load/lab, judged by `verdict`, told by `text`, `json` and `page`.
 */
#ifndef CLIENT_LOAD_LAB_CORE_REPORT_RESULT_H
#define CLIENT_LOAD_LAB_CORE_REPORT_RESULT_H

#include "client/load/lab/core/decided.h"
#include "client/load/lab/core/experiments/experiment.h"
#include "client/load/lab/core/frequent.h"
#include "client/load/lab/core/timeline.h"

#define LAB_SENTENCE_BYTES 1024
#define LAB_ERROR_BYTES    256
#define LAB_ADDRESS_BYTES  64
#define LAB_SERVERS_MAX    64
#define LAB_FAULTS_MAX     4
#define LAB_TABLE_BYTES    64
#define LAB_KEPT_MAX       (LAB_VARIANTS_MAX * 2) /* a copy beside each */
#define LAB_TOLD_MAX       8

/* Writes of one experiment and variant, or one of its queries. */
struct lab_phase {
    bool has_run;
    double length_s;
    uint64_t operations;  /* events written, or queries answered, that ended well */
    uint64_t rows;        /* written, or returned */
    uint64_t rows_seen;   /* of queries by scans: looked at */
    uint64_t rows_found;  /* and returned, by the same */
    uint64_t cells_seen;  /* of the same: looked at */
    uint64_t bytes_given; /* of queries: keys and cells that they were answered with */
    uint64_t errors;
    uint64_t unknown; /* writes that may or may not have been made */
    uint64_t late;    /* open loop: not even sent when the phase ended */
    uint64_t cut_off; /* queries under way at the end */
    char first_error[LAB_ERROR_BYTES];
    uint64_t p50_ns;
    uint64_t p99_ns;
    uint64_t max_ns;
    struct lab_timeline timeline;
    /* of writes */
    uint64_t judged; /* that came to a tablet of which the last row was known */
    uint64_t behind; /* and of these: behind that row */
    struct lab_frequent by_row;
    struct lab_frequent by_who;
};

enum lab_fault {
    LAB_MONOTONIC,      /* one tablet at a time, behind all its rows */
    LAB_POPULAR_ROW,    /* one row */
    LAB_POPULAR_SERIES, /* one tablet, because one user, symbol ... is most of it */
    LAB_HOT_RANGE,      /* one tablet, all over it */
    LAB_GROWING_ROW,    /* rows without bound */
    LAB_READS_FIRST,    /* changes that read before they write */
    LAB_HEAVY,          /* many more bytes an event than the lightest variant */
    LAB_LOOKS_AT_MUCH,  /* a query looks at many more rows than it returns */
    LAB_LOOKS_AT_CELLS, /* a query looks at many more cells than that of the leanest variant */
    LAB_GIVES_MUCH,     /* a query is given many more bytes than that of the leanest variant */
    LAB_NO_ANSWER,      /* not one query of a kind came to its end */
    LAB_WRONG_SUMS,     /* what is stored is not what was given */
};
const char *lab_fault_name(enum lab_fault fault);

struct lab_variant_result {
    const struct lab_variant *variant;
    bool has_run;
    char failure[LAB_ERROR_BYTES]; /* why it did not come to its end; "" = it did */
    struct lab_phase write;
    struct lab_phase queries[LAB_QUERIES_MAX];
    size_t tablets_before; /* the phases */
    size_t tablets_after;
    double event_bytes;    /* sent an event, on average */
    uint64_t stored_bytes; /* by all events, as the servers estimate it */
    bool stored_is_known;
    size_t sums_checked; /* 0 = no sums */
    size_t sums_wrong;
    char sums_example[LAB_ERROR_BYTES];
    uint64_t copied_rows;                 /* by the batch job, in copy_s */
    double copy_s;                        /* 0 = there was none */
    struct lab_decided decided;           /* by the master, since the table was made */
    struct lab_decided decided_of_writes; /* of this: by what was written alone */
    /* What the cluster itself says of the table: advice, refusals to split, hot tablets. */
    char told[LAB_TOLD_MAX][LAB_SENTENCE_BYTES];
    size_t told_count;
    /* The verdict's. */
    enum lab_fault faults[LAB_FAULTS_MAX];
    size_t fault_count;
    char verdict[LAB_SENTENCE_BYTES];
};

struct lab_server {
    uint64_t number;
    char address[LAB_ADDRESS_BYTES];
};

struct lab_result {
    const struct lab_experiment *experiment;
    double rate; /* 0 = closed loop */
    uint64_t in_flight;
    uint64_t clients;
    uint64_t history;
    uint64_t replicas;                 /* copies of each tablet */
    double duration_s;                 /* of writes; queries have half of it each */
    char confinement[LAB_ERROR_BYTES]; /* what came of --confine, or what is to be said without */
    bool shares_processors; /* several servers, on one machine, and nothing keeps them apart */
    bool interrupted;
    struct lab_server servers[LAB_SERVERS_MAX];
    size_t server_count;
    struct lab_variant_result variants[LAB_VARIANTS_MAX];
    char verdict[LAB_SENTENCE_BYTES];
    char choice[LAB_SENTENCE_BYTES]; /* which to take for what */
    char kept[LAB_KEPT_MAX]
             [LAB_TABLE_BYTES]; /* tables that are left for who wants to look at them */
    size_t kept_count;
};

#define LAB_WRITES SIZE_MAX /* as a phase; a query is one by its number */

/* The figure by which variants are set against each other, the more the better: operations a second; or, where their
 * rate is given, how quick they are at p99.  0 = there is none. */
double lab_worth(const struct lab_result *result,
                 const struct lab_variant_result *variant,
                 size_t phase);

/* Was it found to be written to in one place? */
bool lab_is_hot(const struct lab_variant_result *variant);

/* False: no memory.  deinit in any case. */
bool lab_result_init(struct lab_result *result, const struct lab_experiment *experiment);
void lab_result_deinit(struct lab_result *result);

/* The table is left. */
void lab_result_keep(struct lab_result *result, const char *table);

double lab_phase_rate(const struct lab_phase *phase);
/* Cells that were looked at for a query, on average; 0 = none was answered by a scan. */
double lab_phase_looked_at_cells(const struct lab_phase *phase);
/* Bytes that a query was given, on average; 0 = none was answered. */
double lab_phase_given(const struct lab_phase *phase);
/* "tcp://127.0.0.1:7401", or "" */
const char *lab_result_address(const struct lab_result *result, uint64_t server);

#endif /* CLIENT_LOAD_LAB_CORE_REPORT_RESULT_H */
