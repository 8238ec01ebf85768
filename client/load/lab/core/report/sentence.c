#include "client/load/lab/core/report/sentence.h"

#include <stdarg.h>
#include <stdio.h>

struct lab_sentence lab_sentence_in(char *text, size_t room)
{
    text[0] = '\0';
    return (struct lab_sentence){.text = text, .room = room};
}

void lab_say(struct lab_sentence *sentence, const char *format, ...)
{
    va_list arguments;
    size_t room = sentence->room - sentence->size;
    va_start(arguments, format);
    int size = vsnprintf(sentence->text + sentence->size, room, format, arguments);
    va_end(arguments);
    if (size > 0) {
        sentence->size += (size_t)size < room ? (size_t)size : room - 1;
    }
}

void lab_begin_clause(struct lab_sentence *sentence)
{
    lab_say(sentence, "%s", sentence->clauses > 0 ? "; " : "");
    sentence->clauses++;
}
