#include "client/cli/output.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "client/cli/utf8.h"
#include "client/cli/waiting.h"

/* --- text --------------------------------------------------------------------------------------- */

static bool is_utf8(struct edubba_bytes bytes)
{
    const unsigned char *p = bytes.data;
    uint32_t character = 0;
    for (size_t i = 0; i < bytes.size;) {
        size_t length = utf8_read(p + i, bytes.size - i, &character);
        if (length == 0) {
            return false;
        }
        i += length;
    }
    return true;
}

/* The escape of a control character that has a letter, else 0. */
static char escape_letter(unsigned char c)
{
    static const char LETTERS[] = "abtnvfr"; /* 7 to 13 */
    return c >= 7 && c <= 13 ? LETTERS[c - 7] : 0;
}

static void print_escaped(FILE *out, uint32_t character)
{
    if (character == '"' || character == '\\') {
        fprintf(out, "\\%c", (int)character);
    } else if (character <= 0x7f && escape_letter((unsigned char)character) != 0) {
        fprintf(out, "\\%c", escape_letter((unsigned char)character));
    } else {
        fprintf(out,
                character <= 0x7f     ? "\\x%02x"
                : character <= 0xffff ? "\\u%04x"
                                      : "\\U%08x",
                character);
    }
}

void print_quoted(FILE *out, struct edubba_bytes bytes)
{
    const unsigned char *p = bytes.data;

    fputc('"', out);
    for (size_t i = 0; i < bytes.size;) {
        uint32_t character = 0;
        size_t length = utf8_read(p + i, bytes.size - i, &character);
        if (length == 0) {
            fprintf(out, "\\x%02x", p[i++]);
            continue;
        }
        if (character != '"' && character != '\\' && utf8_is_shown(character)) {
            fwrite(p + i, 1, length, out);
        } else {
            print_escaped(out, character);
        }
        i += length;
    }
    fputc('"', out);
}

/* --- JSON --------------------------------------------------------------------------------------- */

/* As \uNNNN; a character beyond 16 bits as two of them. */
static void print_json_escaped(FILE *out, uint32_t character)
{
    if (character > 0xffff) {
        uint32_t rest = character - 0x10000;
        fprintf(out, "\\u%04x\\u%04x", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
    } else {
        fprintf(out, "\\u%04x", character);
    }
}

static void print_json_string(FILE *out, struct edubba_bytes bytes)
{
    const unsigned char *p = bytes.data;

    fputc('"', out);
    for (size_t i = 0; i < bytes.size;) {
        uint32_t character = 0xfffd; /* a byte that is none */
        size_t length = utf8_read(p + i, bytes.size - i, &character);
        if (character == '"' || character == '\\') {
            fprintf(out, "\\%c", (int)character);
        } else if (length == 0 || !utf8_is_shown(character)) {
            print_json_escaped(out, character);
        } else {
            fwrite(p + i, 1, length, out);
        }
        i += length == 0 ? 1 : length;
    }
    fputc('"', out);
}

void print_range(FILE *out, struct edubba_bytes start, struct edubba_bytes end)
{
    fputc('[', out);
    print_quoted(out, start);
    fputs(", ", out);
    if (end.size > 0) {
        print_quoted(out, end);
    } else {
        fputs("...", out);
    }
    fputc(')', out);
}

void print_json_text(FILE *out, const char *text)
{
    print_json_string(out, EDUBBA_TEXT(text));
}

void print_base64(FILE *out, struct edubba_bytes bytes)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = bytes.data;

    for (size_t i = 0; i < bytes.size; i += 3) {
        size_t left = bytes.size - i;
        unsigned long group = (unsigned long)p[i] << 16;
        group |= left > 1 ? (unsigned long)p[i + 1] << 8 : 0;
        group |= left > 2 ? (unsigned long)p[i + 2] : 0;
        fputc(DIGITS[group >> 18], out);
        fputc(DIGITS[(group >> 12) & 63], out);
        fputc(left > 1 ? DIGITS[(group >> 6) & 63] : '=', out);
        fputc(left > 2 ? DIGITS[group & 63] : '=', out);
    }
}

void print_json_bytes(FILE *out, const char *name, struct edubba_bytes bytes)
{
    if (is_utf8(bytes)) {
        fprintf(out, "\"%s\":", name);
        print_json_string(out, bytes);
    } else {
        fprintf(out, "\"%s_base64\":\"", name);
        print_base64(out, bytes);
        fputc('"', out);
    }
}

void print_json_range(FILE *out, struct edubba_bytes start, struct edubba_bytes end)
{
    print_json_bytes(out, "start", start);
    fputc(',', out);
    print_json_bytes(out, "end", end);
}

/* --- rows --------------------------------------------------------------------------------------- */

