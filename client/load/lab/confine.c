#include "client/load/lab/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES     1024
#define TEXT_BYTES     64
#define FILES_MAX      4096
#define REMOVE_TRIES   100
#define REMOVE_WAIT_NS 20000000

/* --- files ------------------------------------------------------------------------------------ */

static bool write_text(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    size_t size = strlen(text);
    bool good = file != -1 && write(file, text, size) == (ssize_t)size;
    int cause = errno;
    if (file != -1) {
        (void)close(file);
    }
    errno = cause;
    return good;
}

static bool write_in(const char *folder, const char *name, const char *text)
{
    char path[LAB_GROUP_BYTES + TEXT_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return write_text(path, text);
}

/* Is the word one of those that commas, or blanks, set apart? */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length) {
        bool begins = at == list || strchr(", \n", at[-1]) != NULL;
        bool ends = strchr(", \n", at[length]) != NULL; /* or the text's end */
        if (begins && ends) {
            return true;
        }
    }
    return false;
}

/* --- where control groups are ----------------------------------------------------------------- */

/* The folder where the hierarchy with the CPU controller is mounted. */
static bool find_hierarchy(int version, char *ret_mount, size_t size)
{
    char line[LINE_BYTES];
    bool found = false;
    FILE *file = fopen("/proc/self/mounts", "re");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        char folder[LAB_GROUP_BYTES];
        char type[TEXT_BYTES];
        char options[LINE_BYTES / 2];
        char path[LAB_GROUP_BYTES + TEXT_BYTES];
        char controllers[LINE_BYTES] = "";
        if (sscanf(line, "%*s %255s %63s %511s", folder, type, options) != 3 ||
            strcmp(type, version == 1 ? "cgroup" : "cgroup2") != 0 ||
            (version == 1 && !has_word(options, "cpu"))) {
            continue;
        }
        if (version == 2) {
            (void)snprintf(path, sizeof path, "%s/cgroup.controllers", folder);
            FILE *list = fopen(path, "re");
            found = list != NULL && fgets(controllers, sizeof controllers, list) != NULL &&
                    has_word(controllers, "cpu");
            if (list != NULL) {
                (void)fclose(list);
            }
        } else {
            found = true;
        }
        if (found) {
            (void)snprintf(ret_mount, size, "%s", folder);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

/* Where in the hierarchy the process is: "/" or "/a/b". */
static void find_home(int version, pid_t pid, char *ret_path, size_t size)
{
    char name[TEXT_BYTES];
    char line[LINE_BYTES];
    (void)snprintf(ret_path, size, "/");
    (void)snprintf(name, sizeof name, "/proc/%d/cgroup", (int)pid);
    FILE *file = fopen(name, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *controllers = strchr(line, ':');
        char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (path == NULL) {
            continue;
        }
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        bool is_it = version == 1 ? has_word(controllers + 1, "cpu") : controllers[1] == '\0';
        if (is_it) {
            (void)snprintf(ret_path, size, "%s", path);
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static void name_group(struct lab_confine *confine, const char *mount, size_t index, pid_t pid)
{
    struct lab_group *group = &confine->groups[index];
    char path[LAB_GROUP_BYTES / 2];
    struct stat status;
    find_home(confine->version, pid, path, sizeof path);
    group->pid = pid;
    (void)snprintf(group->folder, sizeof group->folder, "%s/edubba-lab-%d-%zu", mount,
                   (int)getpid(), index);
    (void)snprintf(group->home, sizeof group->home, "%s%s/cgroup.procs", mount,
                   strcmp(path, "/") == 0 ? "" : path);
    if (stat(group->home, &status) != 0) { /* what we see of the hierarchy has another root */
        (void)snprintf(group->home, sizeof group->home, "%s/cgroup.procs", mount);
    }
}

/* --- the guardian: nothing but system calls from here on -------------------------------------- */

/* Write each line of `from` to `home`, a line at a time: that moves the process. */
static void move_all(const char *from, const char *home)
{
    char text[LINE_BYTES];
    int file = open(from, O_RDONLY | O_CLOEXEC);
    ssize_t size = file != -1 ? read(file, text, sizeof text - 1) : 0;
    if (file != -1) {
        (void)close(file);
    }
    text[size > 0 ? size : 0] = '\0';
    for (char *at = text; *at != '\0';) {
        char *end = strchr(at, '\n');
        if (end == NULL) {
            break;
        }
        *end = '\0';
        (void)write_text(home, at);
        at = end + 1;
    }
}

static void undo(struct lab_group *group)
{
    char procs[LAB_GROUP_BYTES + TEXT_BYTES];
    size_t length = strlen(group->folder);
    memcpy(procs, group->folder, length);
    memcpy(procs + length, "/cgroup.procs", sizeof "/cgroup.procs");
    for (int i = 0; i < REMOVE_TRIES; i++) {
        move_all(procs, group->home);
        if (rmdir(group->folder) == 0 || errno == ENOENT) {
            return;
        }
        (void)nanosleep(&(struct timespec){0, REMOVE_WAIT_NS}, NULL);
    }
}

static void be_guardian(struct lab_confine *confine, int pipe)
{
    char byte = 0;
    (void)setsid();
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    /* Not the load's connections, nor the pipe of whoever reads its report. */
    for (int file = 0; file < FILES_MAX; file++) {
        if (file != pipe) {
            (void)close(file);
        }
    }
    while (read(pipe, &byte, 1) == -1 && errno == EINTR) {
    }
    for (size_t i = 0; i < confine->count; i++) {
        undo(&confine->groups[i]);
    }
    _exit(0);
}

/* The guardian undoes what is changed, if this process dies: so it is started before anything is. */
static bool start_guardian(struct lab_confine *confine)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return false;
    }
    (void)fcntl(ends[1], F_SETFD,
                FD_CLOEXEC); /* or the guardian would wait for another program, too */
    pid_t pid = fork();
    if (pid == 0) {
        be_guardian(confine, ends[0]);
    }
    (void)close(ends[0]);
    if (pid == -1) {
        (void)close(ends[1]);
        return false;
    }
    confine->guardian = pid;
    confine->pipe = ends[1];
    return true;
}

/* --- confining -------------------------------------------------------------------------------- */

static bool set_share(const struct lab_confine *confine, const char *folder, double share)
{
    double period_us = LAB_PERIOD_US;
    if (period_us * share < LAB_QUOTA_US_LEAST) {
        period_us = LAB_QUOTA_US_LEAST / share;
    }
    char quota[TEXT_BYTES];
    char period[TEXT_BYTES];
    char both[TEXT_BYTES * 2];
    (void)snprintf(quota, sizeof quota, "%.0f", period_us * share);
    (void)snprintf(period, sizeof period, "%.0f", period_us);
    (void)snprintf(both, sizeof both, "%s %s", quota, period);
    return confine->version == 2 ? write_in(folder, "cpu.max", both)
                                 : write_in(folder, "cpu.cfs_period_us", period) &&
                                       write_in(folder, "cpu.cfs_quota_us", quota);
}

static bool confine_one(const struct lab_confine *confine,
                        const struct lab_group *group,
                        double share)
{
    char pid[TEXT_BYTES];
    (void)snprintf(pid, sizeof pid, "%d", (int)group->pid);
    return mkdir(group->folder, 0755) == 0 && set_share(confine, group->folder, share) &&
           write_in(group->folder, "cgroup.procs", pid);
}

bool lab_confine_begin(struct lab_confine *confine,
                       const pid_t *pids,
                       size_t count,
                       double share,
                       char *ret_said,
                       size_t said_size)
{
    char mount[LAB_GROUP_BYTES / 4];
    *confine = (struct lab_confine){.version = 1};
    if (count == 0) {
        (void)snprintf(ret_said, said_size,
                       "not confined: no tablet server was found on this machine (--server-pids "
                       "names them)");
        return false;
    }
    if (!find_hierarchy(1, mount, sizeof mount)) {
        confine->version = 2;
        if (!find_hierarchy(2, mount, sizeof mount)) {
            (void)snprintf(ret_said, said_size,
                           "not confined: no control group of this machine has CPU time");
            return false;
        }
        (void)write_in(mount, "cgroup.subtree_control", "+cpu"); /* seen by what cpu.max says */
    }
    for (size_t i = 0; i < count && i < LAB_CONFINED_MAX; i++) {
        name_group(confine, mount, i, pids[i]);
        confine->count++;
    }
    bool good = start_guardian(confine);
    for (size_t i = 0; good && i < confine->count; i++) {
        good = confine_one(confine, &confine->groups[i], share);
    }
    if (!good) {
        bool is_refused = errno == EACCES || errno == EPERM;
        (void)snprintf(ret_said, said_size, "not confined: %s: %s%s", mount, strerror(errno),
                       is_refused ? " (to make control groups it takes root)" : "");
        lab_confine_end(confine);
        return false;
    }
    (void)snprintf(ret_said, said_size, "%zu tablet servers had %g CPU each", confine->count,
                   share);
    return true;
}

void lab_confine_end(struct lab_confine *confine)
{
    if (confine->guardian == 0) {
        return;
    }
    (void)close(confine->pipe);
    while (waitpid(confine->guardian, NULL, 0) == -1 && errno == EINTR) {
    }
    confine->guardian = 0;
}
