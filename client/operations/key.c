#include <inttypes.h>
#include <stdio.h>

#include "client/include/edubba_keys.h"
#include "common/base/checksum.h"

#define FIELD_SEPARATOR   '#'
#define TIME_DIGITS       19                           /* of INT64_MAX */
#define NUMBER_DIGITS_MAX 20                           /* of UINT64_MAX */
#define SALT_SEED         UINT64_C(0x6564756262610001) /* never changes: keys depend on it */

void edubba_key_init(struct edubba_key *key)
{
    key->size = 0;
    key->too_long = false;
}

/* Nothing at all would be taken as an open bound: the rows of a whole table, where a few are to be dropped. */
struct edubba_bytes edubba_key_bytes(const struct edubba_key *key)
{
    static const unsigned char
        refused[EDUBBA_KEY_SIZE_MAX + 2]; /* longer than what comes behind the longest key */
    return key->too_long ? edubba_bytes_of(refused, sizeof refused)
                         : edubba_bytes_of(key->data, key->size);
}

/* Room for a field of size bytes, behind a separator if it is not the first; NULL if too long. */
static unsigned char *add_field(struct edubba_key *key, size_t size)
{
    size_t separator = key->size > 0 ? 1 : 0;
    if (key->too_long || size > EDUBBA_KEY_SIZE_MAX - separator ||
        key->size > EDUBBA_KEY_SIZE_MAX - separator - size) {
        key->too_long = true;
        return NULL;
    }
    if (separator > 0) {
        key->data[key->size] = FIELD_SEPARATOR;
    }
    unsigned char *field = &key->data[key->size + separator];
    key->size += separator + size;
    return field;
}

void edubba_key_add_bytes(struct edubba_key *key, struct edubba_bytes bytes)
{
    unsigned char *field = add_field(key, bytes.size);
    if (field != NULL && bytes.size > 0) {
        memcpy(field, bytes.data, bytes.size);
    }
}

void edubba_key_add_text(struct edubba_key *key, const char *text)
{
    edubba_key_add_bytes(key, EDUBBA_TEXT(text));
}

void edubba_key_add_padded(struct edubba_key *key, const char *text, size_t width)
{
    unsigned char *field = add_field(key, width);
    if (field == NULL) {
        return;
    }
    size_t size = strlen(text);
    size = size < width ? size : width;
    memcpy(field, text, size);
    memset(field + size, ' ', width - size);
}

void edubba_key_add_number(struct edubba_key *key, uint64_t number, size_t width)
{
    char digits[NUMBER_DIGITS_MAX + 1];
    size_t count = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, number);
    size_t size = count > width ? count : width;
    unsigned char *field = add_field(key, size);
    if (field != NULL) {
        memset(field, '0', size - count);
        memcpy(field + size - count, digits, count);
    }
}

void edubba_key_add_reversed_time(struct edubba_key *key, int64_t time)
{
    /* A time before 1970 counts as 1970: its reversal would have no digit to stand in. */
    uint64_t past = time > 0 ? (uint64_t)time : 0;
    edubba_key_add_number(key, (uint64_t)INT64_MAX - past, TIME_DIGITS);
}

void edubba_key_add_bucket(struct edubba_key *key, int64_t time, int64_t bucket)
{
    int64_t past = time > 0 ? time : 0;
    int64_t cut = bucket > 0 ? past - past % bucket : past;
    edubba_key_add_number(key, (uint64_t)cut, TIME_DIGITS);
}

void edubba_key_add_salt(struct edubba_key *key, uint32_t salt, uint32_t count)
{
    size_t width = 1;
    for (uint32_t last = count > 0 ? count - 1 : 0; last >= 10; last /= 10) {
        width++;
    }
    edubba_key_add_number(key, salt, width);
}

uint32_t edubba_salt(struct edubba_bytes bytes, uint32_t count)
{
    return count == 0 ? 0 : (uint32_t)(checksum64(bytes.data, bytes.size, SALT_SEED) % count);
}
