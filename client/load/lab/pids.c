#include "client/load/lab/pids.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVER_COMMAND "edubba-tabletse" /* as the kernel cuts it */
#define LINE_BYTES     512
#define PATH_BYTES     320
#define LISTENING      0x0a /* a state in /proc/net/tcp */
#define HOST_BYTES     64

/* "tcp://127.0.0.1:7401" -> host and port. */
static bool split_address(const char *address, char host[HOST_BYTES], char port[8])
{
    const char *at = strstr(address, "://");
    const char *begin = at != NULL ? at + 3 : address;
    const char *colon = strrchr(begin, ':');
    if (colon == NULL || colon == begin || strlen(colon + 1) >= 8) {
        return false;
    }
    size_t size = (size_t)(colon - begin);
    if (begin[0] == '[' && size > 2 && begin[size - 1] == ']') {
        begin++;
        size -= 2;
    }
    if (size >= HOST_BYTES) {
        return false;
    }
    memcpy(host, begin, size);
    host[size] = '\0';
    (void)snprintf(port, 8, "%s", colon + 1);
    return true;
}

/* Only what is an address of this machine can be bound to. */
static bool is_ours(const char *host)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    bool can = false;
    if (getaddrinfo(host, "0", &hints, &found) != 0) {
        return false;
    }
    for (const struct addrinfo *at = found; at != NULL && !can; at = at->ai_next) {
        int file = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        can = file != -1 && bind(file, at->ai_addr, at->ai_addrlen) == 0;
        if (file != -1) {
            (void)close(file);
        }
    }
    freeaddrinfo(found);
    return can;
}

/* The inode of a socket that listens on the port; 0 = there is none in this table. */
static uint64_t listener_in(const char *path, unsigned port)
{
    char line[LINE_BYTES];
    uint64_t found = 0;
    FILE *file = fopen(path, "re");
    while (file != NULL && found == 0 && fgets(line, sizeof line, file) != NULL) {
        unsigned local_port = 0;
        unsigned state = 0;
        uint64_t inode = 0;
        if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*u %*u %" SCNu64,
                   &local_port, &state, &inode) == 3 &&
            local_port == port && state == LISTENING) {
            found = inode;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

static bool is_tablet_server(const char *pid)
{
    char path[PATH_BYTES];
    char command[LINE_BYTES] = "";
    (void)snprintf(path, sizeof path, "/proc/%s/comm", pid);
    FILE *file = fopen(path, "re");
    bool is_read = file != NULL && fgets(command, sizeof command, file) != NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    return is_read && strncmp(command, SERVER_COMMAND, strlen(SERVER_COMMAND)) == 0;
}

/* ret_hidden is set where it may not be looked at. */
static bool has_socket(const char *pid, uint64_t inode, bool *ret_hidden)
{
    char path[PATH_BYTES];
    char wanted[LINE_BYTES];
    bool found = false;
    (void)snprintf(path, sizeof path, "/proc/%s/fd", pid);
    (void)snprintf(wanted, sizeof wanted, "socket:[%" PRIu64 "]", inode);
    DIR *folder = opendir(path);
    *ret_hidden = *ret_hidden || (folder == NULL && errno == EACCES);
    const struct dirent *entry = NULL;
    while (folder != NULL && !found && (entry = readdir(folder)) != NULL) {
        char link[LINE_BYTES];
        (void)snprintf(path, sizeof path, "/proc/%s/fd/%.20s", pid, entry->d_name);
        ssize_t size = readlink(path, link, sizeof link - 1);
        link[size > 0 ? size : 0] = '\0';
        found = strcmp(link, wanted) == 0;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return found;
}

/* The tablet server that has this socket; 0 = none, or it may be one of those that may not be looked at. */
static pid_t owner_of(uint64_t inode, bool *ret_hidden)
{
    pid_t owner = 0;
    DIR *folder = opendir("/proc");
    const struct dirent *entry = NULL;
    while (folder != NULL && owner == 0 && (entry = readdir(folder)) != NULL) {
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid > 0 && is_tablet_server(entry->d_name) &&
            has_socket(entry->d_name, inode, ret_hidden)) {
            owner = (pid_t)pid;
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return owner;
}

size_t lab_pids_find(const struct lab_server *servers,
                     size_t server_count,
                     pid_t pids[LAB_SERVERS_MAX],
                     size_t *ret_hidden)
{
    size_t count = 0;
    *ret_hidden = 0;
    for (size_t i = 0; i < server_count && count < LAB_SERVERS_MAX; i++) {
        char host[HOST_BYTES];
        char port[8];
        if (!split_address(servers[i].address, host, port) || !is_ours(host)) {
            continue;
        }
        unsigned number = (unsigned)strtoul(port, NULL, 10);
        uint64_t inode = listener_in("/proc/net/tcp", number);
        inode = inode != 0 ? inode : listener_in("/proc/net/tcp6", number);
        bool hidden = false;
        pid_t pid = inode != 0 ? owner_of(inode, &hidden) : 0;
        if (pid != 0) {
            pids[count++] = pid;
        }
        *ret_hidden += pid == 0 && hidden;
    }
    return count;
}

bool lab_pids_parse(const char *text, pid_t pids[LAB_SERVERS_MAX], size_t *ret_count)
{
    size_t count = 0;
    for (const char *at = text; *at != '\0'; count++) {
        char *end = NULL;
        long pid = strtol(at, &end, 10);
        if (end == at || pid <= 1 || pid > INT32_MAX || count == LAB_SERVERS_MAX ||
            (*end != ',' && *end != '\0')) {
            return false;
        }
        pids[count] = (pid_t)pid;
        at = *end == ',' ? end + 1 : end;
    }
    *ret_count = count;
    return count > 0;
}
