#include "gateway/core/resource_name.h"

#include <stdio.h>
#include <string.h>

#include "common/base/assert.h"

#define PART_BYTES_MAX 80 /* of a project, an instance, an id: with two slashes three fit a name */

/* How a kind of name is written after its instance, and what its IDs are made of. */
struct rule {
    const char *collection;
    const char *expected; /* the form of the whole name */
    const char *noun;
    size_t id_bytes_min;
    size_t id_bytes_max;
    bool is_lower_case; /* and begins with a letter; else letters of both cases, '_' and '.' too */
};

static const struct rule RULES[] = {
    [RESOURCE_PROJECT] = {"", "projects/<project>", "project", 1, PART_BYTES_MAX, false},
    [RESOURCE_INSTANCE] = {"", "projects/<project>/instances/<instance>", "instance", 1, 33, true},
    [RESOURCE_TABLE] = {"tables", "projects/<project>/instances/<instance>/tables/<table>", "table",
                        1, 50, false},
    [RESOURCE_CLUSTER] = {"clusters", "projects/<project>/instances/<instance>/clusters/<cluster>",
                          "cluster", 1, 30, true},
    [RESOURCE_APP_PROFILE] = {"appProfiles",
                              "projects/<project>/instances/<instance>/appProfiles/<app_profile>",
                              "app profile", 1, 50, false},
};

/* --- taking apart ----------------------------------------------------------------------------- */

/* The text up to the next slash, or all that is left; text is what follows. */
static struct bytes take_part(struct bytes *text)
{
    const uint8_t *slash = text->size_bytes > 0 ? memchr(text->data, '/', text->size_bytes) : NULL;
    size_t size = slash != NULL ? (size_t)(slash - text->data) : text->size_bytes;
    struct bytes part = bytes_of(text->data, size);
    size_t skip = slash != NULL ? size + 1 : size;
    *text = bytes_drop_front(*text, skip);
    return part;
}

/* "collection/ID" at the front of the text. */
static bool take_pair(struct bytes *text, const char *collection, struct bytes *ret_id)
{
    if (!bytes_equal(take_part(text), bytes_of_text(collection))) {
        return false;
    }
    *ret_id = take_part(text);
    return ret_id->size_bytes > 0 && ret_id->size_bytes <= PART_BYTES_MAX;
}

enum status resource_name_parse(struct bytes text,
                                enum resource_kind kind,
                                struct resource_name *ret_name,
                                struct error *ret_error)
{
    struct resource_name name = {.kind = kind};
    struct bytes left = text;
    bool is_good = take_pair(&left, "projects", &name.project);
    if (is_good && kind != RESOURCE_PROJECT) {
        is_good = take_pair(&left, "instances", &name.instance);
    }
    if (is_good && kind != RESOURCE_PROJECT && kind != RESOURCE_INSTANCE) {
        is_good = take_pair(&left, RULES[kind].collection, &name.id);
    }
    if (!is_good || left.size_bytes > 0 || text.data[text.size_bytes - 1] == '/') {
        char shown[BYTES_PRINTABLE_SIZE_MAX];
        bytes_printable(text, shown);
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "Invalid resource name '%s': %s is expected", shown, RULES[kind].expected);
    }
    *ret_name = name;
    return STATUS_OK;
}

/* --- IDs -------------------------------------------------------------------------------------- */

static bool is_letter(uint8_t byte)
{
    return byte >= 'a' && byte <= 'z';
}

static bool is_allowed(const struct rule *rule, uint8_t byte, bool is_first)
{
    bool is_digit = byte >= '0' && byte <= '9';
    if (rule->is_lower_case) {
        return is_letter(byte) || (!is_first && (is_digit || byte == '-'));
    }
    bool is_word = is_letter(byte) || (byte >= 'A' && byte <= 'Z') || is_digit || byte == '_';
    return is_word || (!is_first && (byte == '-' || byte == '.'));
}

enum status resource_id_check(enum resource_kind kind, struct bytes id, struct error *ret_error)
{
    const struct rule *rule = &RULES[kind];
    bool is_good = id.size_bytes >= rule->id_bytes_min && id.size_bytes <= rule->id_bytes_max;
    for (size_t i = 0; i < id.size_bytes && is_good; i++) {
        is_good = is_allowed(rule, id.data[i], i == 0);
    }
    if (is_good) {
        return STATUS_OK;
    }
    char shown[BYTES_PRINTABLE_SIZE_MAX];
    bytes_printable(id, shown);
    return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                     "Invalid id '%s' for a %s: 1 to %zu characters, %s", shown, rule->noun,
                     rule->id_bytes_max,
                     rule->is_lower_case ? "[a-z][-a-z0-9]*" : "[_a-zA-Z0-9][-_.a-zA-Z0-9]*");
}

/* --- documents -------------------------------------------------------------------------------- */

size_t resource_document_name(const struct resource_name *name,
                              char ret_document[RESOURCE_DOCUMENT_BYTES_MAX])
{
    bool has_instance = name->instance.size_bytes > 0;
    bool is_instance = name->kind == RESOURCE_INSTANCE;
    ASSERT(name->kind != RESOURCE_PROJECT && name->kind != RESOURCE_TABLE);
    int size = snprintf(ret_document, RESOURCE_DOCUMENT_BYTES_MAX, "bigtable/%s/%.*s/%.*s%s%.*s",
                        is_instance ? "instances" : RULES[name->kind].collection,
                        (int)name->project.size_bytes, (const char *)name->project.data,
                        (int)name->instance.size_bytes,
                        has_instance ? (const char *)name->instance.data : "",
                        has_instance && !is_instance ? "/" : "", (int)name->id.size_bytes,
                        name->id.size_bytes > 0 ? (const char *)name->id.data : "");
    ASSERT(size > 0);
    ASSERT(size < RESOURCE_DOCUMENT_BYTES_MAX);
    return (size_t)size;
}

/* --- tables of ours --------------------------------------------------------------------------- */

static bool is_home(struct bytes project, struct bytes instance, const struct resource_home *home)
{
    return bytes_equal(project, home->project) && bytes_equal(instance, home->instance);
}

void resource_table_name(const struct resource_name *table,
                         const struct resource_home *home,
                         char ret_name[RESOURCE_TABLE_NAME_BYTES_MAX])
{
    if (is_home(table->project, table->instance, home)) {
        (void)snprintf(ret_name, RESOURCE_TABLE_NAME_BYTES_MAX, "%.*s", (int)table->id.size_bytes,
                       (const char *)table->id.data);
        return;
    }
    (void)snprintf(ret_name, RESOURCE_TABLE_NAME_BYTES_MAX, "%.*s/%.*s/%.*s",
                   (int)table->project.size_bytes, (const char *)table->project.data,
                   (int)table->instance.size_bytes, (const char *)table->instance.data,
                   (int)table->id.size_bytes, (const char *)table->id.data);
}

bool resource_table_id(struct bytes name,
                       const struct resource_name *instance,
                       const struct resource_home *home,
                       struct bytes *ret_id)
{
    struct bytes left = name;
    struct bytes first = take_part(&left);
    if (first.size_bytes == name.size_bytes) {
        *ret_id = name;
        return is_home(instance->project, instance->instance, home);
    }
    struct bytes second = take_part(&left);
    *ret_id = left;
    return bytes_equal(first, instance->project) && bytes_equal(second, instance->instance);
}
