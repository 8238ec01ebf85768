/*
 * A client of a cluster whose masters come and go, for test_masters.sh:
 *
 *   masters_client TABLE FAMILY SECONDS
 *
 * One thread changes the catalog, over and over: a document that counts, each put naming the version
 * that it replaces.  Another adds to a counter in a row.  It prints "gap MS" for each time that the
 * catalog could not be changed for 300 ms or more, and in the end
 *
 *   puts=N rows=N row_ms_max=MS
 *
 * Exit status 1, and why: a put or an add that was acknowledged is not there, or was done twice, or a
 * row could not be written.  Masters: EDUBBA_MASTERS.  Stopped early by SIGTERM.
 */
#include <edubba.h>
#include <edubba_documents.h>

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GAP_MS          300
#define PUT_DEADLINE_MS 3000  /* who asks a master that stands still waits for so long */
#define ROW_DEADLINE_MS 60000 /* longer than any sync: how long a row took is told in the end */

static const char DOCUMENT[] = "test/counter";
static atomic_bool ending;
static atomic_bool failed;
static uint64_t rows;
static double row_ms_max;

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void fail(const char *what, const char *text)
{
    printf("FAILED: %s: %s\n", what, text);
    atomic_store(&failed, true);
    atomic_store(&ending, true);
}

static void on_signal(int number)
{
    (void)number;
    atomic_store(&ending, true);
}

/* --- the catalog -------------------------------------------------------------------------------- */

struct counter {
    uint64_t value;
    uint64_t version;
};

/* As it is there; 0 if it is not. */
static bool read_counter(struct edubba_client *client, struct counter *ret_counter)
{
    struct edubba_document *document = NULL;
    struct edubba_error error;
    char text[32] = "";
    enum edubba_code code = edubba_get_document(client, EDUBBA_TEXT(DOCUMENT), &document, &error);
    *ret_counter = (struct counter){0};
    if (code == EDUBBA_NOT_FOUND) {
        return true;
    }
    if (code != EDUBBA_OK) {
        return false;
    }
    memcpy(text, document->content.data, document->content.size < 31 ? document->content.size : 31);
    *ret_counter = (struct counter){strtoull(text, NULL, 10), document->version};
    edubba_free(document);
    return true;
}

/* Nobody else puts it: it is what was acknowledged, or that and the one whose fate is not known. */
static void settle(struct edubba_client *client, struct counter *counter)
{
    struct counter found;
    char text[96];
    while (!read_counter(client, &found)) {
        if (atomic_load(&ending)) {
            return;
        }
    }
    if (found.value != counter->value && found.value != counter->value + 1) {
        snprintf(text, sizeof text, "it is %" PRIu64 ", %" PRIu64 " was acknowledged", found.value,
                 counter->value);
        fail("the document", text);
    }
    *counter = found;
}

static void put_next(struct edubba_client *client, struct counter *counter)
{
    char text[32];
    struct edubba_error error;
    uint64_t version = 0;
    snprintf(text, sizeof text, "%" PRIu64, counter->value + 1);
    enum edubba_code code = edubba_put_document(client, EDUBBA_TEXT(DOCUMENT), EDUBBA_TEXT(text),
                                                counter->version, &version, &error);
    if (code == EDUBBA_OK) {
        *counter = (struct counter){counter->value + 1, version};
    } else if (code == EDUBBA_UNAVAILABLE || code == EDUBBA_DEADLINE_EXCEEDED ||
               code == EDUBBA_ABORTED) {
        settle(client, counter); /* aborted: a copy of it was done, and its answer was lost */
    } else {
        fail("a put", error.text);
    }
}

static uint64_t change_catalog(struct edubba_client *client, double end_ms)
{
    struct counter counter;
    while (!read_counter(client, &counter) && !atomic_load(&ending)) {
    }
    double last_ms = now_ms();
    while (!atomic_load(&ending) && now_ms() < end_ms) {
        uint64_t before = counter.value;
        put_next(client, &counter);
        double done_ms = now_ms();
        if (counter.value > before) {
            if (done_ms - last_ms >= GAP_MS) {
                printf("gap %.0f\n", done_ms - last_ms);
                (void)fflush(stdout);
            }
            last_ms = done_ms;
        }
        const struct timespec pause = {0, 2000000};
        (void)nanosleep(&pause, NULL);
    }
    settle(client, &counter);
    return counter.value;
}

/* --- rows --------------------------------------------------------------------------------------- */

struct place {
    struct edubba_table *table;
    const char *family;
};

static void *add_to_rows(void *context)
{
    struct place *place = context;
    struct edubba_error error;
    while (!atomic_load(&ending)) {
        struct edubba_mutation add = edubba_add_int64(place->family, EDUBBA_TEXT("n"), 0, 1);
        double begun_ms = now_ms();
        if (edubba_mutate_row(place->table, EDUBBA_TEXT("row"), &add, 1, &error) != EDUBBA_OK) {
            fail("a row", error.text);
            break;
        }
        double took_ms = now_ms() - begun_ms;
        row_ms_max = took_ms > row_ms_max ? took_ms : row_ms_max;
        rows++;
    }
    return NULL;
}

int main(int argument_count, char **arguments)
{
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    struct edubba_client *client = NULL;
    struct edubba_error error;
    struct place place = {0};
    pthread_t thread;
    if (argument_count != 4) {
        fprintf(stderr, "usage: masters_client TABLE FAMILY SECONDS\n");
        return 2;
    }
    options.deadline_ms = ROW_DEADLINE_MS;
    place.family = arguments[2];
    (void)signal(SIGTERM, on_signal);
    if (edubba_client_open(&options, &client, &error) != EDUBBA_OK ||
        edubba_table_open(client, arguments[1], &place.table, &error) != EDUBBA_OK ||
        pthread_create(&thread, NULL, add_to_rows, &place) != 0) {
        printf("FAILED: %s\n", error.text);
        return 1;
    }
    edubba_thread_deadline(PUT_DEADLINE_MS);
    double end_ms = now_ms() + strtod(arguments[3], NULL) * 1000;
    uint64_t puts = change_catalog(client, end_ms);
    atomic_store(&ending, true);
    (void)pthread_join(thread, NULL);
    printf("puts=%" PRIu64 " rows=%" PRIu64 " row_ms_max=%.0f\n", puts, rows, row_ms_max);
    edubba_table_close(place.table);
    edubba_client_close(client);
    return atomic_load(&failed) ? 1 : 0;
}
