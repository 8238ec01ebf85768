#include "common/io/config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <libconfig.h>

#include "common/base/buffer.h"
#include "common/base/memory.h"
#include "common/io/config_near.h"
#include "common/io/config_text.h"

#define KEY_BYTES_MAX   256
#define GROUP_DEPTH_MAX 8
#define FILE_BYTES_MAX  (1 << 20)

#define SYNTAX                                                                                    \
    ", here or on the line before: a setting is KEY = VALUE, with texts, sizes and durations in " \
    "quotes, and GROUP.KEY = VALUE is written GROUP = { KEY = VALUE; };"

/* The value that is being read, for errors and for storing. */
struct reading {
    struct config_reading *all;
    const char *source; /* "conf/master.conf:12", or the command line */
    const struct config_key *keys;
    size_t key_count;
    struct arena *arena;
    struct error *error;
};

static struct reading reading_of(struct config_reading *all,
                                 const char *source,
                                 struct error *error)
{
    return (struct reading){
        .all = all,
        .source = source,
        .keys = all->keys,
        .key_count = all->key_count,
        .arena = all->arena,
        .error = error,
    };
}

static enum status no_memory(struct reading *reading)
{
    return error_set(reading->error, STATUS_NO_MEMORY, "%s: no memory", reading->source);
}

static size_t find_key(const struct reading *reading, const char *name)
{
    size_t i = 0;
    while (i < reading->key_count && strcmp(reading->keys[i].name, name) != 0) {
        i++;
    }
    return i;
}

/* Is there a key inside the group of this name? */
static bool is_group(const struct reading *reading, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < reading->key_count; i++) {
        const char *key = reading->keys[i].name;
        if (strncmp(key, name, length) == 0 && key[length] == '.') {
            return true;
        }
    }
    return false;
}

static enum status wrong_type(struct reading *reading,
                              const struct config_key *key,
                              const char *expected)
{
    return error_set(reading->error, STATUS_INVALID_ARGUMENT, "%s: %s must be %s", reading->source,
                     key->name, expected);
}

/* place: "conf/master.conf:12"; NULL = the command line, where it is seen. */
static enum status unknown_key(struct reading *reading, const char *place, const char *name)
{
    const char *nearest = config_nearest_key(reading->keys, reading->key_count, name);
    return error_set(reading->error, STATUS_INVALID_ARGUMENT, "%s%sunknown key '%s'%s%s%s",
                     place != NULL ? place : "", place != NULL ? ": " : "", name,
                     nearest != NULL ? "; is '" : "", nearest != NULL ? nearest : "",
                     nearest != NULL ? "' meant?" : "");
}

/* A bound of a key, or its value, as people write it. */
static void format_integer(const struct config_key *key,
                           int64_t value,
                           char ret_text[CONFIG_VALUE_SIZE_MAX])
{
    const struct config_key shown = {.type = key->type, .target = &value};
    config_format_value(&shown, ret_text);
}

static enum status out_of_range(struct reading *reading,
                                const struct config_key *key,
                                int64_t value)
{
    char given[CONFIG_VALUE_SIZE_MAX];
    char least[CONFIG_VALUE_SIZE_MAX];
    char most[CONFIG_VALUE_SIZE_MAX];
    bool is_open = key->maximum == INT64_MAX;
    format_integer(key, value, given);
    format_integer(key, key->minimum, least);
    format_integer(key, key->maximum, most);
    return error_set(reading->error, STATUS_INVALID_ARGUMENT, "%s: %s is %s, allowed are %s%s%s",
                     reading->source, key->name, given, least, is_open ? " and more" : " to ",
                     is_open ? "" : most);
}

static enum status store_integer(struct reading *reading,
                                 const struct config_key *key,
                                 int64_t value)
{
    bool bounded = key->minimum != 0 || key->maximum != 0;
    if (bounded && (value < key->minimum || value > key->maximum)) {
        return out_of_range(reading, key, value);
    }
    memcpy(key->target, &value, sizeof value);
    return STATUS_OK;
}

static enum status store_text(struct reading *reading,
                              const struct config_key *key,
                              const char *text)
{
    const char *copy = arena_copy_text(reading->arena, bytes_of_text(text));
    if (copy == NULL) {
        return no_memory(reading);
    }
    memcpy(key->target, &copy, sizeof copy);
    return STATUS_OK;
}

