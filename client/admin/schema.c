#include "client/admin/schema.h"

#include "client/loop/block.h"
#include "common/base/assert.h"
#include "common/base/memory.h"

#define ARENA_BLOCK_BYTES 1024

/* --- from the public structs ------------------------------------------------------------------ */

/* One level of rules; the children of all of them are the next. */
struct rules {
    const struct edubba_gc_rule **from;
    struct gc_rule *to;
    size_t count;
};

static enum status convert_rule(const struct edubba_gc_rule *from,
                                struct gc_rule *to,
                                struct error *ret_error)
{
    if ((unsigned)from->kind > EDUBBA_GC_INTERSECTION) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "GC rule of unknown kind %d",
                         (int)from->kind);
    }
    if (from->child_count > LIMIT_GC_RULE_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "GC rule with %zu children",
                         from->child_count);
    }
    bool has_children = from->kind == EDUBBA_GC_UNION || from->kind == EDUBBA_GC_INTERSECTION;
    *to = (struct gc_rule){
        .kind = (enum gc_kind)from->kind,
        .versions = from->versions,
        .age_us = from->age_us,
        .child_count = has_children ? (uint32_t)from->child_count : 0,
    };
    return STATUS_OK;
}

static enum status convert_level(struct arena *arena,
                                 const struct rules *level,
                                 struct rules *ret_next,
                                 struct error *ret_error)
{
    struct rules next = {0};
    for (size_t i = 0; i < level->count; i++) {
        enum status status = convert_rule(level->from[i], &level->to[i], ret_error);
        if (status != STATUS_OK) {
            return status;
        }
        next.count += level->to[i].child_count;
    }
    next.from = arena_allocate_array(arena, next.count, sizeof *next.from);
    next.to = arena_allocate_array(arena, next.count, sizeof *next.to);
    if (next.from == NULL || next.to == NULL) {
        return client_status_no_memory(ret_error);
    }
    size_t at = 0;
    for (size_t i = 0; i < level->count; i++) {
        level->to[i].children = &next.to[at];
        for (size_t j = 0; j < level->to[i].child_count; j++) {
            next.from[at++] = &level->from[i]->children[j];
        }
    }
    *ret_next = next;
    return STATUS_OK;
}

enum status schema_gc_from_public(struct arena *arena,
                                  const struct edubba_gc_rule *rule,
                                  struct gc_rule *ret_rule,
                                  struct error *ret_error)
{
    struct rules level = {&rule, ret_rule, 1};
    for (int depth = 0; level.count > 0; depth++) {
        if (depth == SCHEMA_GC_DEPTH_MAX) {
            return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                             "GC rule is nested deeper than %d levels", SCHEMA_GC_DEPTH_MAX);
        }
        enum status status = convert_level(arena, &level, &level, ret_error);
        if (status != STATUS_OK) {
            return status;
        }
    }
    return STATUS_OK;
}

enum status schema_family_from_public(struct arena *arena,
                                      const struct edubba_family *family,
                                      struct family *ret_family,
                                      struct error *ret_error)
{
    struct family converted = {.name = bytes_of_text(family->name != NULL ? family->name : "")};
    if ((unsigned)family->aggregate > EDUBBA_BYTESHLL) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "family %s: unknown aggregate %d",
                         family->name, (int)family->aggregate);
    }
    converted.aggregate = (enum aggregate_kind)family->aggregate;
    enum status status = schema_gc_from_public(arena, &family->gc, &converted.gc, ret_error);
    if (status == STATUS_OK) {
        *ret_family = converted;
    }
    return status;
}

/* --- to the public structs -------------------------------------------------------------------- */

/* Recursion is bounded: catalogs hold checked rules, and no message nests deeper than
 * MESSAGE_DEPTH_MAX. */
