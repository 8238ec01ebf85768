#include "master/placement/advice_cure.h"

#define SALT_TEXT                                                                                    \
    "N = a hash of the key modulo about twice the number of servers; a read by key stays one read, " \
    "that of a range becomes N"

/* The front of the keys, to be written before what is proposed. */
static const char *front_of(const struct key_shape *shape, char text[BYTES_PRINTABLE_SIZE_MAX])
{
    return bytes_printable(shape->front, text);
}

void cure_describe(const struct key_shape *shape, struct buffer *out)
{
    static const char *const names[] = {
        [KEY_FIELD_TEXT] = "the field",  [KEY_FIELD_DATE] = "a time",
        [KEY_FIELD_EPOCH] = "a time",    [KEY_FIELD_NUMBER] = "a number",
        [KEY_FIELD_BYTES] = "the bytes",
    };
    char field[BYTES_PRINTABLE_SIZE_MAX];
    if (shape->known && shape->field.size_bytes > 0) {
        buffer_append_format(out, "%s ('%s')", names[shape->kind],
                             bytes_printable(shape->field, field));
    }
}

static const char *salt(const struct key_shape *shape, struct buffer *out)
{
    char front[BYTES_PRINTABLE_SIZE_MAX];
    buffer_append_format(out, "salt the key, 'N%c%s...': " SALT_TEXT ".", shape->separator,
                         front_of(shape, front));
    return "salting";
}

/* --- a time stands too far in front ----------------------------------------------------------------- */

static const char *swap_time(const struct key_shape *shape, struct buffer *out)
{
    char front[BYTES_PRINTABLE_SIZE_MAX];
    (void)front_of(shape, front);
    buffer_append_format(
        out,
        "Put what stands behind the time in front of it: '%sID%cTIME' in place of "
        "'%sTIME%cID'; for those who read one time of all, copy it to a table of its own.",
        front, shape->separator, front, shape->separator);
    return "field promotion";
}

static const char *promote(const struct key_shape *shape, struct buffer *out)
{
    char front[BYTES_PRINTABLE_SIZE_MAX];
    buffer_append_format(out,
                         "Promote a field in front of the time, such as the user or the device: "
                         "'%sUSER%cTIME'; if there is none that queries name, ",
                         front_of(shape, front), shape->separator);
    (void)salt(shape, out);
    return "field promotion";
}

static const char *move_time(const struct key_shape *shape, struct buffer *out)
{
    return shape->more ? swap_time(shape, out) : promote(shape, out);
}

/* --- rows that grow ------------------------------------------------------------------------------- */

static const char *hash_number(const struct key_shape *shape, struct buffer *out)
{
    char front[BYTES_PRINTABLE_SIZE_MAX];
    buffer_append_format(
        out,
        "Numbers that are counted up are neighbours: put a hash of the number in "
        "front of it, '%sHASH%cNUMBER', or write its digits backwards. If ranges of "
        "numbers are read, ",
        front_of(shape, front), shape->separator);
    return salt(shape, out);
}

static const char *break_series(const struct key_shape *shape, struct buffer *out)
{
    char front[BYTES_PRINTABLE_SIZE_MAX];
    buffer_append_format(
        out,
        "A field stands in front of the time already; it is one of its values, '%s', "
        "that is written to so much. Promote another field, or ",
        front_of(shape, front));
    return salt(shape, out);
}

/* Salts, or promoted fields, that are too few. */
static const char *spread_further(struct buffer *out)
{
    buffer_append_format(out, ": more salts, or a field of more values, spread it further.");
    return "salting";
}

const char *cure_growing(const struct cure_growing *growing, struct buffer *out)
{
    const struct key_shape *shape = &growing->shape;

    if (growing->writers > 1) {
        buffer_append_format(out,
                             "%zu tablets grow at their ends at once, as salts and promoted fields "
                             "make them",
                             growing->writers);
        return spread_further(out);
    }
    if (growing->peers && !shape->more) {
        char front[BYTES_PRINTABLE_SIZE_MAX];
        buffer_append_format(out,
                             "Rows that begin otherwise than with '%s' are written to as much, as "
                             "salts and promoted fields have it",
                             front_of(shape, front));
        return spread_further(out);
    }
    if (key_shape_is_time(shape)) {
        bool one_of_several = growing->others && shape->front.size_bytes > 0 && !shape->more;
        return one_of_several ? break_series(shape, out) : move_time(shape, out);
    }
    if (shape->known && shape->kind != KEY_FIELD_TEXT) {
        return hash_number(shape, out);
    }
    buffer_append_format(out,
                         "Promote a field of many values in front of what grows, such as the user "
                         "or the device; if there is none that queries name, ");
    (void)salt(shape, out);
    return "field promotion";
}

/* --- load that lies side by side ------------------------------------------------------------------- */

const char *cure_crowded(const struct key_shape *shape, bool others, struct buffer *out)
{
    char front[BYTES_PRINTABLE_SIZE_MAX];

    if (key_shape_is_time(shape) && (shape->more || !others || shape->front.size_bytes == 0)) {
        return move_time(shape, out);
    }
    if (shape->known && shape->front.size_bytes > 0 && others) {
        buffer_append_format(
            out,
            "Few values of the leading fields take it all ('%s'): promote a field of "
            "many values in front of them, or ",
            front_of(shape, front));
        return salt(shape, out);
    }
    buffer_append_format(
        out, "Begin the key with a field of many values that load spreads over; a split "
             "parts such a range only until the load moves on.");
    return "field promotion";
}

/* --- one row ---------------------------------------------------------------------------------------- */

const char *cure_popular(struct bytes row, bool written, struct buffer *out)
{
    char text[BYTES_PRINTABLE_SIZE_MAX];

    (void)bytes_printable(row, text);
    if (written) {
        buffer_append_format(
            out,
            "Spread what is written to it over several rows: salts, '0#%s', '1#%s' and "
            "so on, or a new row of each change, '%s#TIME'; if it counts, add to "
            "aggregate cells of some rows and read their sum.",
            text, text, text);
    } else {
        buffer_append_format(out,
                             "Keep a copy of it where it is read, or spread it over several rows, "
                             "'0#%s', '1#%s' and so on, of which each reader takes one.",
                             text, text);
    }
    return "salting";
}
