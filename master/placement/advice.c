#include "master/placement/advice.h"

#include <stdlib.h>

#include "common/base/buffer.h"

/* Rows that were touched, a second. */
struct rates {
    double reads;
    double writes;
};

struct advising {
    const struct advice_table *table;
    struct arena *arena;
    struct advice_finding *findings;
    size_t count;
    struct rates all;
    bool failed; /* without memory */
};

/* --- figures ------------------------------------------------------------------------------------ */

static struct rates rates_of(const struct advice_tablet *tablet)
{
    double seconds = (double)tablet->elapsed_ns / 1e9;
    if (tablet->elapsed_ns == 0) {
        return (struct rates){0, 0};
    }
    return (struct rates){(double)tablet->figures.read_rows / seconds,
                          (double)tablet->figures.writes / seconds};
}

static double sum_of(struct rates rates)
{
    return rates.reads + rates.writes;
}

/* Whoever claims to have done more than can be counted is not believed all of it. */
static uint64_t whole_number(double value)
{
    return value >= 1e18 ? UINT64_C(1000000000000000000) : (uint64_t)value;
}

static uint32_t permille(double part, double whole)
{
    if (whole <= 0 || part <= 0) {
        return 0;
    }
    return part >= whole ? 1000 : (uint32_t)(1000 * part / whole + 0.5);
}

static uint32_t cpu_permille(const struct advice_tablet *tablet)
{
    return permille((double)tablet->figures.read_cpu_ns + (double)tablet->figures.write_cpu_ns,
                    (double)tablet->capacity_ns);
}

/* Of the points together: what keys are parts of. */
static struct rates detail_total(const struct load_detail *detail)
{
    struct rates total = {0, 0};
    for (size_t i = 0; i < detail->point_count; i++) {
        total.reads += (double)detail->points[i].reads;
        total.writes += (double)detail->points[i].writes;
    }
    return total;
}

/* "reads", "writes", or both where neither is nearly all. */
static const char *load_name(struct rates rates)
{
    if (permille(rates.writes, sum_of(rates)) >= 800) {
        return "writes";
    }
    return permille(rates.reads, sum_of(rates)) >= 800 ? "reads" : "reads and writes";
}

/* --- findings ----------------------------------------------------------------------------------- */

/* Text is moved into the arena.  The finding, to say more of; NULL: there are enough. */
static struct advice_finding *add(struct advising *advising,
                                  enum advice_kind kind,
                                  uint32_t share,
                                  struct buffer *text)
{
    struct advice_finding *finding = NULL;
    if (text->failed) {
        advising->failed = true;
    } else if (advising->count < ADVICE_FINDINGS_MAX) {
        finding = &advising->findings[advising->count++];
        *finding = (struct advice_finding){.kind = kind, .share_permille = share};
        finding->text = arena_copy(advising->arena, buffer_bytes(text));
        advising->failed = advising->failed || finding->text.data == NULL;
    }
    buffer_deinit(text);
    return finding;
}

static void cure(struct advice_finding *finding, const char *pattern, const char *text)
{
    finding->pattern = bytes_of_text(pattern);
    finding->cure = bytes_of_text(text);
}

static bool has_finding(const struct advising *advising, uint64_t tablet)
{
    for (size_t i = 0; i < advising->count; i++) {
        if (advising->findings[i].tablet == tablet) {
            return true;
        }
    }
    return false;
}

static void cure_popular_key(struct advice_finding *finding, bool written)
{
    if (written) {
        cure(
            finding, "salting",
            "Spread what is written to it over several rows: salt the key, or make a new row of each "
            "change; if it counts, add to aggregate cells of some rows and read their sum.");
    } else {
        cure(
            finding, "salting",
            "Keep a copy of it where it is read, or spread it over several salted rows of which each "
            "reader takes one.");
    }
}

static void judge_key(struct advising *advising,
                      const struct advice_tablet *tablet,
                      const struct load_key *key,
                      struct rates total)
{
    double own = (double)key->reads + (double)key->writes;
    uint32_t of_tablet = permille(own, sum_of(total));
    uint32_t share = permille(own / sum_of(total) * sum_of(rates_of(tablet)),
                              sum_of(advising->all));
    bool presses = of_tablet >= 2 * ADVICE_TABLET_PERMILLE &&
                   cpu_permille(tablet) >= ADVICE_PRESSURE_PERMILLE;
    struct buffer text = BUFFER_INIT;
    char row[BYTES_PRINTABLE_SIZE_MAX];

