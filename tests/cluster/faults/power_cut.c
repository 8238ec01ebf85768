/*
 * power_cut DATA FOLDER SEED: the power has failed.  Of the changes that the journals in FOLDER/undo
 * (undo.h) still hold, some are taken back; which, the seed says.  The process that wrote them has ended.
 * The journals are empty afterwards: what is on the disk now is durable.
 *
 * FILES.  Each sector keeps some of its unsynced changes, the older before the newer: none, all, or any
 * number of them.  A file that has grown may be as short as it was.  Prints what it has taken back.
 * NAMES.  Changes of folders are journaled in order by every file system that matters: some of the
 * newest of them are taken back.
 */
#define _GNU_SOURCE /* nftw */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "undo.h"

#define CHANGES_MAX 1000000

static uint64_t random_state;
static ino_t wanted_inode;
static char found_path[UNDO_PATH_BYTES];

_Noreturn static void give_up(const char *what, const char *path)
{
    fprintf(stderr, "power_cut: cannot %s %s: %s\n", what, path, strerror(errno));
    exit(1);
}

/* xorshift64*: uniform enough below small bounds. */
static uint64_t random_below(uint64_t bound)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (random_state * UINT64_C(2685821657736338717) >> 33) % bound;
}

static int visit(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)kind;
    (void)place;
    if (status->st_ino == wanted_inode && S_ISREG(status->st_mode)) {
        (void)snprintf(found_path, sizeof found_path, "%s", path);
        return 1;
    }
    return 0;
}

/* --- files -------------------------------------------------------------------------------------- */

struct journal {
    int descriptor;
    uint64_t size_durable_bytes;
    uint64_t offsets[CHANGES_MAX]; /* of its changes, oldest first */
    size_t count;
};

static struct journal journal;

static struct undo_change change_at(uint64_t offset)
{
    struct undo_change change;
    if (pread(journal.descriptor, &change, sizeof change, (off_t)offset) != sizeof change) {
        give_up("read", "a journal");
    }
    return change;
}

/* Whole records only. */
static void read_journal(const char *path)
{
    struct stat status;
    struct undo_header header;
    struct undo_change change;
    journal.count = 0;
    journal.descriptor = open(path, O_RDWR);
    if (journal.descriptor < 0 || fstat(journal.descriptor, &status) != 0) {
        give_up("open", path);
    }
    if (pread(journal.descriptor, &header, sizeof header, 0) != sizeof header ||
        header.magic != UNDO_MAGIC) {
        return;
    }
    uint64_t size = (uint64_t)status.st_size;
    journal.size_durable_bytes = header.file_size_bytes;
    uint64_t at = header.begin;
    while (at + sizeof change <= size) {
        change = change_at(at);
        if (at + sizeof change + change.old_bytes > size) {
            return;
        }
        if (journal.count == CHANGES_MAX) {
            errno = EFBIG;
            give_up("roll back", path);
        }
        journal.offsets[journal.count++] = at;
        at += sizeof change + change.old_bytes;
    }
}

/* How many changes of a sector are kept is drawn from its number, so that it is one for all of them. */
static bool sector_keeps(uint64_t sector, size_t change, uint64_t salt)
{
    uint64_t mixed = (sector + salt) * UINT64_C(0x9e3779b97f4a7c15);
    mixed ^= mixed >> 29;
    mixed *= UINT64_C(0xbf58476d1ce4e5b9);
    mixed ^= mixed >> 32;
    switch (mixed & 3) {
    case 0:
        return false;
    case 1:
        return true;
    default:
        return change < (mixed >> 2) % journal.count;
    }
}

/* One change of one sector: bytes [from, to) of the file as they were before it. */
static void restore(
    int file, uint64_t record, const struct undo_change *change, uint64_t from, uint64_t to)
{
    uint8_t old[UNDO_SECTOR_BYTES] = {0};
    uint64_t skipped = from - change->offset;
    uint64_t size = to - from;
    if (skipped < change->old_bytes) {
        uint64_t saved = change->old_bytes - skipped;
        size_t wanted = (size_t)(saved < size ? saved : size);
        if (pread(journal.descriptor, old, wanted, (off_t)(record + sizeof *change + skipped)) !=
            (ssize_t)wanted) {
            give_up("read", "a journal");
        }
    }
    if (pwrite(file, old, (size_t)size, (off_t)from) != (ssize_t)size) {
        give_up("roll back", "a file");
    }
}

/* Newest first; returns sectors taken back. */
static uint64_t roll_back(int file, uint64_t salt, bool everything)
{
    uint64_t taken = 0;
    for (size_t i = journal.count; i-- > 0;) {
        struct undo_change change = change_at(journal.offsets[i]);
        uint64_t end = change.offset + change.size_bytes;
        for (uint64_t from = change.offset; from < end;) {
            uint64_t sector = from / UNDO_SECTOR_BYTES;
            uint64_t to = (sector + 1) * UNDO_SECTOR_BYTES;
            to = to < end ? to : end;
            if (everything || !sector_keeps(sector, i, salt)) {
                restore(file, journal.offsets[i], &change, from, to);
                taken += 1;
            }
            from = to;
        }
    }
    return taken;
}

