#include "undo_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim_calls.h"

#define FILES_MAX   512
#define NAMES_MAX   4096
#define PIECE_BYTES 65536

struct undo_file {
    pthread_mutex_t lock;
    ino_t inode;
    int content; /* to read from: writers may not */
    int journal;
    uint64_t begin;
    uint64_t end;
    uint64_t last;  /* where the record noted last begins */
    uint64_t epoch; /* times that the journal was emptied */
};

static struct {
    pthread_mutex_t lock;
    char data[UNDO_PATH_BYTES]; /* empty: nothing is noted */
    char journals[UNDO_PATH_BYTES];
    struct undo_file files[FILES_MAX];
    size_t file_count;
    int names;
    uint64_t name_count;
    uint64_t kept_last;
} undo = {.lock = PTHREAD_MUTEX_INITIALIZER, .names = -1};

_Noreturn static void give_up(const char *what)
{
    fprintf(stderr, "undo journal: cannot %s: %s\n", what, strerror(errno));
    abort();
}

static void put(int descriptor, const void *data, size_t size, uint64_t offset)
{
    if (real_calls()->pwrite(descriptor, data, size, (off_t)offset) != (ssize_t)size) {
        give_up("write a journal");
    }
}

static void get(int descriptor, void *ret_data, size_t size, uint64_t offset)
{
    if (pread(descriptor, ret_data, size, (off_t)offset) != (ssize_t)size) {
        give_up("read");
    }
}

static void join(char ret_path[UNDO_PATH_BYTES], const char *folder, const char *name)
{
    if (snprintf(ret_path, UNDO_PATH_BYTES, "%s/%s", folder, name) >= UNDO_PATH_BYTES) {
        errno = ENAMETOOLONG;
        give_up("use a path");
    }
}

static bool is_below_data(const char *path)
{
    size_t length = strlen(undo.data);
    return length > 0 && strncmp(path, undo.data, length) == 0 &&
           (path[length] == '/' || path[length] == '\0');
}

/* A name in it, that is: the folder itself is another's business. */
static bool is_name_below_data(const char *path)
{
    return is_below_data(path) && path[strlen(undo.data)] == '/';
}

/* Of an open file or folder; false: it has none. */
static bool path_of(int descriptor, char ret_path[UNDO_PATH_BYTES])
{
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, ret_path, UNDO_PATH_BYTES - 1);
    if (length <= 0) {
        return false;
    }
    ret_path[length] = '\0';
    return ret_path[0] == '/';
}

static int open_journal(const char *name, uint64_t *ret_size)
{
    char path[UNDO_PATH_BYTES];
    struct stat status;
    join(path, undo.journals, name);
    int descriptor = real_calls()->open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0 || fstat(descriptor, &status) != 0) {
        give_up("open a journal");
    }
    *ret_size = (uint64_t)status.st_size;
    return descriptor;
}

/* --- files -------------------------------------------------------------------------------------- */

static void begin_file(struct undo_file *file, int descriptor, ino_t inode)
{
    char name[64];
    char link[64];
    uint64_t size = 0;
    struct undo_header header = {UNDO_MAGIC, sizeof header, 0};
    (void)snprintf(name, sizeof name, "%llu.undo", (unsigned long long)inode);
    int journal = open_journal(name, &size);
    if (size < sizeof header) {
        put(journal, &header, sizeof header, 0);
        size = sizeof header;
    }
    get(journal, &header, sizeof header, 0);
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    int content = real_calls()->open(link, O_RDONLY | O_CLOEXEC);
    if (content < 0) {
        give_up("open a file again");
    }
    *file = (struct undo_file){.lock = PTHREAD_MUTEX_INITIALIZER,
                               .inode = inode,
                               .content = content,
                               .journal = journal,
                               .begin = header.begin < size ? header.begin : size,
                               .end = size,
                               .last = size};
}

