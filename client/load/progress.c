#include "client/load/progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

void load_progress_add(struct load_progress *progress, const char *format, ...)
{
    size_t room = sizeof progress->text - progress->size;
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(progress->text + progress->size, room, format, arguments);
    va_end(arguments);
    size_t added = wanted > 0 ? (size_t)wanted : 0;
    progress->size += added < room ? added : room - 1;
}

/* SIZE_MAX: the terminal does not know how wide it is. */
static size_t columns_of_terminal(void)
{
    struct winsize size;
    bool knows = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return knows ? size.ws_col : SIZE_MAX;
}

void load_progress_show(const struct load_progress *progress)
{
    size_t columns = columns_of_terminal();
    size_t shown = progress->size < columns ? progress->size : columns;
    fprintf(stderr, LOAD_PROGRESS_CLEAR "%.*s", (int)shown, progress->text);
    (void)fflush(stderr);
}