    if (share < ADVICE_KEY_PERMILLE && !presses) {
        return;
    }
    buffer_append_format(
        &text,
        "%u %% of the table's load hits one row, '%s' (%u %% of its tablet's, mostly "
        "%s): no split can part a row.",
        share / 10, bytes_printable(key->row, row), of_tablet / 10,
        key->writes > key->reads ? "writes" : "reads");
    struct advice_finding *finding = add(advising, ADVICE_POPULAR_KEY, share, &text);
    if (finding != NULL) {
        finding->tablet = tablet->tablet;
        finding->range = tablet->range;
        finding->key = key->row;
        cure_popular_key(finding, key->writes > key->reads);
    }
}

static void find_popular_keys(struct advising *advising)
{
    for (size_t i = 0; i < advising->table->tablet_count; i++) {
        const struct advice_tablet *tablet = &advising->table->tablets[i];
        struct rates total = detail_total(&tablet->detail);
        for (size_t j = 0; j < tablet->detail.key_count && sum_of(total) > 0; j++) {
            judge_key(advising, tablet, &tablet->detail.keys[j], total);
        }
    }
}

/* What the rows at the tablet's end begin with: empty where that says nothing. */
static struct bytes common_beginning(const struct load_detail *detail)
{
    size_t first = detail->point_count / 2;
    if (detail->point_count < 4) {
        return BYTES_EMPTY;
    }
    struct bytes common = detail->points[first].row;
    for (size_t i = first + 1; i < detail->point_count; i++) {
        struct bytes row = detail->points[i].row;
        size_t same = 0;
        while (same < common.size_bytes && same < row.size_bytes &&
               common.data[same] == row.data[same]) {
            same += 1;
        }
        common.size_bytes = same;
    }
    return common;
}

static void find_monotonic(struct advising *advising)
{
    for (size_t i = 0; i < advising->table->tablet_count; i++) {
        const struct advice_tablet *tablet = &advising->table->tablets[i];
        const struct load_detail *detail = &tablet->detail;
        uint32_t share = permille(rates_of(tablet).writes, advising->all.writes);
        struct bytes beginning = common_beginning(detail);
        struct buffer text = BUFFER_INIT;
        char row[BYTES_PRINTABLE_SIZE_MAX];

        if (rates_of(tablet).writes < ADVICE_OPERATIONS_MIN / 2 || share < ADVICE_TABLET_PERMILLE ||
            detail->appended_permille < ADVICE_APPENDED_PERMILLE) {
            continue;
        }
        buffer_append_format(
            &text,
            "%u %% of writes hit one tablet; its rows only grow at the end (%u %% of "
            "its writes are above all rows before)",
            share / 10, detail->appended_permille / 10);
        if (beginning.size_bytes > 0) {
            buffer_append_format(&text, ", where they begin with '%s'",
                                 bytes_printable(beginning, row));
        }
        buffer_append_format(&text, ": a split only moves the one tablet that is written to.");
        struct advice_finding *finding = add(advising, ADVICE_MONOTONIC, share, &text);
        if (finding != NULL) {
            finding->tablet = tablet->tablet;
            finding->range = tablet->range;
            if (detail->point_count > 1) {
                finding->range.start = detail->points[detail->point_count - 1].row;
            }
            cure(
                finding, "field promotion",
                "Promote a field in front of the time, such as the user or the device (USER#TIME); if "
                "there is none that queries name, salt the key.");
        }
    }
}

static int by_load(const void *a, const void *b)
{
    double left = sum_of(rates_of(*(const struct advice_tablet *const *)a));
    double right = sum_of(rates_of(*(const struct advice_tablet *const *)b));
    return (left < right) - (left > right);
}

/* How many of the busiest have most of the load, and how much. */
static size_t count_busiest(const struct advising *advising,
                            const struct advice_tablet **sorted,
                            double *ret_load)
{
    size_t count = 0;
    *ret_load = 0;
    while (count < advising->table->tablet_count &&
           permille(*ret_load, sum_of(advising->all)) < ADVICE_MOST_PERMILLE) {
        *ret_load += sum_of(rates_of(sorted[count++]));
    }
    return count;
}

