#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/io/file.h"
#include "common/io/file_error.h"

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Append the name to a growing array of pointers. */
static bool add_name(struct arena *arena, struct buffer *names, const char *name)
{
    char *copy = arena_copy_text(arena, bytes_of_text(name));
    if (copy == NULL) {
        return false;
    }
    buffer_append(names, &copy, sizeof copy);
    return !names->failed;
}

/* 0 or an errno. */
static int read_names(DIR *stream, struct arena *arena, struct buffer *names)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(stream);
        if (entry == NULL) {
            return errno;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !add_name(arena, names, entry->d_name)) {
            return ENOMEM;
        }
    }
}

enum status file_list_folder(const char *folder,
                             struct arena *arena,
                             char ***ret_names,
                             size_t *ret_count,
                             struct error *ret_error)
{
    struct buffer names = BUFFER_INIT;
    DIR *stream = opendir(folder);
    int error_number = stream == NULL ? errno : read_names(stream, arena, &names);
    if (stream != NULL) {
        (void)closedir(stream);
    }
    struct bytes copy = BYTES_EMPTY;
    if (error_number == 0) {
        copy = arena_copy(arena, buffer_bytes(&names));
        error_number = copy.data == NULL ? ENOMEM : 0;
    }
    buffer_deinit(&names);
    if (error_number != 0) {
        return file_error(ret_error, "list", folder, error_number);
    }
    /* The arena hands out writable, aligned memory; struct bytes only forgot it. */
    *ret_names = (char **)(uintptr_t)copy.data;
    *ret_count = copy.size_bytes / sizeof(char *);
    qsort(*ret_names, *ret_count, sizeof(char *), compare_names);
    return STATUS_OK;
}
