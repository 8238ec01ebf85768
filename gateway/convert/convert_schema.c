#include "gateway/convert/convert_schema.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"

typedef Google__Bigtable__Admin__V2__Table Table;
typedef Google__Bigtable__Admin__V2__Table__ColumnFamiliesEntry Entry;
typedef Google__Bigtable__Admin__V2__ColumnFamily Family;

#define GRANULARITY(name) GOOGLE__BIGTABLE__ADMIN__V2__TABLE__TIMESTAMP_GRANULARITY__##name

/* --- to edubba.h ------------------------------------------------------------------------------ */

enum status convert_family(const char *name,
                           const Family *family,
                           struct arena *arena,
                           struct edubba_family *ret_family,
                           struct error *ret_error)
{
    struct edubba_family converted = {.name = name};
    enum status status = STATUS_OK;
    if (family != NULL) {
        status = convert_gc_rule(family->gc_rule, arena, &converted.gc, ret_error);
        if (status == STATUS_OK) {
            status = convert_value_type(family->value_type, &converted.aggregate, ret_error);
        }
    }
    if (status == STATUS_OK) {
        *ret_family = converted;
        return STATUS_OK;
    }
    char shown[BYTES_PRINTABLE_SIZE_MAX];
    if (ret_error != NULL && ret_error->status == status) {
        (void)error_prefix(ret_error, "Error in column family '%s' ",
                           bytes_printable(bytes_of_text(name), shown));
    }
    return status;
}

static int compare_names(const void *a, const void *b)
{
    const struct edubba_family *first = a;
    const struct edubba_family *second = b;
    return strcmp(first->name, second->name);
}

/* What was asked for and cannot be had is refused: it would look as if it were there. */
static enum status check_extras(const Table *table, struct error *ret_error)
{
    if (table->change_stream_config != NULL) {
        return error_set(ret_error, STATUS_UNIMPLEMENTED,
                         "Error in field 'change_stream_config' : change streams are not served");
    }
    if (table->automated_backup_config_case !=
        GOOGLE__BIGTABLE__ADMIN__V2__TABLE__AUTOMATED_BACKUP_CONFIG__NOT_SET) {
        return error_set(ret_error, STATUS_UNIMPLEMENTED,
                         "Error in field 'automated_backup_policy' : backups are not served");
    }
    if (table->row_key_schema != NULL) {
        return error_set(ret_error, STATUS_UNIMPLEMENTED,
                         "Error in field 'row_key_schema' : row key schemas are not served");
    }
    return STATUS_OK;
}

static enum status convert_granularity(const Table *table,
                                       bool *ret_is_micros,
                                       struct error *ret_error)
{
    switch ((int)table->granularity) {
    case GRANULARITY(TIMESTAMP_GRANULARITY_UNSPECIFIED):
    case GRANULARITY(MILLIS):
        *ret_is_micros = false;
        return STATUS_OK;
    case GRANULARITY(MICROS):
        *ret_is_micros = true;
        return STATUS_OK;
    default:
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'granularity' : no granularity has the number %d",
                         (int)table->granularity);
    }
}

static enum status convert_families(const Table *table,
                                    struct arena *arena,
                                    struct edubba_schema *schema,
                                    struct error *ret_error)
{
    size_t count = table->n_column_families;
    if (count > LIMIT_FAMILIES_PER_TABLE) { /* the master's words have no room for more */
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Error in field 'column_families' : %zu families, the limit is %d", count,
                         LIMIT_FAMILIES_PER_TABLE);
    }
    struct edubba_family *families = arena_allocate_array(arena, count, sizeof *families);
    if (families == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "No memory for a table's families");
    }
    for (size_t i = 0; i < count; i++) {
        const Entry *entry = table->column_families[i];
        enum status status = convert_family(entry->key, entry->value, arena, &families[i],
                                            ret_error);
        if (status != STATUS_OK) {
            return status;
        }
    }
    qsort(families, count, sizeof *families, compare_names);
    schema->families = families;
    schema->family_count = count;
    return STATUS_OK;
}

enum status convert_schema(const Table *table,
                           const char *name,
                           struct arena *arena,
                           struct edubba_schema *ret_schema,
                           struct error *ret_error)
{
    struct edubba_schema schema = {.name = name};
    enum status status = STATUS_OK;
    if (table != NULL) {
        schema.deletion_protection = table->deletion_protection != 0;
        status = check_extras(table, ret_error);
        if (status == STATUS_OK) {
            status = convert_granularity(table, &schema.micros, ret_error);
        }
        if (status == STATUS_OK) {
            status = convert_families(table, arena, &schema, ret_error);
        }
    }
    if (status == STATUS_OK) {
        *ret_schema = schema;
    }
    return status;
}

/* --- and back --------------------------------------------------------------------------------- */

/* A family as it lies in a table's map. */
struct family_parts {
    Entry entry;
    Family family;
};

static enum status family_back(const struct edubba_family *family,
                               struct arena *arena,
                               struct family_parts *parts)
{
    google__bigtable__admin__v2__table__column_families_entry__init(&parts->entry);
    google__bigtable__admin__v2__column_family__init(&parts->family);
    parts->entry.key = arena_copy_text(arena, bytes_of_text(family->name));
    if (parts->entry.key == NULL) {
        return STATUS_NO_MEMORY;
    }
    parts->entry.value = &parts->family;
    parts->family.value_type = convert_value_type_back(family->aggregate);
    return convert_gc_rule_back(&family->gc, arena, &parts->family.gc_rule);
}

enum status convert_schema_back(const struct edubba_schema *schema,
                                struct arena *arena,
                                Table *table)
{
    size_t count = schema->family_count;
    struct family_parts *parts = arena_allocate_array(arena, count, sizeof *parts);
    Entry **entries = arena_allocate_array(arena, count, sizeof *entries);
    if (parts == NULL || entries == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        entries[i] = &parts[i].entry;
        if (family_back(&schema->families[i], arena, &parts[i]) != STATUS_OK) {
            return STATUS_NO_MEMORY;
        }
    }
    table->column_families = entries;
    table->n_column_families = count;
    table->granularity = schema->micros ? GRANULARITY(MICROS) : GRANULARITY(MILLIS);
    table->deletion_protection = schema->deletion_protection;
    return STATUS_OK;
}