static void find_narrow_range(struct advising *advising)
{
    const struct advice_table *table = advising->table;
    const struct advice_tablet **sorted = arena_allocate_array(advising->arena, table->tablet_count,
                                                               sizeof *sorted);
    double load = 0;
    struct buffer text = BUFFER_INIT;

    if (sorted == NULL) {
        advising->failed = true;
        return;
    }
    for (size_t i = 0; i < table->tablet_count; i++) {
        sorted[i] = &table->tablets[i];
    }
    qsort(sorted, table->tablet_count, sizeof(const struct advice_tablet *), by_load);
    size_t few = count_busiest(advising, sorted, &load);
    uint32_t share = permille(load, sum_of(advising->all));
    bool narrow = few * ADVICE_FEW_ONE_OF <= table->all_count ||
                  (few == 1 && table->all_count >= ADVICE_SEVERAL) ||
                  (few == 1 && table->all_count > 1 && share >= ADVICE_NEARLY_PERMILLE);
    if (!narrow || has_finding(advising, sorted[0]->tablet)) {
        return;
    }
    buffer_append_format(&text, "%u %% of %s hit %zu of the table's %llu tablets.", share / 10,
                         load_name(advising->all), few, (unsigned long long)table->all_count);
    struct advice_finding *finding = add(advising, ADVICE_NARROW_RANGE, share, &text);
    if (finding != NULL) {
        finding->tablet = few == 1 ? sorted[0]->tablet : 0;
        finding->range = few == 1 ? sorted[0]->range : (struct row_range){BYTES_EMPTY, BYTES_EMPTY};
        cure(
            finding, "field promotion",
            "Begin the key with a field of many values that load spreads over; a split parts such a "
            "range only until the load moves on.");
    }
}

/* A split moves its load, or leaves it where it is. */
static bool cannot_be_parted(const struct advising *advising, uint64_t tablet)
{
    bool found = false;
    for (size_t i = 0; i < advising->count; i++) {
        const struct advice_finding *finding = &advising->findings[i];
        found = found || (finding->tablet == tablet && (finding->kind == ADVICE_MONOTONIC ||
                                                        finding->kind == ADVICE_POPULAR_KEY));
    }
    return found;
}

static void find_pressure(struct advising *advising)
{
    for (size_t i = 0; i < advising->table->tablet_count; i++) {
        const struct advice_tablet *tablet = &advising->table->tablets[i];
        uint32_t share = cpu_permille(tablet);
        bool can_be_cut = tablet->detail.point_count >= LOAD_POINTS_MAX / 4 &&
                          !cannot_be_parted(advising, tablet->tablet);
        struct buffer text = BUFFER_INIT;

        if (share < ADVICE_PRESSURE_PERMILLE) {
            continue;
        }
        buffer_append_format(
            &text,
            "One tablet takes %u %% of the CPU time that its server may use, with %.0f "
            "rows read and %.0f written a second%s.",
            share / 10, rates_of(tablet).reads, rates_of(tablet).writes,
            can_be_cut ? "; its load is spread over its rows" : "");
        struct advice_finding *finding = add(advising, ADVICE_HIGH_PRESSURE, share, &text);
        if (finding != NULL) {
            finding->tablet = tablet->tablet;
            finding->range = tablet->range;
            if (can_be_cut) {
                cure(finding, "",
                     "Its load can be parted: a split lets another server take half of it.");
            }
        }
    }
}

static void find_large_rows(struct advising *advising)
{
    for (size_t i = 0; i < advising->table->tablet_count; i++) {
        const struct advice_tablet *tablet = &advising->table->tablets[i];
        const struct load_figures *figures = &tablet->figures;
        double seconds = (double)tablet->elapsed_ns / 1e9;
        bool written = figures->write_bytes > figures->read_bytes;
        double bytes = (double)(written ? figures->write_bytes : figures->read_bytes);
        double count = (double)(written ? figures->writes : figures->read_rows);
        struct buffer text = BUFFER_INIT;

        if (count <= 0 || bytes / count < ADVICE_ROW_BYTES || bytes < ADVICE_ROW_BYTES * seconds) {
            continue;
        }
        buffer_append_format(&text, "Rows of %.1f MiB on average are %s.", bytes / count / 1048576,
                             written ? "written" : "read");
        struct advice_finding *finding = add(
            advising, ADVICE_LARGE_ROWS, permille(sum_of(rates_of(tablet)), sum_of(advising->all)),
            &text);
        if (finding != NULL) {
            finding->tablet = tablet->tablet;
            finding->range = tablet->range;
            cure(
                finding, "tall and narrow",
                "Make rows of less: one event, or a bounded number of them, a row; keep values below "
                "10 MB.");
        }
    }
}

