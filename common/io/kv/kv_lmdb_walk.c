/*
 * The format of LMDB 0.9 (numbers in the machine's order; page 0 and 1 are heads, of which the newer one counts):
 *
 *   page    0 number (8)  8 pad (2)  10 kind (2)  12 end of the offsets (2)  14 start of the nodes (2)  16 offsets (2 each)
 *           of an overflow page: 12 how many pages it goes over (4)  16 the value
 *   head    16 magic (4)  20 version (4)  24 address (8)  32 map size (8)  40 free list  88 tree  136 last page (8)
 *           144 transaction (8)
 *   tree    0 page size, in the free list's (4)  4 flags (2)  6 depth (2)  8 counts (32)  40 root (8): all ones = it is empty
 *   node    0 size of the value (4), or in a branch the page: bits 0 to 31  4 flags, or the page's bits 32 to 47 (2)
 *           6 size of the key (2)  8 key, value; of a large one in its place the number of its overflow page (8)
 *   free    the key is a transaction (8); the value says how many pages it freed, and which: the last one first (8 each)
 */
#include "common/io/kv/kv_lmdb_walk.h"

#include <string.h>

#include "common/base/bytes.h"
#include "common/base/memory.h"
#include "common/io/file.h"
#include "common/io/kv/kv.h"

#define HEAD_BYTES      16 /* of a page */
#define META_BYTES      152
#define META_PAGES      2
#define NODE_BYTES      8
#define MAGIC           UINT32_C(0xbeefc0de)
#define VERSION         1
#define NO_PAGE         UINT64_MAX
#define DEPTH_MAX       32 /* of LMDB's cursors */
#define PAGE_BYTES_MIN  UINT32_C(512)
#define PAGE_BYTES_MAX  UINT32_C(32768) /* offsets have 16 bits */
#define INTEGER_KEYS    0x08            /* of the free list */
#define KIND_BRANCH     0x01
#define KIND_LEAF       0x02
#define KIND_OVERFLOW   0x04
#define NODE_IS_LARGE   0x01
#define FREE_KEY_BYTES  8
#define FREE_PAGE_BYTES 8

struct tree {
    bool is_free_list;
    uint16_t flags;
    uint16_t depth;
    uint64_t root;
};

struct walk {
    struct file file;
    uint64_t page_count; /* that are in the file */
    uint64_t last_page;  /* that should be */
    uint32_t page_bytes;
    struct tree free_list;
    struct tree tree;
    uint8_t *seen;         /* a bit a page of the file */
    uint64_t missing_free; /* free pages behind the file's end */
    struct error *error;
};

struct node {
    struct bytes key;
    struct bytes value;   /* of a leaf; of a large one the number of its page */
    uint64_t child;       /* of a branch */
    uint64_t value_bytes; /* of a leaf */
    size_t size_bytes;    /* in its page */
    bool is_large;
};

/* Where in which tree a page stands. */
struct place {
    const struct tree *tree;
    uint64_t page;
    uint32_t depth; /* of the root: 1 */
};

/* Keys lie from low on, before high; NULL = anywhere. */
struct bounds {
    const struct bytes *low;
    const struct bytes *high;
};

static uint16_t get16(const uint8_t *at)
{
    uint16_t number = 0;
    memcpy(&number, at, sizeof number);
    return number;
}

static uint32_t get32(const uint8_t *at)
{
    uint32_t number = 0;
    memcpy(&number, at, sizeof number);
    return number;
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t number = 0;
    memcpy(&number, at, sizeof number);
    return number;
}

static enum status refuse(struct walk *walk, uint64_t page, const char *why)
{
    return error_set(walk->error, STATUS_CORRUPT, "%s is damaged: page %llu %s", walk->file.path,
                     (unsigned long long)page, why);
}

/* --- pages -------------------------------------------------------------------------------------- */

/* Note that the page is met, as used or as free.  Refuses one that is met twice, or is not in the file. */
static enum status mark(struct walk *walk, uint64_t page)
{
    if (page < META_PAGES || page > walk->last_page || page >= walk->page_count) {
        return refuse(walk, page, "is used, and is not there");
    }
    uint8_t bit = (uint8_t)(1U << (page % 8));
    if ((walk->seen[page / 8] & bit) != 0) {
        return refuse(walk, page, "is used twice");
    }
    walk->seen[page / 8] |= bit;
    return STATUS_OK;
}

