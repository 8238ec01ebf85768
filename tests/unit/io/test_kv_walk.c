/* A file that is looked at first: whatever was harmed in it, it is refused or it can be used, and never the end of the
 * process. */
#include "tests/support/kv_fixture.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common/base/memory.h"
#include "common/base/prng.h"

#define PAGE_BYTES  4096
#define VALUE_BYTES 20000
#define KEYS        1500
#define HARMS       300

static const struct kv_options LOOKS = {.map_size_bytes = UINT64_C(1) << 26, .looks_first = true};

TestSuite(kv_walk, .timeout = 600);

static struct bytes key_of(uint64_t number, char text[32])
{
    snprintf(text, 32, "key %llu", (unsigned long long)number);
    return bytes_of_text(text);
}

/* Small values, and now and then a large one; some keys go again, so that there are free pages. */
static enum status change(struct kv *kv, struct prng *prng, uint64_t count)
{
    static uint8_t value[VALUE_BYTES];
    struct kv_write *write = NULL;
    enum status status = kv_write_begin(kv, &write);
    for (uint64_t i = 0; i < count && status == STATUS_OK; i++) {
        char text[32];
        bool found = false;
        struct bytes key = key_of(prng_below(prng, KEYS), text);
        size_t size = prng_chance(prng, 20) ? prng_below(prng, VALUE_BYTES) : prng_below(prng, 100);
        status = prng_chance(prng, 3) ? kv_write_delete(write, key, &found)
                                      : kv_write_put(write, key, bytes_of(value, size));
    }
    if (write != NULL && status != STATUS_OK) {
        kv_write_abort(write);
    }
    return status == STATUS_OK ? kv_write_commit(write) : status;
}

static void read_all(struct kv *kv)
{
    struct kv_read *read = NULL;
    struct kv_cursor *cursor = NULL;
    struct bytes key;
    struct bytes value;
    bool found = true;
    volatile uint8_t last = 0;
    if (kv_read_begin(kv, &read) != STATUS_OK || kv_cursor_open_read(read, &cursor) != STATUS_OK) {
        return;
    }
    enum status status = kv_cursor_move(cursor, KV_SEEK, bytes_of("", 1), &key, &value, &found);
    while (status == STATUS_OK && found) {
        last = value.size_bytes > 0 ? value.data[value.size_bytes - 1] : last;
        status = kv_cursor_move(cursor, KV_NEXT, BYTES_EMPTY, &key, &value, &found);
    }
    kv_cursor_close(cursor);
    kv_read_end(read);
}

static void open_again(struct place *place)
{
    struct error error = {0};
    kv_close(place->kv);
    cr_assert_eq(kv_open(place->folder, &LOOKS, &place->kv, &error), STATUS_OK, "%s", error.text);
}

Test(kv_walk, what_was_not_harmed_is_opened)
{
    struct prng prng = prng_of_seed(1);
    struct place place = open_place(false);
    open_again(&place); /* empty */
    for (uint64_t i = 0; i < 60; i++) {
        cr_assert_eq(change(place.kv, &prng, 1 + prng_below(&prng, 300)), STATUS_OK);
        open_again(&place);
    }
    close_place(&place);
}

/* --- harmed ------------------------------------------------------------------------------------- */

static size_t read_file(const char *folder, uint8_t **ret_data)
{
    char path[300];
    snprintf(path, sizeof path, "%s/data.mdb", folder);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    cr_assert_eq(fseek(file, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(file);
    rewind(file);
    *ret_data = memory_allocate(size);
    cr_assert_not_null(*ret_data);
    cr_assert_eq(fread(*ret_data, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
    return size;
}

static void write_file(const char *folder, const uint8_t *data, size_t size)
{
    char path[300];
    snprintf(path, sizeof path, "%s/data.mdb", folder);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(data, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

static void scatter(uint8_t *data, size_t from, size_t size, uint64_t count, struct prng *prng)
{
    for (uint64_t i = 0; i < count && size > 0; i++) {
        data[from + prng_below(prng, size)] ^= (uint8_t)(1U << prng_below(prng, 8));
    }
}

/* Returns how long the file is then. */
static size_t harm(uint8_t *data, size_t size, struct prng *prng)
{
    size_t pages = size / PAGE_BYTES;
    size_t page = prng_below(prng, pages) * PAGE_BYTES;
    size_t other = prng_below(prng, pages) * PAGE_BYTES;

    switch (prng_below(prng, 6)) {
    case 0: /* a page's head, offsets, or what stands in it first */
        scatter(data, page, 80, 1 + prng_below(prng, 8), prng);
        break;
    case 1:
        scatter(data, page, PAGE_BYTES, 1 + prng_below(prng, 100), prng);
        break;
    case 2:
        scatter(data, 0, size, 1 + prng_below(prng, 2000), prng);
        break;
    case 3:
        memset(data + page, prng_chance(prng, 2) ? 0 : 0xff, PAGE_BYTES);
        break;
    case 4:
        memcpy(data + page, data + other, PAGE_BYTES);
        break;
    default:
        return prng_below(prng, size);
    }
    return size;
}

/* In a process of its own.  True: it was refused. */
static bool use(const char *folder, uint64_t seed)
{
    pid_t child = fork();
    if (child == 0) {
        struct prng prng = prng_of_seed(seed);
        struct error error = {0};
        struct kv *kv = NULL;
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        enum status status = kv_open(folder, &LOOKS, &kv, &error);
        if (status == STATUS_OK) {
            read_all(kv);
            for (int i = 0; i < 4; i++) {
                (void)change(kv, &prng, 1000);
            }
            kv_close(kv);
        }
        _exit(status == STATUS_OK ? 0 : status == STATUS_CORRUPT ? 1 : 2);
    }
    int ended = 0;
    cr_assert_eq(waitpid(child, &ended, 0), child);
    cr_assert(WIFEXITED(ended), "harm %llu: ended by signal %d", (unsigned long long)seed,
              WTERMSIG(ended));
    cr_assert_lt(WEXITSTATUS(ended), 2, "harm %llu: refused, but not as damage",
                 (unsigned long long)seed);
    return WEXITSTATUS(ended) == 1;
}

Test(kv_walk, harm_is_refused_and_ends_no_process)
{
    struct prng prng = prng_of_seed(2);
    struct place place = open_place(false);
    uint8_t *data = NULL;
    int refused = 0;

    for (int i = 0; i < 20; i++) {
        cr_assert_eq(change(place.kv, &prng, 300), STATUS_OK);
    }
    kv_close(place.kv);
    size_t size = read_file(place.folder, &data);
    uint8_t *copy = memory_allocate(size);
    cr_assert_not_null(copy);
    for (uint64_t seed = 0; seed < HARMS; seed++) {
        prng = prng_of_seed(seed);
        memcpy(copy, data, size);
        write_file(place.folder, copy, harm(copy, size, &prng));
        refused += use(place.folder, seed);
    }
    cr_assert_gt(refused, HARMS / 4);
    cr_assert_lt(refused, HARMS, "what harms no page that is used, or a value, does not matter");
    memory_free(copy);
    memory_free(data);
    place.kv = NULL;
    close_place(&place);
}
