/* What a reading gathers: faults and the places of values. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/assert.h"
#include "common/io/config.h"

void config_reading_begin(struct config_reading *reading,
                          const struct config_key *keys,
                          size_t key_count,
                          struct arena *arena)
{
    ASSERT(key_count <= CONFIG_KEYS_MAX);
    *reading = (struct config_reading){.keys = keys, .key_count = key_count, .arena = arena};
}

/* key_count when there is none. */
static size_t index_of(const struct config_reading *reading, const char *key)
{
    size_t i = 0;
    while (i < reading->key_count && strcmp(reading->keys[i].name, key) != 0) {
        i++;
    }
    return i;
}

void config_refuse(struct config_reading *reading, const char *key, const char *format, ...)
{
    char text[ERROR_TEXT_SIZE_MAX];
    size_t index = key != NULL ? index_of(reading, key) : reading->key_count;
    const char *place = index < reading->key_count ? reading->places[index] : NULL;
    int used = place != NULL ? snprintf(text, sizeof text, "%s: ", place) : 0;
    size_t start = used > 0 && (size_t)used < sizeof text ? (size_t)used : 0;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + start, sizeof text - start, format, arguments);
    va_end(arguments);
    if (index < reading->key_count) {
        reading->refused[index] = true;
    }
    if (reading->fault_count < CONFIG_FAULTS_MAX) {
        const char *copy = arena_copy_text(reading->arena, bytes_of_text(text));
        reading->faults[reading->fault_count] = copy != NULL ? copy : "no memory";
    }
    reading->fault_count++;
}

void config_refuse_unreadable(struct config_reading *reading, const char *key, const char *path)
{
    if (path[0] != '\0' && access(path, R_OK) != 0) {
        config_refuse(reading, key, "%s: %s cannot be read: %s", key, path, strerror(errno));
    }
}

bool config_is_refused(const struct config_reading *reading, const char *key)
{
    size_t index = index_of(reading, key);
    ASSERT(index < reading->key_count);
    return reading->refused[index];
}
