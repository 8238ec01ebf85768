#include "gateway/core/hot_page.h"

#include <string.h>

#define FIELD_COUNT  5
#define FIELD_DIGITS 16

_Static_assert(FIELD_COUNT *FIELD_DIGITS + 1 == HOT_PAGE_TOKEN_SIZE, "as long as it is said");
_Static_assert(sizeof(double) == sizeof(uint64_t), "its bits fit a field");

static const char DIGITS[] = "0123456789abcdef";

/* --- tokens ----------------------------------------------------------------------------------- */

void hot_page_token_write(const struct hot_page_token *token, char ret_text[HOT_PAGE_TOKEN_SIZE])
{
    uint64_t fields[FIELD_COUNT] = {(uint64_t)token->start_us, (uint64_t)token->end_us, 0,
                                    (uint64_t)token->last_us, token->tablet};
    memcpy(&fields[2], &token->percent, sizeof token->percent);
    for (size_t i = 0; i < FIELD_COUNT * FIELD_DIGITS; i++) {
        uint64_t field = fields[i / FIELD_DIGITS];
        ret_text[i] = DIGITS[field >> (4 * (FIELD_DIGITS - 1 - i % FIELD_DIGITS)) & 15];
    }
    ret_text[FIELD_COUNT * FIELD_DIGITS] = '\0';
}

bool hot_page_token_read(const char *text, struct hot_page_token *ret_token)
{
    uint64_t fields[FIELD_COUNT] = {0};
    if (strlen(text) != FIELD_COUNT * FIELD_DIGITS) {
        return false;
    }
    for (size_t i = 0; i < FIELD_COUNT * FIELD_DIGITS; i++) {
        const char *digit = memchr(DIGITS, text[i], sizeof DIGITS - 1);
        if (digit == NULL) {
            return false;
        }
        fields[i / FIELD_DIGITS] = fields[i / FIELD_DIGITS] << 4 | (uint64_t)(digit - DIGITS);
    }
    *ret_token = (struct hot_page_token){
        .start_us = (int64_t)fields[0],
        .end_us = (int64_t)fields[1],
        .last_us = (int64_t)fields[3],
        .tablet = fields[4],
    };
    memcpy(&ret_token->percent, &fields[2], sizeof ret_token->percent);
    return true;
}

bool hot_page_is_behind(const struct hot_page_token *token, const struct edubba_hot_tablet *hot)
{
    if (hot->tablet == token->tablet && hot->start_us == token->last_us) {
        return false;
    }
    if (hot->cpu_percent < token->percent || hot->cpu_percent > token->percent) {
        return hot->cpu_percent < token->percent;
    }
    if (hot->start_us != token->last_us) {
        return hot->start_us > token->last_us;
    }
    return hot->tablet > token->tablet;
}

/* --- keys ------------------------------------------------------------------------------------- */

/* Bytes of the character that begins here; 0 if none does. */
static size_t character_bytes(const unsigned char *at, size_t left)
{
    size_t length = at[0] < 0x80                     ? 1
                    : at[0] >= 0xc2 && at[0] <= 0xdf ? 2
                    : at[0] >= 0xe0 && at[0] <= 0xef ? 3
                    : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                     : 0;
    if (length == 0 || length > left) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool surrogate = at[0] == 0xed && at[1] > 0x9f;
    bool beyond = at[0] == 0xf4 && at[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : length;
}

void hot_page_key_text(struct edubba_bytes key, char *ret_text)
{
    const unsigned char *bytes = key.data;
    char *to = ret_text;

    for (size_t i = 0; i < key.size;) {
        size_t length = character_bytes(bytes + i, key.size - i);
        if (length == 0 || bytes[i] == 0) { /* a NUL would end the text */
            *to++ = '\\';
            *to++ = 'x';
            *to++ = DIGITS[bytes[i] >> 4];
            *to++ = DIGITS[bytes[i] & 15];
            i += 1;
        } else {
            memcpy(to, bytes + i, length);
            to += length;
            i += length;
        }
    }
    *to = '\0';
}