/* A size or a duration written as text. */
static enum status store_quantity(struct reading *reading,
                                  const struct config_key *key,
                                  const char *text)
{
    uint64_t bytes = 0;
    int64_t us = 0;
    if (key->type == CONFIG_SIZE_BYTES) {
        return config_parse_size(text, &bytes)
                   ? store_integer(reading, key, (int64_t)bytes)
                   : wrong_type(reading, key, "a size like \"512 MiB\" or a number of bytes");
    }
    return config_parse_duration(text, &us)
               ? store_integer(reading, key, us)
               : wrong_type(reading, key, "a duration like \"250 ms\", \"10 s\" or \"15 min\"");
}

static enum status store_list(struct reading *reading,
                              const struct config_key *key,
                              const char *const *texts,
                              size_t count)
{
    struct config_text_list list = {.count = count};
    list.items = arena_allocate_array(reading->arena, count, sizeof *list.items);
    if (list.items == NULL) {
        return no_memory(reading);
    }
    for (size_t i = 0; i < count; i++) {
        list.items[i] = arena_copy_text(reading->arena, bytes_of_text(texts[i]));
        if (list.items[i] == NULL) {
            return no_memory(reading);
        }
    }
    memcpy(key->target, &list, sizeof list);
    return STATUS_OK;
}

static enum status load_list(struct reading *reading,
                             const struct config_key *key,
                             const config_setting_t *setting)
{
    if (!config_setting_is_aggregate(setting) || config_setting_is_group(setting)) {
        return wrong_type(reading, key, "a list of texts like [ \"a\", \"b\" ]");
    }
    size_t count = (size_t)config_setting_length(setting);
    const char **texts = arena_allocate_array(reading->arena, count, sizeof *texts);
    if (texts == NULL) {
        return no_memory(reading);
    }
    for (size_t i = 0; i < count; i++) {
        texts[i] = config_setting_get_string_elem(setting, (int)i);
        if (texts[i] == NULL) {
            return wrong_type(reading, key, "a list of texts like [ \"a\", \"b\" ]");
        }
    }
    return store_list(reading, key, texts, count);
}

/* "a", or [ "a", "b" ], which is "a,b". */
static enum status load_joined(struct reading *reading,
                               const struct config_key *key,
                               const config_setting_t *setting)
{
    const char *text = config_setting_get_string(setting);
    if (text != NULL) {
        return store_text(reading, key, text);
    }
    if (!config_setting_is_aggregate(setting) || config_setting_is_group(setting)) {
        return wrong_type(reading, key, "a text, or a list of texts like [ \"a\", \"b\" ]");
    }
    struct buffer joined = BUFFER_INIT;
    enum status status = STATUS_OK;
    for (int i = 0; i < config_setting_length(setting) && status == STATUS_OK; i++) {
        const char *item = config_setting_get_string_elem(setting, i);
        if (item == NULL) {
            status = wrong_type(reading, key, "a text, or a list of texts like [ \"a\", \"b\" ]");
        } else {
            buffer_append_format(&joined, "%s%s", i > 0 ? "," : "", item);
        }
    }
    buffer_append_u8(&joined, '\0');
    if (status == STATUS_OK) {
        status = joined.failed ? no_memory(reading)
                               : store_text(reading, key, (const char *)joined.data);
    }
    buffer_deinit(&joined);
    return status;
}

/* A value that stands in a file. */
static enum status load_value(struct reading *reading,
                              const struct config_key *key,
                              const config_setting_t *setting)
{
    int type = config_setting_type(setting);
    bool is_integer = type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64;
    bool is_text = type == CONFIG_TYPE_STRING;
    switch (key->type) {
    case CONFIG_TEXT:
        return is_text ? store_text(reading, key, config_setting_get_string(setting))
                       : wrong_type(reading, key, "a text in quotes");
    case CONFIG_TEXT_LIST:
        return load_list(reading, key, setting);
    case CONFIG_TEXT_JOINED:
        return load_joined(reading, key, setting);
    case CONFIG_BOOL:
        if (type != CONFIG_TYPE_BOOL) {
            return wrong_type(reading, key, "true or false");
        }
        *(bool *)key->target = config_setting_get_bool(setting) != 0;
        return STATUS_OK;
    case CONFIG_NUMBER:
        return is_integer ? store_integer(reading, key, config_setting_get_int64(setting))
                          : wrong_type(reading, key, "a whole number");
    case CONFIG_SIZE_BYTES:
        if (is_integer && config_setting_get_int64(setting) >= 0) {
            return store_integer(reading, key, config_setting_get_int64(setting));
        }
        break;
    case CONFIG_DURATION_US:
        break;
    }
    return store_quantity(reading, key, is_text ? config_setting_get_string(setting) : "");
}

