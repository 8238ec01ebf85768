#include "common/io/config_near.h"

#include <string.h>

#define NAME_BYTES_MAX 64 /* longer ones are near none */
#define SLIPS_MAX      2
#define LETTERS_A_SLIP 3 /* of two short names everything is near */

/* Letters to change, to insert or to drop. */
static size_t distance(const char *left, const char *right)
{
    size_t row[NAME_BYTES_MAX + 1];
    size_t width = strlen(right);
    if (strlen(left) > NAME_BYTES_MAX || width > NAME_BYTES_MAX) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= width; j++) {
        row[j] = j;
    }
    for (size_t i = 0; left[i] != '\0'; i++) {
        size_t corner = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            size_t changed = corner + (left[i] != right[j] ? 1 : 0);
            size_t moved = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            corner = row[j + 1];
            row[j + 1] = changed < moved ? changed : moved;
        }
    }
    return row[width];
}

/* "timeout" of "server.timeout". */
static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL ? dot + 1 : name;
}

static const char *only_one_named(const struct config_key *keys, size_t count, const char *name)
{
    const char *found = NULL;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(last_part(keys[i].name), last_part(name)) == 0) {
            if (found != NULL) {
                return NULL;
            }
            found = keys[i].name;
        }
    }
    return found;
}

const char *config_nearest_key(const struct config_key *keys, size_t count, const char *name)
{
    const char *nearest = NULL;
    size_t least = SLIPS_MAX + 1;
    for (size_t i = 0; i < count; i++) {
        size_t slips = distance(name, keys[i].name);
        if (slips < least && slips * LETTERS_A_SLIP <= strlen(keys[i].name)) {
            least = slips;
            nearest = keys[i].name;
        }
    }
    return nearest != NULL ? nearest : only_one_named(keys, count, name);
}
