#include "common/io/unreadable.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define LINE_BYTES_MAX  4608 /* of /proc/self/maps: some numbers, and a path */
#define PIECE_BYTES     4096
#define DIGIT_BITS      4
#define DIGIT_OF_LETTER 10

static const char TEXT[] =
    " cannot be read where it is needed: its disk does not read it, or it is damaged; "
    "the process ends\n";

/* What the handler needs: it may allocate nothing, and runs once. */
static atomic_flag is_told = ATOMIC_FLAG_INIT;
static struct sigaction before;
static char line[LINE_BYTES_MAX];
static char piece[PIECE_BYTES];

static const char *take_address(const char *at, uintptr_t *ret_address)
{
    uintptr_t address = 0;
    for (;; at++) {
        if (*at >= '0' && *at <= '9') {
            address = address << DIGIT_BITS | (uintptr_t)(*at - '0');
        } else if (*at >= 'a' && *at <= 'f') {
            address = address << DIGIT_BITS | (uintptr_t)(*at - 'a' + DIGIT_OF_LETTER);
        } else {
            *ret_address = address;
            return at;
        }
    }
}

/* Of "START-END rights offset device inode PATH": the path, where the address is between the two; else NULL. */
static const char *path_at(uintptr_t address)
{
    uintptr_t start = 0;
    uintptr_t end = 0;
    const char *at = take_address(line, &start);
    if (*at == '-') {
        (void)take_address(at + 1, &end);
    }
    return address >= start && address < end ? strchr(line, '/') : NULL;
}

static const char *find_path(uintptr_t address)
{
    const char *path = NULL;
    size_t used = 0;
    ssize_t size = 0;
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

    while (path == NULL && (size = read(maps, piece, sizeof piece)) > 0) {
        for (ssize_t i = 0; i < size && path == NULL; i++) {
            if (piece[i] == '\n') {
                line[used] = '\0';
                path = path_at(address);
                used = 0;
            } else if (used < sizeof line - 1) {
                line[used++] = piece[i];
            }
        }
    }
    (void)close(maps);
    return path;
}

static void on_sigbus(int signal, siginfo_t *information, void *context)
{
    (void)context;
    if (atomic_flag_test_and_set(&is_told)) {
        for (;;) { /* another thread says it, and ends the process */
            (void)pause();
        }
    }
    const char *path = find_path((uintptr_t)information->si_addr);
    if (information->si_code > 0 && path != NULL) {
        struct iovec parts[] = {{(char *)(uintptr_t)path, strlen(path)},
                                {(char *)(uintptr_t)TEXT, sizeof TEXT - 1}};
        ssize_t written = writev(STDERR_FILENO, parts, sizeof parts / sizeof *parts);
        (void)written;
    }
    (void)sigaction(signal, &before,
                    NULL);           /* what could not be read is read again, and that ends it */
    if (information->si_code <= 0) { /* but where somebody has sent the signal */
        (void)raise(signal);
    }
}

void unreadable_tell(void)
{
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, &before);
}