static enum status end_key(struct reading *reading, size_t index, enum status status)
{
    if (status != STATUS_OK) {
        reading->all->refused[index] = true;
    }
    return status;
}

static enum status load_setting(struct reading *reading,
                                const char *name,
                                const config_setting_t *setting)
{
    size_t index = find_key(reading, name);
    if (index == reading->key_count) {
        return unknown_key(reading, reading->source, name);
    }
    reading->all->seen[index] = true;
    reading->all->places[index] = arena_copy_text(reading->arena, bytes_of_text(reading->source));
    return end_key(reading, index, load_value(reading, &reading->keys[index], setting));
}

/* A group at one level: where in it we are, and how long the path to it is. */
struct level {
    const config_setting_t *group;
    unsigned next;
    size_t path_bytes;
};

/* Walks groups without recursion; path is the name of what is looked at. */
static void load_groups(struct reading *reading, const char *file, const config_setting_t *root)
{
    struct level levels[GROUP_DEPTH_MAX] = {{.group = root}};
    char path[KEY_BYTES_MAX] = "";
    char source[ERROR_TEXT_SIZE_MAX];
    size_t depth = 1;
    while (depth > 0) {
        struct level *level = &levels[depth - 1];
        const config_setting_t *setting = config_setting_get_elem(level->group, level->next);
        if (setting == NULL) {
            depth--;
            continue;
        }
        level->next++;
        size_t start = level->path_bytes;
        (void)snprintf(path + start, sizeof path - start, "%s%s", start > 0 ? "." : "",
                       config_setting_name(setting));
        (void)snprintf(source, sizeof source, "%s:%u", file,
                       (unsigned)config_setting_source_line(setting));
        reading->source = source;
        if (config_setting_is_group(setting) && is_group(reading, path) &&
            depth < GROUP_DEPTH_MAX) {
            levels[depth++] = (struct level){.group = setting, .path_bytes = strlen(path)};
            continue;
        }
        if (load_setting(reading, path, setting) != STATUS_OK) {
            config_refuse(reading->all, NULL, "%s", reading->error->text);
        }
    }
}

static void check_required(struct config_reading *reading, const char *path)
{
    for (size_t i = 0; i < reading->key_count; i++) {
        if (reading->keys[i].required && !reading->seen[i]) {
            config_refuse(reading, NULL, "%s: key '%s' is missing", path, reading->keys[i].name);
        }
    }
}

/* libconfig says no more of what it cannot read than where it is: "syntax error". */
static void parse_failed(struct config_reading *reading, const config_t *config, const char *path)
{
    const char *text = config_error_text(config);
    bool is_syntax = text != NULL && strcmp(text, "syntax error") == 0;
    config_refuse(reading, NULL, "%s:%d: %s%s", path, config_error_line(config),
                  text == NULL ? "no memory" : text, is_syntax ? SYNTAX : "");
}

/* A pipe will do, too, so its size is not asked for. */
static enum status read_file(const char *path, struct buffer *text, struct error *ret_error)
{
    uint8_t bytes[4096];
    size_t count = 0;
    FILE *file = fopen(path, "re");

    if (file == NULL) {
        return error_set(ret_error, STATUS_IO, "%s: %s", path, strerror(errno));
    }
    do {
        count = fread(bytes, 1, sizeof bytes, file);
        buffer_append(text, bytes, count);
    } while (count > 0 && text->size_bytes <= FILE_BYTES_MAX);
    enum status status = STATUS_OK;
    if (ferror(file) != 0) {
        status = error_set(ret_error, STATUS_IO, "%s: %s", path, strerror(errno));
    } else if (text->failed) {
        status = error_set(ret_error, STATUS_NO_MEMORY, "%s: no memory", path);
    } else if (text->size_bytes > FILE_BYTES_MAX) {
        status = error_set(ret_error, STATUS_LIMIT, "%s: longer than %d bytes", path,
                           FILE_BYTES_MAX);
    }
    (void)fclose(file);
    return status;
}

