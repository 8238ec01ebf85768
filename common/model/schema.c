#include "common/model/schema.h"

#include "common/base/assert.h"

const struct family *table_family_by_name(const struct table *table, struct bytes name)
{
    for (uint32_t i = 0; i < table->family_count; i++) {
        if (bytes_equal(table->families[i].name, name)) {
            return &table->families[i];
        }
    }
    return NULL;
}

const struct family *table_family_by_number(const struct table *table, uint32_t number)
{
    uint32_t low = 0;
    uint32_t high = table->family_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (table->families[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < table->family_count && table->families[low].number == number;
    return found ? &table->families[low] : NULL;
}

static bool is_letter_or_digit(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* [-_.a-zA-Z0-9]: what may stand inside every name. */
static bool is_name_byte(uint8_t c)
{
    return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
}

static bool are_name_bytes(struct bytes name)
{
    for (size_t i = 0; i < name.size_bytes; i++) {
        if (!is_name_byte(name.data[i])) {
            return false;
        }
    }
    return true;
}

enum status table_id_check(struct bytes id, struct error *ret_error)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    if (id.size_bytes < 1 || id.size_bytes > LIMIT_TABLE_ID_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Invalid id for collection tables : Length should be between [1,%d], but "
                         "found %zu '%s'",
                         LIMIT_TABLE_ID_BYTES, id.size_bytes, bytes_printable(id, text));
    }
    if (!are_name_bytes(id) || id.data[0] == '-' || id.data[0] == '.') {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Invalid id for collection tables : Should match "
                         "[_a-zA-Z0-9][-_.a-zA-Z0-9]* but found '%s'",
                         bytes_printable(id, text));
    }
    return STATUS_OK;
}

enum status family_name_check(struct bytes name, struct error *ret_error)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    if (name.size_bytes < 1 || name.size_bytes > LIMIT_FAMILY_NAME_BYTES) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Invalid id for collection columnFamilies : Length should be between "
                         "[1,%d], but found %zu '%s'",
                         LIMIT_FAMILY_NAME_BYTES, name.size_bytes, bytes_printable(name, text));
    }
    if (!are_name_bytes(name)) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Invalid id for collection columnFamilies : Should match "
                         "[-_.a-zA-Z0-9]+ but found '%s'",
                         bytes_printable(name, text));
    }
    return STATUS_OK;
}

/* The text up to the next slash, or all of it; *text: what follows. */
static struct bytes take_part(struct bytes *text)
{
    size_t size = 0;
    if (text->size_bytes == 0) {
        return BYTES_EMPTY; /* its data may be NULL */
    }
    while (size < text->size_bytes && text->data[size] != '/') {
        size++;
    }
    struct bytes part = bytes_of(text->data, size);
    size_t taken = size < text->size_bytes ? size + 1 : size;
    *text = bytes_drop_front(*text, taken);
    return part;
}

static bool is_project_or_instance(struct bytes part)
{
    for (size_t i = 0; i < part.size_bytes; i++) {
        if (!is_name_byte(part.data[i]) && part.data[i] != ':') {
            return false;
        }
    }
    return part.size_bytes >= 1 && part.size_bytes <= LIMIT_NAME_PART_BYTES;
}

enum status table_name_check(struct bytes name, struct error *ret_error)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];
    struct bytes id = name;
    struct bytes project = take_part(&id);
    if (project.size_bytes == name.size_bytes) {
        return table_id_check(name, ret_error);
    }
    struct bytes instance = take_part(&id);
    if (!is_project_or_instance(project) || !is_project_or_instance(instance)) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Invalid name of a table '%s': an id, or project/instance/id, is expected",
                         bytes_printable(name, text));
    }
    return table_id_check(id, ret_error);
}

static enum status check_family(const struct table *table, uint32_t index, struct error *ret_error)
{
    const struct family *family = &table->families[index];
    uint32_t above = index == 0 ? 0 : table->families[index - 1].number;
    enum status status = family_name_check(family->name, ret_error);

    if (status == STATUS_OK) {
        status = gc_rule_check(&family->gc, ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (family->number <= above || family->number >= table->family_number_next) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "family %u follows family %u; the next one would be %u", family->number,
                         above, table->family_number_next);
    }
    if (table_family_by_name(table, family->name) != family) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT, "two families are named '%.*s'",
                         (int)family->name.size_bytes, (const char *)family->name.data);
    }
    return STATUS_OK;
}

enum status table_replicas_check(const struct table *table, struct error *ret_error)
{
    if (table->replicas > LIMIT_REPLICAS) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "%u replicas are too many: a table has 1 to %d", table->replicas,
                         LIMIT_REPLICAS);
    }
    if (table->min_in_sync > table->replicas) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "min_in_sync is %u: it must not be above the %u replicas",
                         table->min_in_sync, table->replicas);
    }
    return STATUS_OK;
}

enum status table_check(const struct table *table, struct error *ret_error)
{
    enum status status = table_name_check(table->id, ret_error);

    for (uint32_t i = 0; i < table->family_count && status == STATUS_OK; i++) {
        status = check_family(table, i, ret_error);
    }
    return status == STATUS_OK ? table_replicas_check(table, ret_error) : status;
}

static enum status copy_family(struct arena *arena,
                               const struct family *family,
                               struct family *ret_copy)
{
    struct family copy = *family;
    copy.name = arena_copy(arena, family->name);
    if (copy.name.data == NULL) {
        return STATUS_NO_MEMORY;
    }
    enum status status = gc_rule_copy(arena, &family->gc, &copy.gc);
    if (status == STATUS_OK) {
        *ret_copy = copy;
    }
    return status;
}

enum status table_copy(struct arena *arena, const struct table *table, struct table *ret_copy)
{
    ASSERT(arena != NULL);
    struct table copy = *table;
    copy.id = arena_copy(arena, table->id);
    copy.families = arena_allocate_array(arena, table->family_count, sizeof *copy.families);
    if (copy.id.data == NULL || copy.families == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < table->family_count; i++) {
        ASSERT(i == 0 || table->families[i - 1].number < table->families[i].number);
        enum status status = copy_family(arena, &table->families[i], &copy.families[i]);
        if (status != STATUS_OK) {
            return status;
        }
    }
    *ret_copy = copy;
    return STATUS_OK;
}
