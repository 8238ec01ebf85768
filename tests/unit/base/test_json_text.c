#include <criterion/criterion.h>

#include "common/base/json_text.h"

static void expect(struct bytes text, const char *json)
{
    struct buffer out = BUFFER_INIT;
    json_text(&out, text);
    cr_assert(bytes_equal(buffer_bytes(&out), bytes_of_text(json)), "%.*s", (int)out.size_bytes,
              (const char *)out.data);
    buffer_deinit(&out);
}

Test(json_text, what_is_printable_stands_as_it_is)
{
    expect(BYTES_EMPTY, "\"\"");
    expect(bytes_of_text("/var/lib/edubba ~!"), "\"/var/lib/edubba ~!\"");
}

Test(json_text, quotes_and_backslashes_are_escaped)
{
    expect(bytes_of_text("a\"b\\c"), "\"a\\\"b\\\\c\"");
}

Test(json_text, every_other_byte_is_one_character)
{
    const uint8_t bytes[] = {0x00, '\n', 0x1f, 0x7f, 0x80, 0xff};
    expect(bytes_of(bytes, sizeof bytes), "\"\\u0000\\u000a\\u001f\\u007f\\u0080\\u00ff\"");
}
