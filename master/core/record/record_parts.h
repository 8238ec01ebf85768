/*
 * The parts that records are made of.  For the files of record.h only.
 *
 * Writers append to a buffer, which may fail.  A reader that ran past its end is bad, and gives
 * zeros from then on: look once, at the end.
 */
#ifndef MASTER_CORE_RECORD_RECORD_PARTS_H
#define MASTER_CORE_RECORD_RECORD_PARTS_H

#include "master/core/record/record.h"

struct record_reader {
    const uint8_t *at;
    const uint8_t *end;
    bool bad; /* ran past the end: everything read since is 0 */
};

void record_put_number(struct buffer *out, uint64_t value);
void record_put_bytes(struct buffer *out, struct bytes bytes);
/* Close the value that began at start. */
void record_put_checksum(struct buffer *out, size_t start, char kind, uint64_t number);

uint64_t record_take_number(struct record_reader *reader);
uint32_t record_take_number32(struct record_reader *reader);
struct bytes record_take_bytes(struct record_reader *reader);

/* Check layout (up to layout_max) and checksum; *ret_reader stands at the first field. */
enum status record_open_layout(char kind,
                               uint64_t number,
                               struct bytes value,
                               uint8_t layout_max,
                               struct record_reader *ret_reader,
                               struct error *ret_error);

/* STATUS_CORRUPT, naming the record. */
enum status record_corrupt(char kind, uint64_t number, const char *what, struct error *ret_error);

#endif /* MASTER_CORE_RECORD_RECORD_PARTS_H */
