#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/file.h"
#include "tabletserver/storage/copies/store_relearn.h"
#include "tabletserver/storage/log/log_repair.h"
#include "tabletserver/storage/store/store_identity.h"

static void print_result(const struct log_repair *repair)
{
    if (!repair->cut && repair->lost_segments == 0) {
        (void)printf("Nothing is wrong: %llu records, up to position %llu.\n",
                     (unsigned long long)repair->records, (unsigned long long)repair->position);
        return;
    }
    (void)printf("It was: %s\n", repair->reason);
    (void)printf("The log now ends at position %llu, after %llu records.\n",
                 (unsigned long long)repair->position, (unsigned long long)repair->records);
    if (repair->cut) {
        (void)printf("It had been synced at least up to position %llu: what was acknowledged "
                     "between and not yet flushed is lost.\n",
                     (unsigned long long)repair->proven_position);
    }
    if (repair->lost_segments > 0) {
        (void)printf("%llu segments were put aside as lost-*.log.\n",
                     (unsigned long long)repair->lost_segments);
    }
}

static int usage(void)
{
    (void)fprintf(
        stderr, "usage: edubba-repair-log [--synced POSITION] <folder of the log>\n"
                "Cuts a damaged log where the damage begins.  Copy it first.\n"
                "  --synced POSITION   as the server has said that it was synced: a log that ends\n"
                "                      before that has lost its end\n");
    return 2;
}

/* Without what says nothing: "log/", "log/./". */
static size_t length_of(const char *folder)
{
    size_t size = strlen(folder);
    while (size > 1 && (folder[size - 1] == '/' ||
                        (size > 2 && folder[size - 1] == '.' && folder[size - 2] == '/'))) {
        size--;
    }
    return size;
}

/* Where the log's folder lies, by its name: it may be a link to another disk. */
static void parent_of(const char *log_folder, char ret_folder[FILE_PATH_SIZE_MAX])
{
    size_t size = length_of(log_folder);
    size_t name = size;
    while (name > 0 && log_folder[name - 1] != '/') {
        name--;
    }
    const char *last = log_folder + name;
    bool is_dots = last[0] == '.' && (size - name == 1 || (size - name == 2 && last[1] == '.'));
    if (is_dots) {
        (void)snprintf(ret_folder, FILE_PATH_SIZE_MAX, "%.*s/..", (int)size, log_folder);
    } else if (name == 0) {
        (void)snprintf(ret_folder, FILE_PATH_SIZE_MAX, ".");
    } else {
        (void)snprintf(ret_folder, FILE_PATH_SIZE_MAX, "%.*s", (int)name, log_folder);
    }
}

/* The store that the log is of. */
struct store_around {
    char folder[FILE_PATH_SIZE_MAX];
    struct store_identity identity;
    struct store_lock lock; /* a log without anchor has nothing to be locked by */
    bool is_there;
};

/* What is made here is the server's to read: root becomes the user whose store it is. */
static enum status become_owner(const char *store_folder, struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    struct stat owned;
    enum status status = file_path_join(path, store_folder, "STORE", ret_error);
    if (status != STATUS_OK || geteuid() != 0 || stat(path, &owned) != 0 || owned.st_uid == 0) {
        return status;
    }
    if (setgroups(0, NULL) != 0 || setgid(owned.st_gid) != 0 || setuid(owned.st_uid) != 0) {
        return error_set(ret_error, STATUS_PERMISSION_DENIED, "cannot act as the owner of %s: %s",
                         path, strerror(errno));
    }
    return STATUS_OK;
}

/* A copy beside it, or a name that was typed wrongly: the store is not to hear that its log was cut. */
static enum status check_is_its_log(const char *log_folder,
                                    const char *store_folder,
                                    struct error *ret_error)
{
    char path[FILE_PATH_SIZE_MAX];
    struct stat given;
    struct stat own;
    enum status status = file_path_join(path, store_folder, "log", ret_error);
    if (status != STATUS_OK || stat(log_folder, &given) != 0) {
        return status; /* the repair says that it is not there */
    }
    bool is_own = stat(path, &own) == 0 && own.st_dev == given.st_dev && own.st_ino == given.st_ino;
    return is_own ? STATUS_OK
                  : error_set(ret_error, STATUS_FAILED_PRECONDITION,
                              "%s is not the log of the store beside it: that is %s", log_folder,
                              path);
}

static enum status look_around(const char *log_folder,
                               struct store_around *ret_store,
                               struct error *ret_error)
{
    bool created = false;
    *ret_store = (struct store_around){.lock.file = FILE_CLOSED};
    parent_of(log_folder, ret_store->folder);
    enum status status = store_identity_open(ret_store->folder, 0, &ret_store->identity, &created,
                                             ret_error);
    if (status == STATUS_NOT_FOUND) {
        error_clear(ret_error);
        return STATUS_OK;
    }
    ret_store->is_there = status == STATUS_OK;
    if (status == STATUS_OK) {
        status = check_is_its_log(log_folder, ret_store->folder, ret_error);
    }
    if (status == STATUS_OK) {
        status = become_owner(ret_store->folder, ret_error);
    }
    return status == STATUS_OK ? store_lock_take(ret_store->folder, &ret_store->lock, ret_error)
                               : status;
}

/* Copies of tablets that have others are not whole any more, and have to know: nothing is cut unless they are told. */
static enum status leave_note(void *context, struct error *ret_error)
{
    const struct store_around *store = context;
    if (!store->is_there) {
        return error_set(
            ret_error, STATUS_FAILED_PRECONDITION,
            "it is damaged, but %s is no store, which would have to know that its log was "
            "cut: repair it where it lies, as STORE/log",
            store->folder);
    }
    return store_relearn_note(store->folder, ret_error);
}

static enum status repair_log(const char *folder,
                              uint64_t synced_position,
                              struct log_repair *ret_repair,
                              struct error *ret_error)
{
    struct store_around store;
    enum status status = look_around(folder, &store, ret_error);
    const struct log_repair_judge judge = {.context = &store, .decide = leave_note};
    const struct log_repair_options options = {
        .folder = folder,
        .store_number = store.identity.store_number,
        .synced_position_hint = synced_position,
        .begins_anew = true,
        .judge = &judge,
    };
    status = status == STATUS_OK ? log_repair(&options, ret_repair, ret_error) : status;
    store_lock_release(&store.lock);
    return status;
}

static bool parse_position(const char *word, uint64_t *ret_position)
{
    char *end = NULL;
    errno = 0;
    *ret_position = strtoull(word, &end, 10);
    return errno == 0 && word[0] >= '0' && word[0] <= '9' && *end == '\0';
}

int main(int argument_count, char **arguments)
{
    struct log_repair repair;
    struct error error = {.status = STATUS_OK};
    uint64_t synced_position = 0;
    bool has_synced = argument_count == 4 && strcmp(arguments[1], "--synced") == 0;
    if ((argument_count != 2 && !has_synced) || arguments[argument_count - 1][0] == '-' ||
        (has_synced && !parse_position(arguments[2], &synced_position))) {
        return usage();
    }
    if (repair_log(arguments[argument_count - 1], synced_position, &repair, &error) != STATUS_OK) {
        (void)fprintf(stderr, "edubba-repair-log: %s\n", error.text);
        return 1;
    }
    print_result(&repair);
    return 0;
}