static enum status read_page(struct walk *walk, uint64_t page, uint8_t *ret_page)
{
    enum status status = mark(walk, page);
    if (status == STATUS_OK) {
        status = file_read_at(&walk->file, page * walk->page_bytes, ret_page, walk->page_bytes,
                              walk->error);
    }
    if (status == STATUS_OK && get64(ret_page) != page) {
        status = refuse(walk, page, "is another one");
    }
    return status;
}

/* How many nodes it has; 0 = its head makes no sense. */
static size_t count_nodes(const struct walk *walk, const uint8_t *page, bool is_leaf)
{
    uint16_t lower = get16(page + 12);
    uint16_t upper = get16(page + 14);
    bool sound = get16(page + 10) == (is_leaf ? KIND_LEAF : KIND_BRANCH) && lower >= HEAD_BYTES &&
                 lower % 2 == 0 && lower <= upper && upper <= walk->page_bytes;
    size_t count = sound ? ((size_t)lower - HEAD_BYTES) / 2 : 0;
    return is_leaf || count > 1 ? count : 0;
}

/* False: it does not lie in the page. */
static bool read_node(
    const struct walk *walk, const uint8_t *page, size_t index, bool is_leaf, struct node *ret_node)
{
    size_t at = get16(page + HEAD_BYTES + 2 * index);
    if (at < get16(page + 14) || at % 2 != 0 || at + NODE_BYTES > walk->page_bytes) {
        return false;
    }
    const uint8_t *head = page + at;
    uint32_t low = get32(head);
    uint16_t flags = get16(head + 4);
    size_t key_bytes = get16(head + 6);
    bool is_large = is_leaf && flags == NODE_IS_LARGE;
    size_t value_bytes = !is_leaf ? 0 : is_large ? sizeof(uint64_t) : low;
    size_t size_bytes = NODE_BYTES + key_bytes + value_bytes;
    if (size_bytes > walk->page_bytes - at) {
        return false;
    }
    *ret_node = (struct node){
        .key = bytes_of(head + NODE_BYTES, key_bytes),
        .value = bytes_of(head + NODE_BYTES + key_bytes, value_bytes),
        .child = is_leaf ? 0 : low | (uint64_t)flags << 32,
        .value_bytes = is_leaf ? low : 0,
        .size_bytes = size_bytes + size_bytes % 2,
        .is_large = is_large,
    };
    return key_bytes <= KV_KEY_BYTES_MAX &&
           (!is_leaf || ((flags == 0 || is_large) && key_bytes > 0));
}

/* --- values ------------------------------------------------------------------------------------- */

