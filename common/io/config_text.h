/*
 * A configuration file's text, as libconfig is to read it.
 *
 * libconfig takes a number without the suffix L for one of 32 bits and cuts off what is above: a limit
 * of 4294967296 bytes would be one of 0.  So numbers that need more get their L here, and what could
 * not be read so is refused: a number of more than 64 bits, a file that includes another, a NUL.
 *
 * Pure.
 */
#ifndef COMMON_IO_CONFIG_TEXT_H
#define COMMON_IO_CONFIG_TEXT_H

#include "common/base/buffer.h"
#include "common/base/bytes.h"
#include "common/base/error.h"

/* Append the text, closed by a NUL.  path is for errors alone.
 * Errors: STATUS_INVALID_ARGUMENT (names file and line), STATUS_NO_MEMORY. */
enum status config_text_prepare(struct bytes text,
                                const char *path,
                                struct buffer *out,
                                struct error *ret_error);

#endif /* COMMON_IO_CONFIG_TEXT_H */
