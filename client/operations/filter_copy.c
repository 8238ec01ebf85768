#include "client/operations/filter_copy.h"

#include "common/wire/message.h"

static bool copy_bytes(struct arena *arena, struct bytes *bytes)
{
    *bytes = arena_copy(arena, *bytes);
    return bytes->data != NULL;
}

/* What the node itself borrows; its children are still the original's. */
static bool copy_node(struct arena *arena, const struct filter *from, struct filter *to)
{
    *to = *from;
    return copy_bytes(arena, &to->bytes) && copy_bytes(arena, &to->start.bytes) &&
           copy_bytes(arena, &to->end.bytes);
}

/* One level: the nodes of `nodes` get children of their own, which are the next level. */
struct level {
    struct filter *nodes;
    size_t count;
};

static size_t count_children(const struct level *level)
{
    size_t count = 0;
    for (size_t i = 0; i < level->count; i++) {
        count += level->nodes[i].child_count;
    }
    return count;
}

static enum status copy_level(struct arena *arena,
                              const struct level *level,
                              struct level *ret_next)
{
    struct level next = {.count = count_children(level)};
    size_t at = 0;
    next.nodes = arena_allocate_array(arena, next.count, sizeof *next.nodes);
    if (next.nodes == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < level->count; i++) {
        struct filter *node = &level->nodes[i];
        const struct filter *children = node->children;
        node->children = &next.nodes[at];
        for (size_t j = 0; j < node->child_count; j++) {
            if (!copy_node(arena, &children[j], &next.nodes[at++])) {
                return STATUS_NO_MEMORY;
            }
        }
    }
    *ret_next = next;
    return STATUS_OK;
}

enum status filter_copy(struct arena *arena,
                        const struct filter *filter,
                        const struct filter **ret_copy)
{
    if (filter == NULL) {
        *ret_copy = NULL;
        return STATUS_OK;
    }
    struct filter *root = arena_allocate(arena, sizeof *root);
    if (root == NULL || !copy_node(arena, filter, root)) {
        return STATUS_NO_MEMORY;
    }
    struct level level = {root, 1};
    for (int depth = 0; level.count > 0 && depth < MESSAGE_DEPTH_MAX; depth++) {
        enum status status = copy_level(arena, &level, &level);
        if (status != STATUS_OK) {
            return status;
        }
    }
    for (size_t i = 0; i < level.count; i++) {
        level.nodes[i].child_count = 0;
    }
    *ret_copy = root;
    return STATUS_OK;
}
