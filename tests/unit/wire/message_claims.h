/*
 * Messages that claim more than is there.
 */
#ifndef TESTS_UNIT_WIRE_MESSAGE_CLAIMS_H
#define TESTS_UNIT_WIRE_MESSAGE_CLAIMS_H

#include <criterion/criterion.h>
#include <string.h>

#include "common/wire/message.h"

/* The bytes of `array` claim to be a message of that kind, with more elements in `part` than there are: that is refused by
 * the part's name, and no memory is taken for them. */
#define EXPECT_CLAIM_REFUSED(kind, array, part)                                                  \
    do {                                                                                         \
        struct arena arena_;                                                                     \
        struct kind message_;                                                                    \
        struct error error_;                                                                     \
        arena_init(&arena_, 4096, SIZE_MAX);                                                     \
        cr_assert_eq(kind##_decode(bytes_of(array, sizeof(array)), &arena_, &message_, &error_), \
                     STATUS_MALFORMED);                                                          \
        cr_assert_not_null(strstr(error_.text, (part)), "%s", error_.text);                      \
        cr_assert_eq(arena_.used_bytes, 0);                                                      \
        arena_deinit(&arena_);                                                                   \
    } while (false)

#endif /* TESTS_UNIT_WIRE_MESSAGE_CLAIMS_H */