/* All pages of a large value; with ret_value what it is, to be freed; none of an empty one. */
static enum status walk_large(struct walk *walk, const struct node *node, uint8_t **ret_value)
{
    uint64_t first = get64(node->value.data);
    uint8_t head[HEAD_BYTES];
    enum status status = mark(walk, first);
    if (status == STATUS_OK) {
        status = file_read_at(&walk->file, first * walk->page_bytes, head, sizeof head,
                              walk->error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    /* More than it needs, where a larger value was there before. */
    uint64_t count = get32(head + 12);
    if (get64(head) != first || get16(head + 10) != KIND_OVERFLOW ||
        count * walk->page_bytes < HEAD_BYTES + node->value_bytes) {
        return refuse(walk, first, "is not what a value lies in");
    }
    for (uint64_t i = 1; i < count && status == STATUS_OK; i++) {
        status = mark(walk, first + i);
    }
    if (status != STATUS_OK || ret_value == NULL || node->value_bytes == 0) {
        return status;
    }
    *ret_value = memory_allocate(node->value_bytes);
    if (*ret_value == NULL) {
        return error_set(walk->error, STATUS_NO_MEMORY, "no memory to look at %s", walk->file.path);
    }
    return file_read_at(&walk->file, first * walk->page_bytes + HEAD_BYTES, *ret_value,
                        node->value_bytes, walk->error);
}

static enum status mark_free(struct walk *walk, uint64_t leaf, const uint8_t *list, uint64_t bytes)
{
    uint64_t count = bytes < FREE_PAGE_BYTES ? 0 : get64(list);
    uint64_t before = NO_PAGE;
    if (bytes < FREE_PAGE_BYTES || count > bytes / FREE_PAGE_BYTES - 1) {
        return refuse(walk, leaf, "has a list of free pages that is longer than itself");
    }
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t page = get64(list + i * FREE_PAGE_BYTES);
        if (page < META_PAGES || page > walk->last_page || page >= before) {
            return refuse(walk, page, "is said to be free, and cannot be");
        }
        before = page;
        walk->missing_free += page >= walk->page_count;
        if (page < walk->page_count && mark(walk, page) != STATUS_OK) {
            return STATUS_CORRUPT;
        }
    }
    return STATUS_OK;
}

static enum status walk_value(struct walk *walk,
                              uint64_t leaf,
                              const struct node *node,
                              bool is_free_list)
{
    uint8_t *value = NULL;
    enum status status = node->is_large ? walk_large(walk, node, is_free_list ? &value : NULL)
                                        : STATUS_OK;
    if (status == STATUS_OK && is_free_list) {
        status = mark_free(walk, leaf, node->is_large ? value : node->value.data,
                           node->value_bytes);
    }
    memory_free(value);
    return status;
}

/* --- trees -------------------------------------------------------------------------------------- */

static enum status walk_page(struct walk *walk,
                             const struct place *place,
                             const struct bounds *bounds);

static int compare(const struct tree *tree, struct bytes a, struct bytes b)
{
    if (!tree->is_free_list) {
        return bytes_compare(a, b);
    }
    uint64_t x = get64(a.data);
    uint64_t y = get64(b.data);
    return (x > y) - (x < y);
}

/* Of a branch the first key stands for all below it, and is not looked at. */
static bool is_in_order(const struct tree *tree,
                        const struct node *node,
                        const struct bytes *before,
                        const struct bounds *bounds)
{
    if (tree->is_free_list && node->key.size_bytes != FREE_KEY_BYTES) {
        return false;
    }
    return (before == NULL || compare(tree, *before, node->key) < 0) &&
           (bounds->low == NULL || compare(tree, *bounds->low, node->key) <= 0) &&
           (bounds->high == NULL || compare(tree, node->key, *bounds->high) < 0);
}

static enum status walk_leaf(struct walk *walk,
                             const struct place *place,
                             const uint8_t *page,
                             size_t count,
                             const struct bounds *bounds)
{
    enum status status = STATUS_OK;
    struct node before = {0};
    size_t used_bytes = get16(page + 14);

    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        struct node node;
        if (!read_node(walk, page, i, true, &node) ||
            !is_in_order(place->tree, &node, i == 0 ? NULL : &before.key, bounds)) {
            return refuse(walk, place->page, "has an entry that makes no sense");
        }
        used_bytes += node.size_bytes;
        before = node;
        status = walk_value(walk, place->page, &node, place->tree->is_free_list);
    }
    return status == STATUS_OK && used_bytes > walk->page_bytes
               ? refuse(walk, place->page, "has entries that lie in each other")
               : status;
}

static enum status walk_branch(struct walk *walk,
                               const struct place *place,
                               const uint8_t *page,
                               size_t count,
                               const struct bounds *bounds)
{
    enum status status = STATUS_OK;
    struct node node;
    struct node next = {0};
    bool sound = read_node(walk, page, 0, false, &next);
    size_t used_bytes = get16(page + 14) + next.size_bytes;

    for (size_t i = 0; i < count && sound && status == STATUS_OK; i++) {
        bool is_last = i + 1 == count;
        node = next;
        sound = is_last || (read_node(walk, page, i + 1, false, &next) &&
                            is_in_order(place->tree, &next, i == 0 ? NULL : &node.key, bounds));
        used_bytes += is_last || !sound ? 0 : next.size_bytes;
        if (sound) {
            const struct place below = {place->tree, node.child, place->depth + 1};
            const struct bounds inside = {i == 0 ? bounds->low : &node.key,
                                          is_last ? bounds->high : &next.key};
            status = walk_page(walk, &below, &inside);
        }
    }
    return status == STATUS_OK && (!sound || used_bytes > walk->page_bytes)
               ? refuse(walk, place->page, "has a branch that makes no sense")
               : status;
}