static void cut_file(const char *data, const char *journal_path, ino_t inode)
{
    read_journal(journal_path);
    wanted_inode = inode;
    found_path[0] = '\0';
    (void)nftw(data, visit, 32, FTW_PHYS);
    if (journal.count > 0 && found_path[0] != '\0') {
        int file = open(found_path, O_RDWR);
        if (file < 0) {
            give_up("open", found_path);
        }
        /* Now and then nothing has reached the disk. */
        bool everything = random_below(4) == 0;
        uint64_t taken = roll_back(file, random_below(UINT64_C(1) << 31), everything);
        uint64_t size_before = change_at(journal.offsets[0]).file_size_bytes;
        size_before = size_before > journal.size_durable_bytes ? size_before
                                                               : journal.size_durable_bytes;
        bool shorter = everything || random_below(2) == 0;
        struct stat status;
        if (fstat(file, &status) != 0 || (shorter && (uint64_t)status.st_size > size_before &&
                                          ftruncate(file, (off_t)size_before) != 0)) {
            give_up("cut", found_path);
        }
        (void)close(file);
        printf("%s: %zu changes were not synced, %" PRIu64 " sectors of them are gone%s\n",
               found_path, journal.count, taken, everything ? ", all" : "");
    }
    (void)close(journal.descriptor);
    (void)unlink(journal_path);
}

/* --- names -------------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void take_back(const char *journals, const struct undo_name *name)
{
    char kept[UNDO_PATH_BYTES + 32];
    (void)snprintf(kept, sizeof kept, "%s/kept-%" PRIu64, journals, name->kept);
    if (name->kind == UNDO_CREATED) {
        (void)nftw(name->path, remove_one, 32, FTW_DEPTH | FTW_PHYS);
    } else if (name->kind == UNDO_RENAMED && rename(name->path, name->from) != 0 &&
               errno != ENOENT) {
        give_up("rename back", name->path);
    }
    if (name->kept != 0 && link(kept, name->path) != 0 && errno != EEXIST) {
        give_up("bring back", name->path);
    }
    printf("%s: its %s is gone\n", name->path,
           name->kind == UNDO_CREATED   ? "creation"
           : name->kind == UNDO_RENAMED ? "renaming"
                                        : "removal");
}

static void cut_names(const char *journals)
{
    char path[UNDO_PATH_BYTES + 32];
    struct undo_name name;
    struct stat status = {0};
    uint64_t pending = 0;
    (void)snprintf(path, sizeof path, "%s/names.undo", journals);
    int file = open(path, O_RDWR);
    if (file < 0 || fstat(file, &status) != 0) {
        return; /* none were noted */
    }
    uint64_t count = (uint64_t)status.st_size / sizeof name;
    for (uint64_t i = 0; i < count; i++) {
        pending += pread(file, &name, sizeof name, (off_t)(i * sizeof name)) == sizeof name &&
                   name.durable == 0;
    }
    uint64_t lost = random_below(pending + 1);
    for (uint64_t i = count; i-- > 0 && lost > 0;) {
        if (pread(file, &name, sizeof name, (off_t)(i * sizeof name)) == sizeof name &&
            name.durable == 0) {
            take_back(journals, &name);
            lost -= 1;
        }
    }
    (void)close(file);
    (void)unlink(path);
}

static void cut_files(const char *data, const char *journals)
{
    DIR *folder = opendir(journals);
    if (folder == NULL) {
        give_up("open", journals);
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char *end = NULL;
        char path[UNDO_PATH_BYTES + 300];
        ino_t inode = (ino_t)strtoull(entry->d_name, &end, 10);
        (void)snprintf(path, sizeof path, "%s/%s", journals, entry->d_name);
        if (end != entry->d_name && strcmp(end, ".undo") == 0) {
            cut_file(data, path, inode);
        }
    }
    (void)closedir(folder);
}

int main(int argument_count, char **arguments)
{
    char journals[UNDO_PATH_BYTES];
    if (argument_count != 4) {
        fprintf(stderr, "usage: power_cut DATA FOLDER SEED\n");
        return 2;
    }
    random_state = strtoull(arguments[3], NULL, 10) * 2 + 1;
    for (int i = 0; i < 8; i++) {
        (void)random_below(2);
    }
    (void)snprintf(journals, sizeof journals, "%s/undo", arguments[2]);
    cut_files(arguments[1], journals);
    cut_names(journals);
    /* What was kept for a removal that has stayed. */
    (void)nftw(journals, remove_one, 32, FTW_DEPTH | FTW_PHYS);
    if (mkdir(journals, 0700) != 0) {
        give_up("make", journals);
    }
    return 0;
}
