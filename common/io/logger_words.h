/*
 * The settings log.level and log.format, which every daemon has: their words, and what they mean.
 */
#ifndef COMMON_IO_LOGGER_WORDS_H
#define COMMON_IO_LOGGER_WORDS_H

#include "common/io/config.h"
#include "common/io/logger.h"

/* As a configuration has them: targets of its keys. */
struct logger_words {
    const char *level;  /* log.level */
    const char *format; /* log.format */
};

#define LOGGER_WORDS_DEFAULT ((struct logger_words){.level = "info", .format = "text"})

/* What they mean.  A word that is none is refused in the reading, and means its default. */
struct logger_settings logger_words_take(const struct logger_words *words,
                                         struct config_reading *reading);

#endif /* COMMON_IO_LOGGER_WORDS_H */