/* --- all of it ---------------------------------------------------------------------------------- */

static void say_too_few(struct advising *advising)
{
    struct buffer text = BUFFER_INIT;
    buffer_append_format(
        &text,
        "Too little of this table was seen lately to say anything about its keys: put "
        "load on it for some ten seconds, %d operations a second and more.",
        ADVICE_OPERATIONS_MIN);
    (void)add(advising, ADVICE_TOO_FEW, 0, &text);
}

static void say_balanced(struct advising *advising)
{
    const struct advice_table *table = advising->table;
    struct buffer text = BUFFER_INIT;
    uint32_t most = 0;
    size_t points = 0;
    for (size_t i = 0; i < table->tablet_count; i++) {
        uint32_t share = permille(sum_of(rates_of(&table->tablets[i])), sum_of(advising->all));
        most = share > most ? share : most;
        points += table->tablets[i].detail.point_count;
    }
    if (table->all_count == 1) {
        buffer_append_format(&text,
                             "Nothing is to be said against the keys: load is spread over the "
                             "rows of the table's one tablet%s.",
                             points >= LOAD_POINTS_MAX / 4 ? ", and can be parted by splits" : "");
    } else {
        buffer_append_format(
            &text,
            "Nothing is to be said against the keys: of %llu tablets the busiest takes "
            "%u %% of %s.",
            (unsigned long long)table->all_count, most / 10, load_name(advising->all));
    }
    (void)add(advising, ADVICE_BALANCED, most, &text);
}

/* What the keys do comes before what comes of it. */
static int by_weight(const void *a, const void *b)
{
    const struct advice_finding *left = a;
    const struct advice_finding *right = b;
    bool left_first = left->kind <= ADVICE_MONOTONIC;
    bool right_first = right->kind <= ADVICE_MONOTONIC;
    if (left_first != right_first) {
        return left_first ? -1 : 1;
    }
    if (left->share_permille != right->share_permille) {
        return left->share_permille > right->share_permille ? -1 : 1;
    }
    return (left->kind > right->kind) - (left->kind < right->kind);
}

enum status advise(const struct advice_table *table,
                   struct arena *arena,
                   struct advise_response *ret_response)
{
    struct advising advising = {
        .table = table,
        .arena = arena,
        .findings = arena_allocate_array(arena, ADVICE_FINDINGS_MAX, sizeof(struct advice_finding)),
    };
    uint64_t observations = 0;

    if (advising.findings == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < table->tablet_count; i++) {
        struct rates rates = rates_of(&table->tablets[i]);
        advising.all.reads += rates.reads;
        advising.all.writes += rates.writes;
        observations += table->tablets[i].detail.observations;
    }
    if (observations < ADVICE_OBSERVATIONS_MIN || sum_of(advising.all) < ADVICE_OPERATIONS_MIN) {
        say_too_few(&advising);
    } else {
        find_popular_keys(&advising);
        find_monotonic(&advising);
        find_narrow_range(&advising);
        find_pressure(&advising);
        find_large_rows(&advising);
        if (advising.count == 0) {
            say_balanced(&advising);
        }
    }
    if (advising.failed || advising.count == 0) {
        return STATUS_NO_MEMORY;
    }
    qsort(advising.findings, advising.count, sizeof *advising.findings, by_weight);
    *ret_response = (struct advise_response){
        .findings = advising.findings,
        .finding_count = advising.count,
        .observations = observations,
        .operations_per_second = whole_number(sum_of(advising.all)),
        .tablet_count = table->all_count,
        .busy_count = table->tablet_count,
    };
    return STATUS_OK;
}
