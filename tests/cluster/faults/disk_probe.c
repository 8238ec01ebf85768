/*
 * disk_probe FOLDER WORD...: changes files as it is told, for the test of shim_disk and power_cut.
 *
 *   write FILE OFFSET TEXT      made if it is not there
 *   sync FILE, folder           fdatasync; fsync of FOLDER
 *   synced FILE OFFSET TEXT     through a descriptor that is O_DSYNC
 *   rename FROM TO, remove FILE
 *
 * Prints "WORD: error" where a call fails, and goes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[2][512];

static const char *below(int place, const char *folder, const char *name)
{
    (void)snprintf(path[place], sizeof path[place], "%s/%s", folder, name);
    return path[place];
}

static int write_text(const char *file, const char *offset, const char *text, int flags)
{
    int descriptor = open(file, O_WRONLY | O_CREAT | flags, 0600);
    size_t size = strlen(text);
    if (descriptor < 0) {
        return -1;
    }
    ssize_t put = pwrite(descriptor, text, size, (off_t)strtoll(offset, NULL, 10));
    int error_number = errno;
    (void)close(descriptor);
    errno = error_number;
    return put == (ssize_t)size ? 0 : -1;
}

static int sync_path(const char *file)
{
    int descriptor = open(file, O_RDONLY);
    int result = descriptor < 0 ? -1 : fsync(descriptor);
    int error_number = errno;
    (void)close(descriptor);
    errno = error_number;
    return result;
}

int main(int count, char **words)
{
    const char *folder = count > 1 ? words[1] : "";
    for (int i = 2; i < count;) {
        const char *word = words[i];
        int left = count - i - 1;
        int result = 0;
        if (strcmp(word, "write") == 0 && left >= 3) {
            result = write_text(below(0, folder, words[i + 1]), words[i + 2], words[i + 3], 0);
            i += 4;
        } else if (strcmp(word, "synced") == 0 && left >= 3) {
            result = write_text(below(0, folder, words[i + 1]), words[i + 2], words[i + 3],
                                O_DSYNC);
            i += 4;
        } else if (strcmp(word, "sync") == 0 && left >= 1) {
            result = sync_path(below(0, folder, words[i + 1]));
            i += 2;
        } else if (strcmp(word, "folder") == 0) {
            result = sync_path(folder);
            i += 1;
        } else if (strcmp(word, "rename") == 0 && left >= 2) {
            result = rename(below(0, folder, words[i + 1]), below(1, folder, words[i + 2]));
            i += 3;
        } else if (strcmp(word, "remove") == 0 && left >= 1) {
            result = unlink(below(0, folder, words[i + 1]));
            i += 2;
        } else {
            fprintf(stderr, "disk_probe: what is %s?\n", word);
            return 2;
        }
        if (result != 0) {
            printf("%s: %s\n", word, strerror(errno));
        }
    }
    return 0;
}
