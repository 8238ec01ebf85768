/*
 * A bounded MessagePack reader for messages that may be hostile.
 *
 *   struct wire_reader reader = wire_reader_open(in, arena, "split_request", ret_error);
 *   struct wire_array fields = wire_read_message(&reader);
 *   message.table = wire_read_bytes(&reader, &fields, "table");
 *   message.row = wire_read_bytes(&reader, &fields, "row");
 *   return wire_reader_finish(&reader, &fields);
 *
 * Invariants:
 *   1. Nothing is read beyond the message, and no count or size is believed before it is compared
 *      with the bytes that remain.
 *   2. Nesting is at most MESSAGE_DEPTH_MAX arrays; skipping does not recurse.
 *   3. The first failure sticks: later reads give zero, and cost nothing.  So a decoder reads all
 *      its fields and looks at the status once.
 *   4. A field past the end of its array is zero (an older writer did not know it); elements that
 *      nobody read are skipped (a newer writer added them).
 *
 * Decoded bytes borrow from the message; lists are in the arena, whose limit bounds what a message
 * of many small elements may grow to.
 *
 * Thread rule: one owner.
 */
#ifndef COMMON_WIRE_READER_H
#define COMMON_WIRE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"

struct wire_reader {
    const uint8_t *at;
    const uint8_t *end;
    struct arena *arena; /* NULL for messages without lists */
    const char *message; /* its name, for errors */
    struct error *error; /* may be NULL */
    enum status status;  /* sticks */
    uint32_t depth;
};

/* An array being read: how many of its elements are left. */
struct wire_array {
    uint32_t left;
};

struct wire_reader wire_reader_open(struct bytes in,
                                    struct arena *arena,
                                    const char *message,
                                    struct error *ret_error);

/* The array that the message is. */
struct wire_array wire_read_message(struct wire_reader *reader);

/* Skip what is left of the message; bytes behind it are an error.  Returns the reader's status. */
enum status wire_reader_finish(struct wire_reader *reader, struct wire_array *fields);

/* The same without an array around what was read. */
enum status wire_reader_close(struct wire_reader *reader);

/* Step over the next element, with all that is in it. */
void wire_skip(struct wire_reader *reader, struct wire_array *fields);

/* The next element, which must be an array (missing: an empty one).  Close it with
 * wire_array_end(), which skips what was not read. */
struct wire_array wire_read_array(struct wire_reader *reader,
                                  struct wire_array *fields,
                                  const char *field);
void wire_array_end(struct wire_reader *reader, struct wire_array *array);

/* What a list's elements are like. */
struct wire_list_shape {
    size_t element_bytes;  /* decoded */
    size_t wire_bytes_min; /* each takes at least so much of the message */
    size_t count_max;
};

/*
 * The next element, which must be an array of as many things as the list will hold.  Gives zeroed
 * room for them in the arena; NULL when there are none or on failure.  Close *ret_list.
 */
void *wire_read_list(struct wire_reader *reader,
                     struct wire_array *fields,
                     const char *field,
                     struct wire_list_shape shape,
                     struct wire_array *ret_list);

uint64_t wire_read_u64(struct wire_reader *reader, struct wire_array *fields, const char *field);
uint32_t wire_read_u32(struct wire_reader *reader, struct wire_array *fields, const char *field);
int64_t wire_read_i64(struct wire_reader *reader, struct wire_array *fields, const char *field);
bool wire_read_bool(struct wire_reader *reader, struct wire_array *fields, const char *field);
double wire_read_f64(struct wire_reader *reader, struct wire_array *fields, const char *field);
struct bytes wire_read_bytes(struct wire_reader *reader,
                             struct wire_array *fields,
                             const char *field);

/* A number in [minimum, maximum]: an enum's.  Missing counts as 0. */
uint32_t wire_read_choice(struct wire_reader *reader,
                          struct wire_array *fields,
                          const char *field,
                          uint32_t minimum,
                          uint32_t maximum);

/* Is the next element nil, or missing?  Then it is consumed. */
bool wire_read_nil(struct wire_reader *reader, struct wire_array *fields);

/* Fail with STATUS_MALFORMED: "<message>.<field>: <reason>". */
void wire_reader_refuse(struct wire_reader *reader, const char *field, const char *reason);

#endif /* COMMON_WIRE_READER_H */