static void gc_to_public(struct block *block,
                         const struct gc_rule *rule,
                         struct edubba_gc_rule *ret_rule)
{
    struct edubba_gc_rule *children = block_take(block, rule->child_count * sizeof *children);
    for (uint32_t i = 0; i < rule->child_count; i++) {
        gc_to_public(block, &rule->children[i], children != NULL ? &children[i] : NULL);
    }
    if (ret_rule != NULL) {
        *ret_rule = (struct edubba_gc_rule){
            .kind = (enum edubba_gc_kind)rule->kind,
            .versions = rule->versions,
            .age_us = rule->age_us,
            .children = rule->child_count > 0 ? children : NULL,
            .child_count = rule->child_count,
        };
    }
}

static void write_schema(struct block *block, const struct table *table, uint32_t tablet_count)
{
    struct edubba_schema *schema = block_take(block, sizeof *schema);
    struct edubba_family *families = block_take(block, table->family_count * sizeof *families);
    const char *name = block_text(block, table->id);
    for (uint32_t i = 0; i < table->family_count; i++) {
        const struct family *from = &table->families[i];
        const char *family_name = block_text(block, from->name);
        gc_to_public(block, &from->gc, families != NULL ? &families[i].gc : NULL);
        if (families != NULL) {
            families[i].name = family_name;
            families[i].aggregate = (enum edubba_aggregate)from->aggregate;
        }
    }
    if (schema != NULL) {
        *schema = (struct edubba_schema){
            .name = name,
            .micros = table->granularity == GRANULARITY_MICROS,
            .deletion_protection = table->deletion_protection,
            .families = families,
            .family_count = table->family_count,
            .tablet_count = tablet_count,
            .replicas = table->replicas,
            .min_in_sync = table->min_in_sync,
            .pinned = table->pinned,
        };
    }
}

struct edubba_schema *schema_to_public(const struct table *table, uint32_t tablet_count)
{
    struct block block = BLOCK_MEASURING;
    write_schema(&block, table, tablet_count);
    if (block_allocate(&block)) {
        write_schema(&block, table, tablet_count);
    }
    return (struct edubba_schema *)(void *)block.memory;
}

void edubba_schema_free(struct edubba_schema *schema)
{
    memory_free(schema);
}

/* --- GC rules as text ------------------------------------------------------------------------- */

static struct edubba_gc_rule *rule_to_public(const struct gc_rule *rule)
{
    struct block block = BLOCK_MEASURING;
    struct edubba_gc_rule *root = block_take(&block, sizeof *root);
    gc_to_public(&block, rule, root);
    root = block_allocate(&block) ? block_take(&block, sizeof *root) : NULL;
    if (root != NULL) {
        gc_to_public(&block, rule, root);
    }
    return root;
}

enum edubba_code edubba_gc_rule_parse(const char *text,
                                      struct edubba_gc_rule **rule,
                                      struct edubba_error *error)
{
    struct gc_rule parsed;
    struct error trouble = {0};
    struct arena arena;
    enum edubba_code code = EDUBBA_OK;

    arena_init(&arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    if (gc_rule_parse(&arena, text, &parsed, &trouble) != STATUS_OK) {
        code = client_error_of(error, &trouble);
    } else {
        struct edubba_gc_rule *made = rule_to_public(&parsed);
        code = made != NULL ? client_success(error) : client_no_memory(error);
        *rule = made != NULL ? made : *rule;
    }
    arena_deinit(&arena);
    return code;
}

void edubba_gc_rule_free(struct edubba_gc_rule *rule)
{
    memory_free(rule);
}

char *edubba_gc_rule_format(const struct edubba_gc_rule *rule)
{
    struct gc_rule converted;
    struct buffer text = BUFFER_INIT;
    struct arena arena;
    char *copy = NULL;

    arena_init(&arena, ARENA_BLOCK_BYTES, SIZE_MAX);
    if (schema_gc_from_public(&arena, rule, &converted, NULL) == STATUS_OK) {
        gc_rule_format(&converted, &text);
        copy = text.failed ? NULL : memory_copy_text(buffer_bytes(&text));
    }
    buffer_deinit(&text);
    arena_deinit(&arena);
    return copy;
}
