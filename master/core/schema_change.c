#include "master/core/schema_change.h"

#include <stdlib.h>

#include "common/base/assert.h"
#include "common/base/limits.h"

/* The table being changed: families in an array with room for one more. */
struct draft {
    struct table table;
    struct family families[LIMIT_FAMILIES_PER_TABLE];
};

static struct family *draft_find(struct draft *draft, struct bytes name)
{
    for (uint32_t i = 0; i < draft->table.family_count; i++) {
        if (bytes_equal(draft->families[i].name, name)) {
            return &draft->families[i];
        }
    }
    return NULL;
}

static enum status family_trouble(enum status status,
                                  const struct draft *draft,
                                  struct bytes family,
                                  const char *what,
                                  struct error *ret_error)
{
    char family_text[BYTES_PRINTABLE_SIZE_MAX];
    char table_text[BYTES_PRINTABLE_SIZE_MAX];
    return error_set(ret_error, status, "column family '%s' of table '%s' %s",
                     bytes_printable(family, family_text),
                     bytes_printable(draft->table.id, table_text), what);
}

static enum status draft_add_family(struct draft *draft,
                                    const struct family *family,
                                    struct error *ret_error)
{
    enum status status = family_name_check(family->name, ret_error);
    if (status == STATUS_OK) {
        status = gc_rule_check(&family->gc, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (family->aggregate > AGGREGATE_BYTESHLL) {
        return family_trouble(STATUS_INVALID_ARGUMENT, draft, family->name,
                              "has an unknown aggregate type", ret_error);
    }
    if (draft_find(draft, family->name) != NULL) {
        return family_trouble(STATUS_ALREADY_EXISTS, draft, family->name, "already exists",
                              ret_error);
    }
    if (draft->table.family_count == LIMIT_FAMILIES_PER_TABLE) {
        return family_trouble(STATUS_INVALID_ARGUMENT, draft, family->name,
                              "would be one too many: a table has at most 100", ret_error);
    }
    struct family *added = &draft->families[draft->table.family_count++];
    *added = *family;
    added->number = draft->table.family_number_next++;
    return STATUS_OK;
}

static enum status draft_update_gc(struct draft *draft,
                                   const struct family *wanted,
                                   struct error *ret_error)
{
    struct family *family = draft_find(draft, wanted->name);
    if (family == NULL) {
        return family_trouble(STATUS_NOT_FOUND, draft, wanted->name, "was not found", ret_error);
    }
    if (wanted->aggregate != AGGREGATE_NONE && wanted->aggregate != family->aggregate) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Immutable fields 'value_type.aggregate_type' cannot be updated");
    }
    enum status status = gc_rule_check(&wanted->gc, ret_error);
    if (status == STATUS_OK) {
        family->gc = wanted->gc;
    }
    return status;
}

static enum status draft_drop_family(struct draft *draft,
                                     struct bytes name,
                                     struct error *ret_error)
{
    struct family *family = draft_find(draft, name);
    if (family == NULL) {
        return family_trouble(STATUS_NOT_FOUND, draft, name, "was not found", ret_error);
    }
    if (draft->table.deletion_protection) {
        return family_trouble(STATUS_FAILED_PRECONDITION, draft, name,
                              "cannot be dropped: the table has deletion protection", ret_error);
    }
    struct family *end = draft->families + draft->table.family_count;
    for (struct family *at = family; at + 1 < end; at++) {
        at[0] = at[1];
    }
    draft->table.family_count--;
    return STATUS_OK;
}

static enum status draft_replicate(struct draft *draft,
                                   const struct alteration *alteration,
                                   struct error *ret_error)
{
    if (alteration->replicas == 0 && alteration->min_in_sync == 0) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "neither replicas nor min_in_sync is said");
    }
    if (alteration->replicas > 0) {
        draft->table.replicas = alteration->replicas;
    }
    if (alteration->min_in_sync > 0) {
        draft->table.min_in_sync = alteration->min_in_sync;
    }
    return table_replicas_check(&draft->table, ret_error);
}

static enum status draft_alter(struct draft *draft,
                               const struct alteration *alteration,
                               struct error *ret_error)
{
    switch (alteration->kind) {
    case ALTER_CREATE_FAMILY:
        return draft_add_family(draft, &alteration->family, ret_error);
    case ALTER_UPDATE_GC:
        return draft_update_gc(draft, &alteration->family, ret_error);
    case ALTER_DROP_FAMILY:
        return draft_drop_family(draft, alteration->family.name, ret_error);
    case ALTER_PROTECT:
        draft->table.deletion_protection = alteration->flag;
        return STATUS_OK;
    case ALTER_REPLICATION:
        return draft_replicate(draft, alteration, ret_error);
    case ALTER_PINNED:
        draft->table.pinned = alteration->flag;
        return STATUS_OK;
    }
    return error_set(ret_error, STATUS_INVALID_ARGUMENT, "unknown kind of alteration: %u",
                     (unsigned)alteration->kind);
}

