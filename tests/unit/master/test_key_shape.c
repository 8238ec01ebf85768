/* What rows show of the keys that they are made of. */
#include "master/placement/key_shape.h"

#include <criterion/criterion.h>

#define ROWS_MAX 4

/* Of rows that are written one after the other, NULL ends. */
static struct key_shape shape_of(const char *const *texts)
{
    struct bytes rows[ROWS_MAX];
    size_t count = 0;
    while (count < ROWS_MAX && texts[count] != NULL) {
        rows[count] = bytes_of_text(texts[count]);
        count++;
    }
    return key_shape_of(rows, count);
}

#define SHAPE(...) shape_of((const char *const[]){__VA_ARGS__, NULL})

static void assert_parts(const struct key_shape *shape, const char *front, const char *field)
{
    char text[2][BYTES_PRINTABLE_SIZE_MAX];
    cr_assert(shape->known);
    cr_assert_str_eq(bytes_printable(shape->front, text[0]), front);
    cr_assert_str_eq(bytes_printable(shape->field, text[1]), field);
}

Test(key_shape, dates)
{
    struct key_shape shape = SHAPE("BATTERY#2015030112", "BATTERY#20150302",
                                   "BATTERY#20150303124501");
    assert_parts(&shape, "BATTERY#", "20150303124501");
    cr_assert(shape.kind == KEY_FIELD_DATE && !shape.more && shape.separator == '#');
    shape = SHAPE("2015-03-01T12:45:01.1Z/a", "2015-03-01T12:45:02.1Z/b");
    assert_parts(&shape, "", "2015-03-01T12:45:02.1Z");
    cr_assert(shape.kind == KEY_FIELD_DATE && shape.more && shape.separator == '/');
    shape = SHAPE("LoL#20150301#Corrie", "LoL#20150301#Wren");
    assert_parts(&shape, "LoL#", "20150301");
    cr_assert(shape.more);
}

Test(key_shape, what_only_looks_like_a_date_a_little_is_none)
{
    cr_assert_eq(SHAPE("20151301", "20151302").kind, KEY_FIELD_NUMBER, "the thirteenth month");
    cr_assert_eq(SHAPE("20150132", "20150133").kind, KEY_FIELD_NUMBER);
    cr_assert_eq(SHAPE("30150101", "30150102").kind, KEY_FIELD_NUMBER);
    cr_assert_eq(SHAPE("2015x03x01", "2015x03x02").kind, KEY_FIELD_NUMBER,
                 "a word that ends in them");
    cr_assert_eq(SHAPE("201503", "201504").kind, KEY_FIELD_NUMBER);
}

Test(key_shape, times_since_1970)
{
    struct key_shape shape = SHAPE("server1.bbb.com#1426535612045", "server1.bbb.com#1426535699");
    assert_parts(&shape, "server1.bbb.com#", "1426535612045");
    cr_assert_eq(shape.kind, KEY_FIELD_EPOCH);
    cr_assert_eq(SHAPE("0426535612045", "0426535612046").kind, KEY_FIELD_NUMBER);
    cr_assert_eq(SHAPE("142653561", "142653562").kind, KEY_FIELD_NUMBER, "too short");
    cr_assert_eq(SHAPE("a#5#1426535612045", "b#5#1426535612046").kind, KEY_FIELD_TEXT,
                 "it is not the first by which they differ");
}

Test(key_shape, numbers_words_and_bytes)
{
    struct key_shape shape = SHAPE("user0001", "user0002");
    assert_parts(&shape, "", "user0002");
    cr_assert_eq(shape.kind, KEY_FIELD_NUMBER);
    shape = SHAPE("a|Corrie|1", "a|Wren|2");
    assert_parts(&shape, "a|", "Corrie");
    cr_assert(shape.kind == KEY_FIELD_TEXT && shape.more && shape.separator == '|');
    shape = SHAPE("a|\x01\x02", "a|\x01\x03");
    cr_assert_eq(shape.kind, KEY_FIELD_BYTES);
}

/* Of a row that is of the same form; "" where it is not. */
static const char *front_beside(const struct key_shape *shape, const char *row)
{
    static char text[BYTES_PRINTABLE_SIZE_MAX];
    struct bytes front = BYTES_EMPTY;
    bool same = key_shape_front_of(shape, bytes_of_text(row), &front);
    return same ? bytes_printable(front, text) : "";
}

Test(key_shape, rows_of_the_same_form_tell_their_fronts)
{
    struct key_shape shape = SHAPE("0#BATTERY#20150301124501", "0#BATTERY#20150301124502");
    cr_assert_str_eq(front_beside(&shape, "12#BATTERY#20150302"), "12#BATTERY#");
    cr_assert_str_eq(front_beside(&shape, "12#BATTERY#2015"), "",
                     "as far as it is seen it is no date");
    cr_assert_str_eq(front_beside(&shape, "12#BATTERY"), "");
    cr_assert_str_eq(front_beside(&shape, "12#20150302"), "", "a field less");
    cr_assert_str_eq(front_beside(&shape, ""), "");
    shape = SHAPE("2#0000012345", "2#0000012346");
    cr_assert_eq(shape.kind, KEY_FIELD_NUMBER);
    cr_assert_str_eq(front_beside(&shape, "1#00001"), "1#");
    cr_assert_str_eq(front_beside(&shape, "1#"), "");
    cr_assert_str_eq(front_beside(&shape, "1#x"), "");
    shape = SHAPE("a|Corrie|1", "a|Wren|2");
    cr_assert_str_eq(front_beside(&shape, "b|Wren|2"), "", "by text nobody can tell");
    cr_assert_str_eq(front_beside(&(struct key_shape){.known = false}, "b|2"), "");
}

Test(key_shape, of_too_few_rows_nothing_is_known)
{
    cr_assert_not(key_shape_of(NULL, 0).known);
    cr_assert_not(SHAPE("20150301").known);
    struct key_shape shape = SHAPE("", "");
    cr_assert_not(shape.known);
    cr_assert_eq(SHAPE("", "x").kind, KEY_FIELD_TEXT);
}