static void load_text(struct config_reading *reading, const char *path, const char *text)
{
    struct error error = {.status = STATUS_OK};
    struct reading value = reading_of(reading, path, &error);
    config_t config;

    config_init(&config);
    if (config_read_string(&config, text) != CONFIG_TRUE) {
        parse_failed(reading, &config, path);
    } else {
        load_groups(&value, path, config_root_setting(&config));
        check_required(reading, path);
    }
    config_destroy(&config);
}

bool config_load(struct config_reading *reading, const char *path)
{
    size_t faults_before = reading->fault_count;
    struct error error = {.status = STATUS_OK};
    struct buffer text = BUFFER_INIT;
    struct buffer prepared = BUFFER_INIT;
    enum status status = read_file(path, &text, &error);

    if (status == STATUS_OK) {
        status = config_text_prepare(buffer_bytes(&text), path, &prepared, &error);
    }
    if (status == STATUS_OK) {
        load_text(reading, path, (const char *)prepared.data);
    } else {
        config_refuse(reading, NULL, "%s", error.text);
    }
    buffer_deinit(&text);
    buffer_deinit(&prepared);
    return reading->fault_count == faults_before;
}

static bool parse_number(const char *text, int64_t *ret_value)
{
    bool negative = *text == '-';
    const char *at = negative ? text + 1 : text;
    int64_t value = 0;
    if (*at == '\0') {
        return false;
    }
    for (; *at != '\0'; at++) {
        int64_t digit = *at - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value)) {
            return false;
        }
    }
    /* Collected below zero, where the range is larger by one. */
    if (!negative && value == INT64_MIN) {
        return false;
    }
    *ret_value = negative ? value : -value;
    return true;
}

/* "a,b,c" */
static enum status set_list(struct reading *reading, const struct config_key *key, char *text)
{
    size_t count = 1;
    for (const char *at = text; *at != '\0'; at++) {
        count += *at == ',';
    }
    const char **texts = arena_allocate_array(reading->arena, count, sizeof *texts);
    if (texts == NULL) {
        return no_memory(reading);
    }
    for (size_t i = 0; i < count; i++) {
        texts[i] = strsep(&text, ",");
    }
    return store_list(reading, key, texts, count);
}

/* A value that stands on a command line. */
static enum status set_value(struct reading *reading, const struct config_key *key, char *text)
{
    int64_t number = 0;
    switch (key->type) {
    case CONFIG_TEXT:
    case CONFIG_TEXT_JOINED:
        return store_text(reading, key, text);
    case CONFIG_TEXT_LIST:
        return set_list(reading, key, text);
    case CONFIG_BOOL:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
            return wrong_type(reading, key, "true or false");
        }
        *(bool *)key->target = text[0] == 't';
        return STATUS_OK;
    case CONFIG_NUMBER:
        return parse_number(text, &number) ? store_integer(reading, key, number)
                                           : wrong_type(reading, key, "a whole number");
    case CONFIG_SIZE_BYTES:
    case CONFIG_DURATION_US:
        break;
    }
    return store_quantity(reading, key, text);
}

static enum status set_key(struct reading *reading, const char *assignment)
{
    char *copy = arena_copy_text(reading->arena, bytes_of_text(assignment));
    if (copy == NULL) {
        return no_memory(reading);
    }
    char *value = strchr(copy, '=');
    if (value == NULL) {
        return error_set(reading->error, STATUS_INVALID_ARGUMENT,
                         "'%s' is not of the form key=value", assignment);
    }
    *value++ = '\0';
    size_t index = find_key(reading, copy);
    if (index == reading->key_count) {
        return unknown_key(reading, NULL, copy);
    }
    reading->all->places[index] = reading->source;
    return end_key(reading, index, set_value(reading, &reading->keys[index], value));
}

bool config_set(struct config_reading *reading, const char *assignment)
{
    struct error error = {.status = STATUS_OK};
    struct reading value = reading_of(reading, "command line", &error);
    if (set_key(&value, assignment) != STATUS_OK) {
        config_refuse(reading, NULL, "%s", error.text);
        return false;
    }
    return true;
}