static enum status walk_page(struct walk *walk,
                             const struct place *place,
                             const struct bounds *bounds)
{
    bool is_leaf = place->depth == place->tree->depth;
    uint8_t *page = memory_allocate(walk->page_bytes);
    if (page == NULL) {
        return error_set(walk->error, STATUS_NO_MEMORY, "no memory to look at %s", walk->file.path);
    }
    enum status status = read_page(walk, place->page, page);
    size_t count = status == STATUS_OK ? count_nodes(walk, page, is_leaf) : 0;
    if (status == STATUS_OK && count == 0) {
        status = refuse(walk, place->page, "is not what should be there");
    } else if (status == STATUS_OK) {
        status = is_leaf ? walk_leaf(walk, place, page, count, bounds)
                         : walk_branch(walk, place, page, count, bounds);
    }
    memory_free(page);
    return status;
}

static enum status walk_tree(struct walk *walk, const struct tree *tree)
{
    const struct place root = {tree, tree->root, 1};
    const struct bounds anywhere = {NULL, NULL};

    if (tree->root == NO_PAGE) {
        return STATUS_OK;
    }
    if (tree->flags != (tree->is_free_list ? INTEGER_KEYS : 0) || tree->depth == 0 ||
        tree->depth > DEPTH_MAX) {
        return refuse(walk, tree->root, "cannot be a tree's root");
    }
    return walk_page(walk, &root, &anywhere);
}

/* --- the file ----------------------------------------------------------------------------------- */

static struct tree read_tree(const uint8_t *at, bool is_free_list)
{
    return (struct tree){
        .is_free_list = is_free_list,
        .flags = get16(at + 4),
        .depth = get16(at + 6),
        .root = get64(at + 40),
    };
}

/* The newer one of the two, as LMDB takes it. */
static enum status read_heads(struct walk *walk, uint64_t file_bytes)
{
    uint8_t first[META_BYTES];
    uint8_t second[META_BYTES];
    enum status status = file_read_at(&walk->file, 0, first, sizeof first, walk->error);

    if (status != STATUS_OK) {
        return refuse(walk, 0, "ends too soon");
    }
    walk->page_bytes = get32(first + 40);
    if (walk->page_bytes < PAGE_BYTES_MIN || walk->page_bytes > PAGE_BYTES_MAX ||
        (walk->page_bytes & (walk->page_bytes - 1)) != 0 ||
        file_read_at(&walk->file, walk->page_bytes, second, sizeof second, walk->error) !=
            STATUS_OK) {
        return refuse(walk, 0, "is no head");
    }
    if (get32(first + 16) != MAGIC || get32(first + 20) != VERSION || get32(second + 16) != MAGIC ||
        get32(second + 20) != VERSION || get32(second + 40) != walk->page_bytes) {
        return refuse(walk, 0, "or the one behind it is no head");
    }
    const uint8_t *head = get64(second + 144) > get64(first + 144) ? second : first;
    walk->free_list = read_tree(head + 40, true);
    walk->tree = read_tree(head + 88, false);
    walk->last_page = get64(head + 136);
    walk->page_count = file_bytes / walk->page_bytes;
    return STATUS_OK;
}

static enum status walk_file(struct walk *walk, uint64_t file_bytes)
{
    enum status status = read_heads(walk, file_bytes);
    if (status != STATUS_OK) {
        return status;
    }
    walk->seen = memory_allocate_zeroed(walk->page_count / 8 + 1, 1);
    if (walk->seen == NULL) {
        return error_set(walk->error, STATUS_NO_MEMORY, "no memory to look at %s", walk->file.path);
    }
    status = walk_tree(walk, &walk->tree);
    if (status == STATUS_OK) {
        status = walk_tree(walk, &walk->free_list);
    }
    /* LMDB does not write pages that the transaction that took them gave back. */
    if (status == STATUS_OK && walk->last_page >= walk->page_count &&
        walk->last_page + 1 - walk->page_count > walk->missing_free) {
        status = refuse(walk, walk->last_page, "is missing, and so are some before it");
    }
    memory_free(walk->seen);
    return status;
}

enum status kv_lmdb_walk(const char *folder, struct error *ret_error)
{
    struct walk walk = {.file = FILE_CLOSED, .error = ret_error};
    char path[FILE_PATH_SIZE_MAX];
    uint64_t file_bytes = 0;
    enum status status = file_path_join(path, folder, "data.mdb", ret_error);

    if (status == STATUS_OK) {
        status = file_open_read(path, &walk.file, ret_error);
    }
    if (status == STATUS_OK) {
        status = file_size(&walk.file, &file_bytes, ret_error);
    }
    if (status == STATUS_OK && file_bytes > 0) {
        status = walk_file(&walk, file_bytes);
    }
    file_close(&walk.file);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}
