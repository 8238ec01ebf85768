#include "master/placement/advice.h"

#include <stdlib.h>

#include "common/base/buffer.h"
#include "master/placement/advice_cure.h"

#define ADVICE_NAMED_MAX 3 /* tablets, in a sentence */
#define SUCCESSOR_NS \
    UINT64_C(2000000000) /* a tablet that was begun in so long after another was left */

/* Rows that were touched, a second. */
struct rates {
    double reads;
    double writes;
};

struct advising {
    const struct advice_table *table; /* without what load has left */
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

/* Text is moved into the arena. */
static void cure(struct advising *advising,
                 struct advice_finding *finding,
                 const char *pattern,
                 struct buffer *text)
{
    finding->pattern = bytes_of_text(pattern);
    finding->cure = arena_copy(advising->arena, buffer_bytes(text));
    advising->failed = advising->failed || text->failed || finding->cure.data == NULL;
    buffer_deinit(text);
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
        struct buffer advised = BUFFER_INIT;
        const char *pattern = cure_popular(key->row, key->writes > key->reads, &advised);
        cure(advising, finding, pattern, &advised);
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

/* --- rows that grow at the end ------------------------------------------------------------------- */

/* Of the tablet's end: what old points say of how rows grow is old. */
static struct key_shape shape_of_end(const struct load_detail *detail)
{
    struct bytes rows[LOAD_POINTS_MAX];
    size_t count = 0;
    for (size_t i = detail->point_count / 2; i < detail->point_count && detail->point_count >= 4;
         i++) {
        rows[count++] = detail->points[i].row;
    }
    return key_shape_of(rows, count);
}

static bool is_other(struct bytes row, struct bytes front)
{
    return row.size_bytes > 0 && !bytes_starts_with(row, front);
}

/* Does the table have rows that begin with something else? */
static bool has_others(const struct advising *advising, struct bytes front)
{
    bool others = false;
    for (size_t i = 0; i < advising->table->tablet_count; i++) {
        const struct advice_tablet *tablet = &advising->table->tablets[i];
        others = others || is_other(tablet->range.start, front) ||
                 is_other(tablet->range.end, front);
        for (size_t j = 0; j < tablet->detail.point_count; j++) {
            others = others || is_other(tablet->detail.points[j].row, front);
        }
    }
    return others;
}

static bool grows_at_end(const struct advising *advising, const struct advice_tablet *tablet)
{
    double writes = rates_of(tablet).writes;
    return writes >= ADVICE_OPERATIONS_MIN / 2 &&
           permille(writes, advising->all.writes) >= ADVICE_TABLET_PERMILLE &&
           tablet->detail.appended_permille >= ADVICE_APPENDED_PERMILLE;
}

/* Another one that grows behind another beginning, by a quarter of what this one takes at least: what a salt has is parted
 * among several tablets, when they are split. */
static bool grows_besides(const struct advising *advising,
                          const struct advice_tablet *tablet,
                          const struct advice_tablet *other,
                          struct bytes front)
{
    const struct load_detail *detail = &other->detail;
    return grows_at_end(advising, other) ||
           (front.size_bytes > 0 && detail->point_count > 0 &&
            detail->appended_permille >= ADVICE_APPENDED_PERMILLE &&
            rates_of(other).writes >= rates_of(tablet).writes / 4 &&
            is_other(detail->points[detail->point_count - 1].row, front));
}

/* This one among them. */
static size_t count_growing(const struct advising *advising,
                            const struct advice_tablet *tablet,
                            struct bytes front)
{
    size_t growing = 1;
    for (size_t i = 0; i < advising->table->tablet_count; i++) {
        const struct advice_tablet *other = &advising->table->tablets[i];
        growing += other != tablet && grows_besides(advising, tablet, other, front) ? 1 : 0;
    }
    return growing;
}

static void cure_monotonic(struct advising *advising,
                           struct advice_finding *finding,
                           const struct cure_growing *growing)
{
    struct buffer text = BUFFER_INIT;
    const char *pattern = cure_growing(growing, &text);
    cure(advising, finding, pattern, &text);
}

static void judge_growth(struct advising *advising, const struct advice_tablet *tablet)
{
    const struct load_detail *detail = &tablet->detail;
    uint32_t share = permille(rates_of(tablet).writes, advising->all.writes);
    struct cure_growing growing = {.shape = shape_of_end(detail)};
    struct buffer text = BUFFER_INIT;
    char front[BYTES_PRINTABLE_SIZE_MAX];

    growing.others = has_others(advising, growing.shape.front);
    growing.writers = count_growing(advising, tablet, growing.shape.front);
    buffer_append_format(&text,
                         "%u %% of writes hit one tablet; its rows only grow at the end (%u %% of "
                         "its writes are above all rows before)",
                         share / 10, detail->appended_permille / 10);
    if (growing.shape.known) {
        buffer_append_format(&text, ", by ");
        cure_describe(&growing.shape, &text);
    }
    if (growing.shape.front.size_bytes > 0) {
        buffer_append_format(&text, " behind '%s'", bytes_printable(growing.shape.front, front));
    }
    buffer_append_format(&text, ": a split only moves the one tablet that is written to.");
    struct advice_finding *finding = add(advising, ADVICE_MONOTONIC, share, &text);
    if (finding != NULL) {
        finding->tablet = tablet->tablet;
        finding->range = tablet->range;
        if (detail->point_count > 1) {
            finding->range.start = detail->points[detail->point_count - 1].row;
        }
        cure_monotonic(advising, finding, &growing);
    }
}

static void find_monotonic(struct advising *advising)
{
    const struct advice_table *table = advising->table;

    for (size_t i = 0; i < table->tablet_count; i++) {
        if (grows_at_end(advising, &table->tablets[i])) {
            judge_growth(advising, &table->tablets[i]);
        }
    }
}

/* --- few tablets of many --------------------------------------------------------------------------- */

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

/* Rows where these tablets' load lies.  A first point is the tablet's start: a boundary, not a row. */
static struct key_shape shape_of_busiest(const struct advising *advising,
                                         const struct advice_tablet **sorted,
                                         size_t few)
{
    struct bytes *rows = arena_allocate_array(advising->arena, few * LOAD_POINTS_MAX, sizeof *rows);
    size_t count = 0;
    for (size_t i = 0; rows != NULL && i < few; i++) {
        for (size_t j = 1; j < sorted[i]->detail.point_count; j++) {
            rows[count++] = sorted[i]->detail.points[j].row;
        }
    }
    return key_shape_of(rows, count);
}

static void describe_busiest(const struct advice_tablet **sorted,
                             size_t few,
                             const struct key_shape *shape,
                             struct buffer *text)
{
    char front[BYTES_PRINTABLE_SIZE_MAX];
    for (size_t i = 0; i < few && i < ADVICE_NAMED_MAX; i++) {
        buffer_append_format(text, "%s%llu", i == 0 ? " (" : ", ",
                             (unsigned long long)sorted[i]->tablet);
    }
    buffer_append_format(text, few > ADVICE_NAMED_MAX ? ", ...)" : ")");
    if (shape->known && (shape->front.size_bytes > 0 || key_shape_is_time(shape))) {
        buffer_append_format(text, ", in rows that begin with '%s'",
                             bytes_printable(shape->front, front));
        if (key_shape_is_time(shape)) {
            buffer_append_format(text, " and ");
            cure_describe(shape, text);
        }
    }
    buffer_append_format(text, ".");
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
    struct key_shape shape = shape_of_busiest(advising, sorted, few);
    buffer_append_format(&text, "%u %% of %s hit %zu of the table's %llu tablets", share / 10,
                         load_name(advising->all), few, (unsigned long long)table->all_count);
    describe_busiest(sorted, few, &shape, &text);
    struct advice_finding *finding = add(advising, ADVICE_NARROW_RANGE, share, &text);
    if (finding != NULL) {
        struct buffer advised = BUFFER_INIT;
        const char *pattern = cure_crowded(&shape, has_others(advising, shape.front), &advised);
        finding->tablet = few == 1 ? sorted[0]->tablet : 0;
        finding->range = few == 1 ? sorted[0]->range : (struct row_range){BYTES_EMPTY, BYTES_EMPTY};
        cure(advising, finding, pattern, &advised);
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
                struct buffer advised = BUFFER_INIT;
                buffer_append_format(
                    &advised,
                    "Its load can be parted: a split lets another server take half of it.");
                cure(advising, finding, "", &advised);
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
            struct buffer advised = BUFFER_INIT;
            buffer_append_format(&advised,
                                 "Make rows of less: one event, or a bounded number of them, a "
                                 "row; keep values below 10 MB.");
            cure(advising, finding, "tall and narrow", &advised);
        }
    }
}

/* --- what load has left ---------------------------------------------------------------------------- */

/* Did who appended to the one go on into the other?  It was begun when the one was left. */
static bool succeeds(const struct advice_tablet *left, const struct advice_tablet *right)
{
    return left->quiet_ns > 0 && left->detail.appended_permille >= ADVICE_APPENDED_PERMILLE &&
           left->range.end.size_bytes > 0 && bytes_equal(left->range.end, right->range.start) &&
           right->elapsed_ns <= left->quiet_ns + SUCCESSOR_NS;
}

static bool is_beside_busy(const struct advice_table *table, size_t at)
{
    bool left = at > 0 && table->tablets[at - 1].quiet_ns == 0;
    bool right = at + 1 < table->tablet_count && table->tablets[at + 1].quiet_ns == 0;
    return left || right;
}

/* A part of a split that is not heard of while the other one is has none of the load; where neither is, it has ended for
 * both. */
static bool is_left(const struct advice_table *table, size_t at)
{
    const struct advice_tablet *tablet = &table->tablets[at];
    bool is_rest = tablet->inherited && tablet->quiet_ns > 0 && is_beside_busy(table, at);
    return tablet->quiet_ns > ADVICE_QUIET_NS || is_rest;
}

/* The tablets without those; in the arena.  NULL without memory. */
static struct advice_tablet *leave_out(const struct advice_table *table,
                                       struct arena *arena,
                                       size_t *ret_count)
{
    struct advice_tablet *kept = arena_allocate_array(arena, table->tablet_count + 1, sizeof *kept);
    uint32_t appended_permille = 0;

    *ret_count = 0;
    for (size_t i = 0; kept != NULL && i < table->tablet_count; i++) {
        struct advice_tablet tablet = table->tablets[i];
        bool more = i + 1 < table->tablet_count;
        if (appended_permille > tablet.detail.appended_permille) {
            tablet.detail.appended_permille = appended_permille; /* it cannot tell that yet */
        }
        bool succeeded = more && succeeds(&tablet, &table->tablets[i + 1]);
        appended_permille = succeeded ? tablet.detail.appended_permille : 0;
        if (!succeeded && !is_left(table, i)) {
            kept[(*ret_count)++] = tablet;
        }
    }
    return kept;
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

static void find_all(struct advising *advising)
{
    find_popular_keys(advising);
    find_monotonic(advising);
    find_narrow_range(advising);
    find_pressure(advising);
    find_large_rows(advising);
    if (advising->count == 0) {
        say_balanced(advising);
    }
}

enum status advise(const struct advice_table *told,
                   struct arena *arena,
                   struct advise_response *ret_response)
{
    struct advice_table table = {.all_count = told->all_count};
    struct advising advising = {
        .table = &table,
        .arena = arena,
        .findings = arena_allocate_array(arena, ADVICE_FINDINGS_MAX, sizeof(struct advice_finding)),
    };
    uint64_t observations = 0;

    table.tablets = leave_out(told, arena, &table.tablet_count);
    if (advising.findings == NULL || table.tablets == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < table.tablet_count; i++) {
        struct rates rates = rates_of(&table.tablets[i]);
        advising.all.reads += rates.reads;
        advising.all.writes += rates.writes;
        observations += table.tablets[i].detail.observations;
    }
    if (observations < ADVICE_OBSERVATIONS_MIN || sum_of(advising.all) < ADVICE_OPERATIONS_MIN) {
        say_too_few(&advising);
    } else {
        find_all(&advising);
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
        .tablet_count = table.all_count,
        .busy_count = table.tablet_count,
    };
    return STATUS_OK;
}
