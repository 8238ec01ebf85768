#include "master/placement/advice.h"

#include <stdlib.h>

#include "master/placement/advice_cure.h"
#include "master/placement/advice_parts.h"

#define SUCCESSOR_NS \
    UINT64_C(2000000000) /* a tablet that was begun in so long after another was left */

/* --- figures ------------------------------------------------------------------------------------ */

/* Whoever claims to have done more than can be counted is not believed all of it. */
static uint64_t whole_number(double value)
{
    return value >= 1e18 ? UINT64_C(1000000000000000000) : (uint64_t)value;
}

static uint32_t cpu_permille(const struct advice_tablet *tablet)
{
    return advice_permille((double)tablet->figures.read_cpu_ns +
                               (double)tablet->figures.write_cpu_ns,
                           (double)tablet->capacity_ns);
}

/* The load of all points together, of which frequent keys have parts. */
static struct advice_rates detail_total(const struct load_detail *detail)
{
    struct advice_rates total = {0, 0};
    for (size_t i = 0; i < detail->point_count; i++) {
        total.reads += (double)detail->points[i].reads;
        total.writes += (double)detail->points[i].writes;
    }
    return total;
}

/* --- findings ----------------------------------------------------------------------------------- */

/* By share; but findings about keys come before those about what follows from keys. */
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

/* A place for it: of one that weighs less, where there are enough.  NULL: there is none. */
static struct advice_finding *find_place(struct advising *advising,
                                         const struct advice_finding *added)
{
    struct advice_finding *least = &advising->findings[0];
    if (advising->count < ADVICE_FINDINGS_MAX) {
        return &advising->findings[advising->count++];
    }
    for (size_t i = 1; i < advising->count; i++) {
        if (by_weight(least, &advising->findings[i]) < 0) {
            least = &advising->findings[i];
        }
    }
    return by_weight(added, least) < 0 ? least : NULL;
}

struct advice_finding *advice_add(struct advising *advising,
                                  enum advice_kind kind,
                                  uint32_t share,
                                  struct buffer *text)
{
    const struct advice_finding added = {.kind = kind, .share_permille = share};
    struct advice_finding *finding = text->failed ? NULL : find_place(advising, &added);
    advising->failed = advising->failed || text->failed;
    if (finding != NULL) {
        *finding = added;
        finding->text = arena_copy(advising->arena, buffer_bytes(text));
        advising->failed = advising->failed || finding->text.data == NULL;
    }
    buffer_deinit(text);
    return finding;
}

void advice_add_cure(struct advising *advising,
                     struct advice_finding *finding,
                     const char *pattern,
                     struct buffer *text)
{
    finding->pattern = bytes_of_text(pattern);
    finding->cure = arena_copy(advising->arena, buffer_bytes(text));
    advising->failed = advising->failed || text->failed || finding->cure.data == NULL;
    buffer_deinit(text);
}

bool advice_has_finding(const struct advising *advising, uint64_t tablet)
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
                      struct advice_rates total)
{
    double own = (double)key->reads + (double)key->writes;
    double rate = own / advice_sum(total) * advice_sum(advice_rates_of(tablet));
    uint32_t of_tablet = advice_permille(own, advice_sum(total));
    uint32_t share = advice_permille(rate, advice_sum(advising->all));
    bool presses = of_tablet >= 2 * ADVICE_TABLET_PERMILLE &&
                   cpu_permille(tablet) >= ADVICE_PRESSURE_PERMILLE;
    struct buffer text = BUFFER_INIT;
    char row[BYTES_PRINTABLE_SIZE_MAX];

    if ((share < ADVICE_KEY_PERMILLE || rate < ADVICE_ROW_OPERATIONS_MIN) && !presses) {
        return;
    }
    buffer_append_format(
        &text,
        "%u %% of the table's load hits one row, '%s' (%u %% of its tablet's, mostly "
        "%s): no split can part a row.",
        share / 10, bytes_printable(key->row, row), of_tablet / 10,
        key->writes > key->reads ? "writes" : "reads");
    struct advice_finding *finding = advice_add(advising, ADVICE_POPULAR_KEY, share, &text);
    if (finding != NULL) {
        finding->tablet = tablet->tablet;
        finding->range = tablet->range;
        finding->key = key->row;
        struct buffer advised = BUFFER_INIT;
        const char *pattern = cure_popular(key->row, key->writes > key->reads, &advised);
        advice_add_cure(advising, finding, pattern, &advised);
    }
}

