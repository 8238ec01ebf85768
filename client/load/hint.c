#include "client/load/hint.h"

#include <stdarg.h>
#include <stdlib.h>

char *load_hint(const struct load_options *options,
                const char *phase,
                const struct load_workload *workload,
                const char *sentence,
                ...)
{
    char *hint = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&hint, &size);
    if (out == NULL) {
        return NULL;
    }
    va_list arguments;
    va_start(arguments, sentence);
    (void)vfprintf(out, sentence, arguments);
    va_end(arguments);
    fputc(' ', out);
    load_options_command(out, options, phase, workload);
    if (fclose(out) != 0) {
        free(hint);
        return NULL;
    }
    return hint;
}