struct undo_file *undo_file_take(int descriptor)
{
    struct stat status;
    char path[UNDO_PATH_BYTES];
    struct undo_file *file = NULL;
    if (undo.data[0] == '\0' || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        return NULL;
    }
    pthread_mutex_lock(&undo.lock);
    for (size_t i = 0; i < undo.file_count && file == NULL; i++) {
        file = undo.files[i].inode == status.st_ino ? &undo.files[i] : NULL;
    }
    if (file == NULL && path_of(descriptor, path) && is_below_data(path)) {
        if (undo.file_count == FILES_MAX) {
            errno = ENFILE;
            give_up("follow more files");
        }
        file = &undo.files[undo.file_count++];
        begin_file(file, descriptor, status.st_ino);
    }
    pthread_mutex_unlock(&undo.lock);
    if (file != NULL) {
        pthread_mutex_lock(&file->lock);
    }
    return file;
}

void undo_file_release(struct undo_file *file)
{
    if (file != NULL) {
        pthread_mutex_unlock(&file->lock);
    }
}

void undo_note_change(struct undo_file *file, int descriptor, off_t offset, uint64_t size_bytes)
{
    struct stat status;
    if (file == NULL) {
        return;
    }
    if (fstat(descriptor, &status) != 0) {
        give_up("look at a file");
    }
    uint64_t size = (uint64_t)status.st_size;
    uint64_t from = (uint64_t)offset;
    uint64_t left = size > from ? size - from : 0;
    struct undo_change change = {from, size_bytes > 0 ? size_bytes : left, 0, size};
    change.old_bytes = left < change.size_bytes ? left : change.size_bytes;
    uint8_t *record = malloc(sizeof change + change.old_bytes);
    if (record == NULL) {
        give_up("find memory");
    }
    memcpy(record, &change, sizeof change);
    get(file->content, record + sizeof change, change.old_bytes, from);
    put(file->journal, record, sizeof change + change.old_bytes, file->end);
    free(record);
    file->last = file->end;
    file->end += sizeof change + change.old_bytes;
}

static void cut_journal(struct undo_file *file, uint64_t end)
{
    if (real_calls()->ftruncate(file->journal, (off_t)end) != 0) {
        give_up("cut a journal");
    }
    file->end = end;
    file->last = end;
}

void undo_forget_last(struct undo_file *file, int descriptor)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0) {
        give_up("look at a file");
    }
    struct undo_header header = {UNDO_MAGIC, file->begin, (uint64_t)status.st_size};
    put(file->journal, &header, sizeof header, 0);
    cut_journal(file, file->last);
}

struct undo_mark undo_sync_begin(int descriptor)
{
    struct undo_file *file = undo_file_take(descriptor);
    struct undo_mark mark = {0};
    if (file != NULL) {
        mark = (struct undo_mark){file->end, file->epoch};
        undo_file_release(file);
    }
    return mark;
}

void undo_sync_end(int descriptor, struct undo_mark mark)
{
    struct undo_file *file = undo_file_take(descriptor);
    if (file == NULL) {
        return;
    }
    struct undo_header header = {UNDO_MAGIC, sizeof header, 0};
    if (file->epoch == mark.epoch && file->end == mark.end) {
        cut_journal(file, sizeof header);
        put(file->journal, &header, sizeof header, 0);
        file->begin = sizeof header;
        file->epoch += 1;
    } else if (file->epoch == mark.epoch && mark.end > file->begin) {
        header.begin = mark.end;
        put(file->journal, &header, sizeof header, 0);
        file->begin = mark.end;
    }
    undo_file_release(file);
}

/* The file of this inode is gone for good; the number will be another's. */
static void forget_inode(ino_t inode)
{
    char name[64];
    char path[UNDO_PATH_BYTES];
    for (size_t i = 0; i < undo.file_count; i++) {
        if (undo.files[i].inode == inode) {
            (void)close(undo.files[i].journal);
            (void)close(undo.files[i].content);
            undo.files[i].inode = 0;
            undo.files[i].journal = -1;
        }
    }
    (void)snprintf(name, sizeof name, "%llu.undo", (unsigned long long)inode);
    join(path, undo.journals, name);
    (void)real_calls()->unlink(path);
}

/* --- names -------------------------------------------------------------------------------------- */

static void kept_path(char ret_path[UNDO_PATH_BYTES], uint64_t number)
{
    char name[64];
    (void)snprintf(name, sizeof name, "kept-%llu", (unsigned long long)number);
    join(ret_path, undo.journals, name);
}