static struct draft *draft_create(struct arena *arena, struct error *ret_error)
{
    struct draft *draft = arena_allocate(arena, sizeof *draft);
    if (draft == NULL) {
        (void)error_set(ret_error, STATUS_NO_MEMORY, "no memory to change a schema");
        return NULL;
    }
    draft->table = (struct table){0};
    return draft;
}

enum status schema_create(struct arena *arena,
                          const struct table *wanted,
                          uint64_t number,
                          struct table *ret_table,
                          struct error *ret_error)
{
    enum status status = table_name_check(wanted->id, ret_error);
    struct draft *draft = status == STATUS_OK ? draft_create(arena, ret_error) : NULL;

    if (draft == NULL) {
        return status == STATUS_OK ? STATUS_NO_MEMORY : status;
    }
    if (wanted->granularity != GRANULARITY_MILLIS && wanted->granularity != GRANULARITY_MICROS) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "unknown timestamp granularity %u",
                         (unsigned)wanted->granularity);
    }
    draft->table = (struct table){
        .number = number,
        .version = 1,
        .id = wanted->id,
        .granularity = wanted->granularity,
        .deletion_protection = wanted->deletion_protection,
        .family_number_next = 1,
        .replicas = wanted->replicas,
        .min_in_sync = wanted->min_in_sync,
        .pinned = wanted->pinned,
    };
    status = table_replicas_check(wanted, ret_error);
    for (uint32_t i = 0; i < wanted->family_count && status == STATUS_OK; i++) {
        status = draft_add_family(draft, &wanted->families[i], ret_error);
        if (status == STATUS_ALREADY_EXISTS) { /* twice in one request */
            status = error_set(ret_error, STATUS_INVALID_ARGUMENT, "%s", "a family is named twice");
        }
    }
    if (status != STATUS_OK) {
        return status;
    }
    draft->table.families = draft->families;
    *ret_table = draft->table;
    return STATUS_OK;
}

enum status schema_alter(struct arena *arena,
                         const struct table *before,
                         const struct alteration *alterations,
                         size_t alteration_count,
                         struct table *ret_after,
                         struct error *ret_error)
{
    struct draft *draft = draft_create(arena, ret_error);
    enum status status = STATUS_OK;

    if (draft == NULL) {
        return STATUS_NO_MEMORY;
    }
    ASSERT(before->family_count <= LIMIT_FAMILIES_PER_TABLE);
    draft->table = *before;
    for (uint32_t i = 0; i < before->family_count; i++) {
        draft->families[i] = before->families[i];
    }
    for (size_t i = 0; i < alteration_count && status == STATUS_OK; i++) {
        status = draft_alter(draft, &alterations[i], ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    draft->table.version++;
    draft->table.families = draft->families;
    *ret_after = draft->table;
    return STATUS_OK;
}

static int compare_keys(const void *a, const void *b)
{
    return bytes_compare(*(const struct bytes *)a, *(const struct bytes *)b);
}

enum status schema_splits(struct arena *arena,
                          const struct bytes *splits,
                          size_t split_count,
                          struct split_keys *ret_splits,
                          struct error *ret_error)
{
    size_t kept = 0;

    if (split_count > LIMIT_SPLITS_PER_CREATE) {
        return error_set(
            ret_error, STATUS_INVALID_ARGUMENT,
            "%zu initial splits are too many: at most %d are made with a table, others when it "
            "is there (ebt split)",
            split_count, LIMIT_SPLITS_PER_CREATE);
    }
    struct bytes *keys = arena_allocate_array(arena, split_count + 1, sizeof *keys);
    if (keys == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for initial splits");
    }
    for (size_t i = 0; i < split_count; i++) {
        if (splits[i].size_bytes == 0 || splits[i].size_bytes > LIMIT_ROW_KEY_BYTES) {
            return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                             "initial split %zu has %zu bytes: a row key has 1 to %d", i,
                             splits[i].size_bytes, LIMIT_ROW_KEY_BYTES);
        }
        keys[i] = splits[i];
    }
    qsort(keys, split_count, sizeof *keys, compare_keys);
    for (size_t i = 0; i < split_count; i++) {
        if (kept == 0 || !bytes_equal(keys[kept - 1], keys[i])) {
            keys[kept++] = keys[i];
        }
    }
    *ret_splits = (struct split_keys){keys, kept};
    return STATUS_OK;
}
