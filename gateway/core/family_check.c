#include "gateway/core/family_check.h"

#include "common/base/assert.h"
#include "common/base/memory.h"

#define INT64_STATE_BYTES 8

enum status family_types_init(struct family_types *types,
                              const struct edubba_family *families,
                              size_t count)
{
    *types = (struct family_types){NULL, 0};
    if (count == 0) {
        return STATUS_OK;
    }
    types->types = memory_allocate_zeroed(count, sizeof *types->types);
    if (types->types == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        struct family_type *type = &types->types[i];
        size_t size = strlen(families[i].name);
        ASSERT(size <= sizeof type->name); /* a master has checked it */
        type->aggregate = families[i].aggregate;
        type->name_bytes = (uint8_t)size;
        memcpy(type->name, families[i].name, size);
    }
    types->count = count;
    return STATUS_OK;
}

void family_types_deinit(struct family_types *types)
{
    memory_free(types->types);
    *types = (struct family_types){NULL, 0};
}

static bool is_named(const struct family_type *type, struct edubba_bytes name)
{
    return type->name_bytes == name.size && memcmp(type->name, name.data, name.size) == 0;
}

/* NULL when there is none.  Most lists name one family many times: last is looked at first. */
static const struct family_type *find(const struct family_types *types,
                                      struct edubba_bytes name,
                                      const struct family_type *last)
{
    if (last != NULL && is_named(last, name)) {
        return last;
    }
    for (size_t i = 0; i < types->count; i++) {
        if (is_named(&types->types[i], name)) {
            return &types->types[i];
        }
    }
    return NULL;
}

static bool is_integer(enum edubba_aggregate aggregate)
{
    return aggregate == EDUBBA_INTSUM || aggregate == EDUBBA_INTMIN || aggregate == EDUBBA_INTMAX;
}

static enum family_verdict check_add(const struct family_type *type,
                                     const struct edubba_mutation *mutation)
{
    bool is_bytes = mutation->input == EDUBBA_INPUT_BYTES || mutation->input == EDUBBA_INPUT_RAW;
    if (type != NULL && type->aggregate == EDUBBA_BYTESHLL) {
        return mutation->input == EDUBBA_INPUT_INT64 ? FAMILY_ADDS_BYTES : FAMILY_FITS;
    }
    if (is_bytes) {
        return FAMILY_ADDS_INT64;
    }
    if (type == NULL) {
        return FAMILY_IS_UNKNOWN;
    }
    return type->aggregate == EDUBBA_PLAIN ? FAMILY_IS_OTHER_TYPE : FAMILY_FITS;
}

/* Nothing is merged by no state; a sketch's state is looked into by the servers. */
static enum family_verdict check_merge(const struct family_type *type,
                                       const struct edubba_mutation *mutation)
{
    size_t size = mutation->input == EDUBBA_INPUT_NULL ? 0 : mutation->value.size;
    if (type == NULL) {
        return FAMILY_IS_UNKNOWN;
    }
    bool is_odd = is_integer(type->aggregate) && size != 0 && size != INT64_STATE_BYTES;
    return type->aggregate == EDUBBA_PLAIN || is_odd ? FAMILY_IS_OTHER_TYPE : FAMILY_FITS;
}

static enum family_verdict check_delete(const struct family_type *type)
{
    return type == NULL ? FAMILY_IS_UNKNOWN : FAMILY_FITS; /* it goes with any type */
}

static enum family_verdict check_set(const struct family_type *type)
{
    if (type == NULL) {
        return FAMILY_IS_UNKNOWN;
    }
    return type->aggregate == EDUBBA_PLAIN ? FAMILY_FITS : FAMILY_IS_OTHER_TYPE;
}

enum family_verdict family_check(const struct family_types *types,
                                 const struct edubba_mutation *mutations,
                                 size_t count,
                                 size_t *ret_element)
{
    enum family_verdict worst = FAMILY_FITS;
    const struct family_type *type = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct edubba_mutation *mutation = &mutations[i];
        enum family_verdict verdict = FAMILY_FITS;
        if (mutation->kind != EDUBBA_DELETE_FROM_ROW) {
            type = find(types, mutation->family, type);
        }
        if (mutation->kind == EDUBBA_SET_CELL) {
            verdict = check_set(type);
        } else if (mutation->kind == EDUBBA_ADD_TO_CELL) {
            verdict = check_add(type, mutation);
        } else if (mutation->kind == EDUBBA_MERGE_TO_CELL) {
            verdict = check_merge(type, mutation);
        } else if (mutation->kind != EDUBBA_DELETE_FROM_ROW) {
            verdict = check_delete(type);
        }
        if (verdict > worst) {
            worst = verdict;
            *ret_element = i;
        }
    }
    return worst;
}