/* The number of a link to it; 0: there is nothing, or a folder. */
static uint64_t keep(const char *path)
{
    char kept[UNDO_PATH_BYTES];
    struct stat status;
    if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode)) {
        return 0;
    }
    kept_path(kept, undo.kept_last + 1);
    (void)real_calls()->unlink(kept);
    if (link(path, kept) != 0) {
        give_up("keep a file that is removed");
    }
    return ++undo.kept_last;
}

static void note_name(struct undo_name name)
{
    if (undo.name_count == NAMES_MAX) {
        errno = ENFILE;
        give_up("note more names");
    }
    put(undo.names, &name, sizeof name, undo.name_count * sizeof name);
    undo.name_count += 1;
}

static void absolute(char ret_path[UNDO_PATH_BYTES], const char *path)
{
    char folder[UNDO_PATH_BYTES];
    if (path[0] == '/') {
        (void)snprintf(ret_path, UNDO_PATH_BYTES, "%s", path);
    } else if (getcwd(folder, sizeof folder) != NULL) {
        join(ret_path, folder, path);
    } else {
        give_up("find the working folder");
    }
}

void undo_note_rename(const char *from, const char *to)
{
    struct undo_name name = {.kind = UNDO_RENAMED};
    absolute(name.path, to);
    absolute(name.from, from);
    if (is_name_below_data(name.path)) {
        pthread_mutex_lock(&undo.lock);
        name.kept = keep(name.path);
        note_name(name);
        pthread_mutex_unlock(&undo.lock);
    }
}

void undo_note_unlink(const char *path)
{
    struct undo_name name = {.kind = UNDO_REMOVED};
    absolute(name.path, path);
    if (is_name_below_data(name.path)) {
        pthread_mutex_lock(&undo.lock);
        name.kept = keep(name.path);
        if (name.kept != 0) {
            note_name(name);
        }
        pthread_mutex_unlock(&undo.lock);
    }
}

void undo_note_created(const char *path)
{
    struct undo_name name = {.kind = UNDO_CREATED};
    absolute(name.path, path);
    if (is_name_below_data(name.path)) {
        pthread_mutex_lock(&undo.lock);
        note_name(name);
        pthread_mutex_unlock(&undo.lock);
    }
}

static bool is_in_folder(const char *path, const char *folder)
{
    const char *slash = strrchr(path, '/');
    size_t length = strlen(folder);
    return slash != NULL && (size_t)(slash - path) == length && strncmp(path, folder, length) == 0;
}

static void drop_kept(uint64_t number)
{
    char path[UNDO_PATH_BYTES];
    struct stat status;
    kept_path(path, number);
    if (lstat(path, &status) == 0) {
        (void)real_calls()->unlink(path);
        if (status.st_nlink == 1) {
            forget_inode(status.st_ino);
        }
    }
}

void undo_folder_synced(int descriptor)
{
    char folder[UNDO_PATH_BYTES];
    struct undo_name name;
    uint64_t pending = 0;
    if (!path_of(descriptor, folder) || !is_below_data(folder)) {
        return;
    }
    pthread_mutex_lock(&undo.lock);
    for (uint64_t i = 0; i < undo.name_count; i++) {
        get(undo.names, &name, sizeof name, i * sizeof name);
        if (name.durable == 0 && is_in_folder(name.path, folder)) {
            name.durable = 1;
            put(undo.names, &name, sizeof name, i * sizeof name);
            if (name.kept != 0) {
                drop_kept(name.kept);
            }
        }
        pending += name.durable == 0;
    }
    if (pending == 0) {
        if (real_calls()->ftruncate(undo.names, 0) != 0) {
            give_up("cut a journal");
        }
        undo.name_count = 0;
    }
    pthread_mutex_unlock(&undo.lock);
}

void undo_journal_open(const char *data, const char *journals)
{
    uint64_t size = 0;
    struct undo_name name;
    (void)snprintf(undo.journals, sizeof undo.journals, "%s", journals);
    undo.names = open_journal("names.undo", &size);
    undo.name_count = size / sizeof name;
    for (uint64_t i = 0; i < undo.name_count; i++) {
        get(undo.names, &name, sizeof name, i * sizeof name);
        undo.kept_last = name.kept > undo.kept_last ? name.kept : undo.kept_last;
    }
    (void)snprintf(undo.data, sizeof undo.data, "%s", data);
}
