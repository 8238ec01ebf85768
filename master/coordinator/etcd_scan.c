#include "master/coordinator/etcd_scan.h"

#include "common/base/memory.h"

#define PAGE_KEYS_START   256
#define PAGE_KEYS_MAX     16384
#define PAGE_BYTES_WANTED (8U << 20)
#define ARENA_BLOCK_BYTES (1U << 20)

static const struct etcd_patience read_patience = {.attempt_ms = 3000, .total_ms = 15000};

struct scan {
    struct etcd_client *client;
    struct etcd_span span;  /* what is left; its key in next_key but for the first page */
    struct buffer next_key; /* the key after the last one that was read */
    uint32_t limit;         /* keys of the next page */
    int64_t revision;       /* of the first page; 0 before it */
    struct arena arena;     /* of a page */
    bool more;
};

/* Pages as long as are good to read, however long the values are. */
static void settle_limit(struct scan *scan, size_t answer_bytes)
{
    if (answer_bytes > PAGE_BYTES_WANTED && scan->limit > 1) {
        scan->limit /= 2;
    } else if (answer_bytes < PAGE_BYTES_WANTED / 4 && scan->limit < PAGE_KEYS_MAX) {
        scan->limit *= 2;
    }
}

static enum status ask_once(struct scan *scan, struct etcd_range *ret_page, struct error *ret_error)
{
    struct buffer question = BUFFER_INIT;
    struct buffer answer = BUFFER_INIT;
    bool in_doubt = false;

    etcd_range_encode(&scan->span, scan->limit, scan->revision, &question);
    enum status status = etcd_client_ask(scan->client, "/v3/kv/range", &question, &read_patience,
                                         &answer, &in_doubt, ret_error);
    if (status == STATUS_OK) {
        arena_reset(&scan->arena);
        status = etcd_range_decode(buffer_bytes(&answer), &scan->arena, ret_page, ret_error);
        settle_limit(scan, answer.size_bytes);
    } else if (status == STATUS_OUT_OF_RANGE) {
        status = error_set(ret_error, STATUS_UNAVAILABLE,
                           "etcd was compacted while it was read: begin anew");
    }
    buffer_deinit(&question);
    buffer_deinit(&answer);
    return status;
}

/* Pages grow while values are short: of those that follow so many may be more than an answer can hold. */
static enum status ask_page(struct scan *scan, struct etcd_range *ret_page, struct error *ret_error)
{
    enum status status = ask_once(scan, ret_page, ret_error);

    while (status == STATUS_LIMIT && scan->limit > 1) {
        scan->limit /= 2;
        status = ask_once(scan, ret_page, ret_error);
    }
    return status;
}

/* The key right after the page's last: that one and a byte of zero. */
static enum status go_on_after(struct scan *scan,
                               const struct etcd_range *page,
                               struct error *ret_error)
{
    scan->more = page->more && page->count > 0;
    if (!scan->more) {
        return STATUS_OK;
    }
    buffer_reset(&scan->next_key);
    buffer_append_bytes(&scan->next_key, page->items[page->count - 1].key);
    buffer_append_u8(&scan->next_key, 0);
    scan->span.key = buffer_bytes(&scan->next_key);
    scan->revision = scan->revision == 0 ? page->revision : scan->revision;
    return scan->next_key.failed ? error_set(ret_error, STATUS_NO_MEMORY, "no memory to read etcd")
                                 : STATUS_OK;
}

static enum status take_page(struct scan *scan, etcd_take take, void *context, struct error *error)
{
    struct etcd_range page = {0};
    enum status status = ask_page(scan, &page, error);

    for (size_t i = 0; i < page.count && status == STATUS_OK; i++) {
        const struct etcd_key_value *item = &page.items[i];
        if (bytes_compare(item->key, scan->span.key) < 0 ||
            (i > 0 && bytes_compare(item->key, item[-1].key) <= 0)) {
            return error_set(error, STATUS_MALFORMED, "etcd's answer: keys out of order");
        }
        status = take(context, item, error);
    }
    return status == STATUS_OK ? go_on_after(scan, &page, error) : status;
}

enum status etcd_scan(struct etcd_client *client,
                      const struct etcd_span *span,
                      etcd_take take,
                      void *context,
                      struct error *ret_error)
{
    struct scan scan = {
        .client = client,
        .span = *span,
        .next_key = BUFFER_INIT,
        .limit = PAGE_KEYS_START,
        .more = true,
    };
    enum status status = STATUS_OK;

    arena_init(&scan.arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    while (scan.more && status == STATUS_OK) {
        status = take_page(&scan, take, context, ret_error);
    }
    arena_deinit(&scan.arena);
    buffer_deinit(&scan.next_key);
    return status;
}

enum status etcd_read_first(struct etcd_client *client,
                            const struct etcd_span *span,
                            bool *ret_found,
                            struct buffer *ret_value,
                            struct error *ret_error)
{
    struct scan scan = {.client = client, .span = *span, .next_key = BUFFER_INIT, .limit = 1};
    struct etcd_range page = {0};

    *ret_value = BUFFER_INIT;
    arena_init(&scan.arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    enum status status = ask_page(&scan, &page, ret_error);
    if (status == STATUS_OK) {
        *ret_found = page.count > 0;
        if (page.count > 0) {
            buffer_append_bytes(ret_value, page.items[0].value);
        }
        if (ret_value->failed) {
            buffer_deinit(ret_value);
            status = error_set(ret_error, STATUS_NO_MEMORY, "no memory to read etcd");
        }
    }
    arena_deinit(&scan.arena);
    return status;
}