static enum edubba_aggregate aggregate_of(const struct edubba_schema *schema,
                                          struct edubba_bytes family)
{
    for (size_t i = 0; schema != NULL && i < schema->family_count; i++) {
        const struct edubba_family *each = &schema->families[i];
        if (strlen(each->name) == family.size &&
            memcmp(each->name, family.data, family.size) == 0) {
            return each->aggregate;
        }
    }
    return EDUBBA_PLAIN;
}

static void print_time(FILE *out, int64_t timestamp_us)
{
    time_t seconds = (time_t)(timestamp_us / 1000000);
    struct tm parts;
    char text[64] = "";
    if (localtime_r(&seconds, &parts) != NULL) {
        (void)strftime(text, sizeof text, "%Y/%m/%d-%H:%M:%S", &parts);
    }
    fprintf(out, "%s.%06d", text, (int)(timestamp_us % 1000000));
}

/* How wide a text prints, about: bytes that begin a character. */
static int characters(struct edubba_bytes bytes)
{
    const unsigned char *p = bytes.data;
    int count = 0;
    for (size_t i = 0; i < bytes.size; i++) {
        count += (p[i] & 0xc0) != 0x80;
    }
    return count;
}

/* As they are; nothing may be a null pointer, which fwrite() must not be given. */
static void print_bytes(FILE *out, struct edubba_bytes bytes)
{
    if (bytes.size > 0) {
        fwrite(bytes.data, 1, bytes.size, out);
    }
}

static void print_cell(FILE *out,
                       const struct edubba_cell *cell,
                       const struct edubba_schema *schema)
{
    int64_t number = 0;
    int width = 40 - (int)cell->family.size - 1 - characters(cell->qualifier);

    fputs("  ", out);
    print_bytes(out, cell->family);
    fputc(':', out);
    print_bytes(out, cell->qualifier);
    fprintf(out, "%*s @ ", width > 0 ? width : 0, "");
    print_time(out, cell->timestamp_us);
    if (cell->label.size > 0) {
        fputs(" label=", out);
        print_bytes(out, cell->label);
    }
    fputs("\n    ", out);
    if (cell->value.size > 0 && aggregate_of(schema, cell->family) != EDUBBA_PLAIN &&
        edubba_aggregate_value(cell->value, &number) == EDUBBA_OK) {
        fprintf(out, "%" PRId64, number);
    } else {
        print_quoted(out, cell->value);
    }
    fputc('\n', out);
}

static void print_json_cell(FILE *out,
                            const struct edubba_cell *cell,
                            const struct edubba_schema *schema)
{
    int64_t number = 0;

    fputc('{', out);
    print_json_bytes(out, "family", cell->family);
    fputc(',', out);
    print_json_bytes(out, "column", cell->qualifier);
    fprintf(out, ",\"timestamp\":%" PRId64 ",", cell->timestamp_us);
    print_json_bytes(out, "value", cell->value);
    if (cell->value.size > 0 && aggregate_of(schema, cell->family) != EDUBBA_PLAIN &&
        edubba_aggregate_value(cell->value, &number) == EDUBBA_OK) {
        fprintf(out, ",\"number\":%" PRId64, number);
    }
    if (cell->label.size > 0) {
        fputc(',', out);
        print_json_bytes(out, "label", cell->label);
    }
    fputc('}', out);
}

static void print_json_row(FILE *out,
                           const struct edubba_row *row,
                           const struct edubba_schema *schema,
                           bool keys_only)
{
    fputc('{', out);
    print_json_bytes(out, "key", row->key);
    if (!keys_only) {
        fputs(",\"cells\":[", out);
        for (size_t i = 0; i < row->cell_count; i++) {
            fputs(i > 0 ? "," : "", out);
            print_json_cell(out, &row->cells[i], schema);
        }
        fputc(']', out);
    }
    fputs("}\n", out);
}

void print_row(FILE *out,
               const struct edubba_row *row,
               const struct edubba_schema *schema,
               bool json,
               bool keys_only)
{
    if (json) {
        print_json_row(out, row, schema, keys_only);
        return;
    }
    if (!keys_only) {
        fputs("----------------------------------------\n", out);
    }
    print_bytes(out, row->key);
    fputc('\n', out);
    for (size_t i = 0; !keys_only && i < row->cell_count; i++) {
        print_cell(out, &row->cells[i], schema);
    }
}

/* --- progress ----------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

void progress_begin(struct progress *progress, const char *what)
{
    *progress = (struct progress){.what = what, .begun = now()};
}

void progress_step(struct progress *progress, unsigned long long count)
{
    if (count == 1) {
        waiting_end();
    }
    if (count % 1024 != 0) {
        return;
    }
    double time = now();
    if (time - progress->begun > 1 && time - progress->shown > 0.2 && isatty(2)) {
        progress->shown = time;
        progress->visible = true;
        fprintf(stderr, "\r  %llu %s, %.0f a second ", count, progress->what,
                (double)count / (time - progress->begun));
    }
}

void progress_end(struct progress *progress)
{
    if (progress->visible) {
        fputs("\r                                                  \r", stderr);
    }
}
