#include "gateway/core/server_text.h"

#include <stdio.h>
#include <string.h>

#define OF_ROW        "Error while mutating the row '"
#define OF_TABLE      "table '"
#define NAME_SIZE_MAX 256 /* of tables */
#define OF_READING    "Error while reading table '"
#define OF_TYPE       ") : Column family type mismatch"
#define OF_FAMILY     ") : Requested column family not found"
#define LARGE_ROW     "LargeRowReadError: row '"
#define LARGE_ROW_END "' is larger than "
#define CUT           "..."

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The last one: what stands before it may be a row's key, which may be anything. */
static const char *find_last(const char *text, const char *part)
{
    const char *found = NULL;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        found = at;
    }
    return found;
}

enum edubba_code server_text_code(enum edubba_code code)
{
    return code == EDUBBA_RESOURCE_EXHAUSTED ? EDUBBA_UNAVAILABLE : code;
}

bool server_text_is_of_table(enum edubba_code code, const char *text)
{
    return code == EDUBBA_NOT_FOUND && !begins_with(text, OF_ROW) && !begins_with(text, OF_READING);
}

bool server_text_is_of_family(enum edubba_code code, const char *text)
{
    bool is_of_type = code == EDUBBA_INVALID_ARGUMENT && find_last(text, OF_TYPE) != NULL;
    bool is_missing = code == EDUBBA_NOT_FOUND && find_last(text, OF_FAMILY) != NULL;
    return begins_with(text, OF_ROW) && (is_of_type || is_missing);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Where the name stands behind "table '", as masters have it; NULL if it does not. */
static const char *find_table(const char *text, const char *name)
{
    char part[NAME_SIZE_MAX + 16];
    (void)snprintf(part, sizeof part, OF_TABLE "%s'", name);
    const char *at = strlen(name) < NAME_SIZE_MAX ? find_last(text, part) : NULL;
    return at != NULL ? at + strlen(OF_TABLE) : NULL;
}

void server_text_rename(const char *text,
                        const char *table,
                        const char *full_name,
                        char ret_text[SERVER_TEXT_SIZE_MAX])
{
    char printed[BYTES_PRINTABLE_SIZE_MAX];
    char part[BYTES_PRINTABLE_SIZE_MAX + 8];
    const char *name = printed;
    const char *at = NULL;
    (void)bytes_printable(bytes_of_text(table), printed);
    if (begins_with(text, OF_ROW)) {
        (void)snprintf(part, sizeof part, "' (%s) : ", printed);
        at = find_last(text, part);
        at = at != NULL ? at + 3 : NULL;
    } else if (begins_with(text, OF_READING)) {
        (void)snprintf(part, sizeof part, "%s' : ", printed);
        at = text + strlen(OF_READING);
        at = begins_with(at, part) ? at : NULL;
    } else { /* some texts cut long names, others do not */
        at = find_table(text, table);
        name = at != NULL ? table : printed;
        at = at != NULL ? at : find_table(text, printed);
    }
    if (at == NULL) {
        (void)snprintf(ret_text, SERVER_TEXT_SIZE_MAX, "%s", text);
        return;
    }
    (void)snprintf(ret_text, SERVER_TEXT_SIZE_MAX, "%.*s%s%s", (int)(at - text), text, full_name,
                   at + strlen(name));
}

/* --- rows that are too large ------------------------------------------------------------------ */

bool server_text_is_large_row(enum edubba_code code, const char *text)
{
    return code == EDUBBA_FAILED_PRECONDITION && begins_with(text, LARGE_ROW);
}

static uint8_t digit_of(char character)
{
    return (uint8_t)(character <= '9' ? character - '0' : character - 'a' + 10);
}

static bool is_digit(char character)
{
    return (character >= '0' && character <= '9') || (character >= 'a' && character <= 'f');
}

/* Back from bytes_printable(): a backslash stands for itself only as \x5c. */
static bool read_printed(struct bytes text, uint8_t key[LIMIT_ROW_KEY_BYTES], size_t *ret_size)
{
    const char *at = (const char *)text.data;
    const char *end = at + text.size_bytes;
    size_t size = 0;
    while (at < end && size < LIMIT_ROW_KEY_BYTES) {
        if (*at != '\\') {
            key[size++] = (uint8_t)*at++;
        } else if (end - at >= 4 && at[1] == 'x' && is_digit(at[2]) && is_digit(at[3])) {
            key[size++] = (uint8_t)(digit_of(at[2]) << 4 | digit_of(at[3]));
            at += 4;
        } else {
            return false;
        }
    }
    *ret_size = size;
    return at == end;
}

bool server_text_large_row(const char *text,
                           uint8_t key[LIMIT_ROW_KEY_BYTES],
                           size_t *ret_size_bytes)
{
    /* What was cut is longer than this: one byte takes four characters at most. */
    const size_t whole = BYTES_PRINTABLE_SIZE_MAX - sizeof CUT - 4;
    const char *end = find_last(text, LARGE_ROW_END);
    if (!begins_with(text, LARGE_ROW) || end == NULL || end < text + strlen(LARGE_ROW)) {
        return false;
    }
    const char *begin = text + strlen(LARGE_ROW);
    struct bytes printed = bytes_of(begin, (size_t)(end - begin));
    bool may_be_cut = printed.size_bytes > whole &&
                      memcmp(end - strlen(CUT), CUT, strlen(CUT)) == 0;
    return !may_be_cut && read_printed(printed, key, ret_size_bytes);
}
