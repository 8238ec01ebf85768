#include "common/io/logger_words.h"

#include <string.h>

static const char *const LEVELS[] = {"debug", "info", "warn", "error"}; /* as enum log_level */

#define LEVEL_COUNT (sizeof LEVELS / sizeof *LEVELS)

struct logger_settings logger_words_take(const struct logger_words *words,
                                         struct config_reading *reading)
{
    size_t level = 0;
    bool json = strcmp(words->format, "json") == 0;
    while (level < LEVEL_COUNT && strcmp(LEVELS[level], words->level) != 0) {
        level++;
    }
    if (level == LEVEL_COUNT) {
        config_refuse(reading, "log.level",
                      "log.level = \"%s\": must be debug, info, warn or error", words->level);
        level = LOG_LEVEL_INFO;
    }
    if (!json && strcmp(words->format, "text") != 0) {
        config_refuse(reading, "log.format", "log.format = \"%s\": must be text or json",
                      words->format);
    }
    return (struct logger_settings){.level = (enum log_level)level, .json = json};
}
