#include "common/io/kv/kv_lmdb_apart.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/io/file.h"
#include "common/io/kv/kv_lmdb_readers.h"

/* As LMDB calls the table of a file that is not in a folder of its own. */
#define DATA_NAME    "data"
#define READERS_NAME DATA_NAME "-lock"

bool kv_lmdb_apart_make(const char *folder,
                        uint32_t readers_max,
                        mode_t mode,
                        struct kv_lmdb_apart *ret_apart)
{
    struct kv_lmdb_apart apart = {.folder = "/dev/shm/edubba-XXXXXX"};
    char absolute[PATH_MAX];
    char data[FILE_PATH_SIZE_MAX];

    if (realpath(folder, absolute) == NULL ||
        file_path_join(data, absolute, "data.mdb", NULL) != STATUS_OK ||
        mkdtemp(apart.folder) == NULL) {
        return false;
    }
    (void)snprintf(apart.data, sizeof apart.data, "%s/" DATA_NAME, apart.folder);
    (void)snprintf(apart.readers, sizeof apart.readers, "%s/" READERS_NAME, apart.folder);
    if (symlink(data, apart.data) != 0 ||
        kv_lmdb_place_readers_at(apart.readers, readers_max, mode) != 0) {
        kv_lmdb_apart_remove(&apart);
        return false;
    }
    *ret_apart = apart;
    return true;
}

void kv_lmdb_apart_remove(const struct kv_lmdb_apart *apart)
{
    (void)unlink(apart->readers);
    (void)unlink(apart->data);
    (void)rmdir(apart->folder);
}