static void find_popular_keys(struct advising *advising)
{
    for (size_t i = 0; i < advising->table->tablet_count; i++) {
        const struct advice_tablet *tablet = &advising->table->tablets[i];
        struct advice_rates total = detail_total(&tablet->detail);
        for (size_t j = 0; j < tablet->detail.key_count && advice_sum(total) > 0; j++) {
            judge_key(advising, tablet, &tablet->detail.keys[j], total);
        }
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
            share / 10, advice_rates_of(tablet).reads, advice_rates_of(tablet).writes,
            can_be_cut ? "; its load is spread over its rows" : "");
        struct advice_finding *finding = advice_add(advising, ADVICE_HIGH_PRESSURE, share, &text);
        if (finding != NULL) {
            finding->tablet = tablet->tablet;
            finding->range = tablet->range;
            if (can_be_cut) {
                struct buffer advised = BUFFER_INIT;
                buffer_append_format(
                    &advised,
                    "Its load can be parted: a split lets another server take half of it.");
                advice_add_cure(advising, finding, "", &advised);
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
        struct advice_finding *finding = advice_add(
            advising, ADVICE_LARGE_ROWS,
            advice_permille(advice_sum(advice_rates_of(tablet)), advice_sum(advising->all)), &text);
        if (finding != NULL) {
            finding->tablet = tablet->tablet;
            finding->range = tablet->range;
            struct buffer advised = BUFFER_INIT;
            buffer_append_format(&advised,
                                 "Make rows of less: one event, or a bounded number of them, a "
                                 "row; keep values below 10 MB.");
            advice_add_cure(advising, finding, "tall and narrow", &advised);
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
    (void)advice_add(advising, ADVICE_TOO_FEW, 0, &text);
}

static void say_balanced(struct advising *advising)
{
    const struct advice_table *table = advising->table;
    struct buffer text = BUFFER_INIT;
    uint32_t most = 0;
    size_t points = 0;
    for (size_t i = 0; i < table->tablet_count; i++) {
        uint32_t share = advice_permille(advice_sum(advice_rates_of(&table->tablets[i])),
                                         advice_sum(advising->all));
        most = share > most ? share : most;
        points += table->tablets[i].detail.point_count;
    }
    if (table->all_count == 1) {
        buffer_append_format(&text,
                             "Nothing is to be said against the keys: load is spread over the "
                             "rows of the table's one tablet%s.",
                             points >= LOAD_POINTS_MAX / 4 ? ", and can be parted by splits" : "");
    } else {
        bool uneven = most >= ADVICE_UNEVEN_PERMILLE &&
                      most >= ADVICE_UNEVEN_TIMES * 1000 / table->all_count;
        buffer_append_format(
            &text, "%s: of %llu tablets the busiest takes %u %% of %s.%s",
            uneven ? "No fault of the keys can be told, but they are used unevenly"
                   : "Nothing is to be said against the keys",
            (unsigned long long)table->all_count, most / 10, advice_load_name(advising->all),
            uneven ? "  If it stays so, look at its rows (ebt hot-keys), and at what splits and "
                     "moves have come to (ebt events)."
                   : "");
    }
    (void)advice_add(advising, ADVICE_BALANCED, most, &text);
}

/* What was counted tells of rows that are large, however few they are. */
static void find_of_few(struct advising *advising)
{
    find_large_rows(advising);
    if (advising->count == 0) {
        say_too_few(advising);
    }
}

static void find_all(struct advising *advising)
{
    find_popular_keys(advising);
    advice_find_growth(advising);
    advice_find_narrow(advising);
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
        struct advice_rates rates = advice_rates_of(&table.tablets[i]);
        advising.all.reads += rates.reads;
        advising.all.writes += rates.writes;
        observations += table.tablets[i].detail.observations;
    }
    if (told->known_ns < ADVICE_KNOWN_NS) {
        say_too_few(&advising);
    } else if (observations < ADVICE_OBSERVATIONS_MIN ||
               advice_sum(advising.all) < ADVICE_OPERATIONS_MIN) {
        find_of_few(&advising);
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
        .operations_per_second = whole_number(advice_sum(advising.all)),
        .tablet_count = table.all_count,
        .busy_count = table.tablet_count,
    };
    return STATUS_OK;
}
