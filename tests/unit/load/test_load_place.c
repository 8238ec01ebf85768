/* Whether a row that was read is the one that was asked for, and a scan's rows come in order, each once. */
#include <criterion/criterion.h>

#include <string.h>

#include "client/load/core/row_place.h"

TestSuite(load_place, .timeout = 600);

static const uint8_t END[] = "uses";
static char text[LOAD_PLACE_BYTES];

static struct load_row_place begin(const char *key)
{
    struct load_row_place place;
    load_row_place_begin(&place, (const uint8_t *)key, strlen(key));
    return place;
}

static bool take(struct load_row_place *place, const char *key)
{
    return load_row_place_take(place, (const uint8_t *)key, strlen(key), END, sizeof END - 1);
}

static const char *say(const struct load_row_place *place, const char *key, bool is_scan)
{
    load_row_place_text(place, (const uint8_t *)key, strlen(key), is_scan, text);
    return text;
}

Test(load_place, only_the_row_that_was_asked_for_is_it)
{
    struct load_row_place asked = begin("user17");
    cr_assert(load_row_place_is(&asked, (const uint8_t *)"user17", 6));
    cr_assert_not(load_row_place_is(&asked, (const uint8_t *)"user18", 6));
    cr_assert_not(load_row_place_is(&asked, (const uint8_t *)"user1", 5));
    cr_assert_not(load_row_place_is(&asked, (const uint8_t *)"user170", 7));
    cr_assert_str_eq(say(&asked, "user18", false), "row user18 came, asked for was row user17");
}

Test(load_place, a_scan_has_each_row_once_in_order_and_within_its_bounds)
{
    struct load_row_place place = begin("user17");
    cr_assert_not(take(&place, "user16")); /* before it begins */
    cr_assert_str_eq(say(&place, "user16", true),
                     "row user16 came in a scan that begins at row user17");
    cr_assert(take(&place, "user17")); /* where it begins */
    cr_assert_not(take(&place, "user17"));
    cr_assert(take(&place, "user170"));
    cr_assert(take(&place, "user2"));
    cr_assert_not(take(&place, "user170")); /* back */
    cr_assert_str_eq(say(&place, "user170", true), "row user170 came in a scan behind row user2");
    cr_assert_not(take(&place, "user2")); /* what had no place has not moved it */
    cr_assert(take(&place, "userz"));
    cr_assert_not(take(&place, "uses")); /* where it ends */
    cr_assert_not(take(&place, "zzz"));
}

Test(load_place, keys_that_are_longer_than_ours_fit)
{
    char key[3 * LOAD_ROW_KEY_BYTES_MAX];
    memset(key, 'a', sizeof key - 1);
    key[0] = 'u';
    key[sizeof key - 1] = '\0';
    struct load_row_place place = begin("u");
    cr_assert(take(&place, key));
    cr_assert_eq(place.size, LOAD_ROW_KEY_BYTES_MAX);
    key[LOAD_ROW_KEY_BYTES_MAX - 1] = 'A';
    cr_assert_not(take(&place, key));
    memset(key, 0xff, sizeof key - 1);
    cr_assert_eq(strchr(say(&place, key, true), '\n'), NULL);
    cr_assert_lt(strlen(text), LOAD_PLACE_BYTES - 1);
}
