/*
 * A page of a mapped file that cannot be read: the file is named, and the process ends as without that.  The file is cut
 * after it was mapped, which is what a page that its disk does not read looks like to the process.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/io/file.h"
#include "common/io/unreadable.h"
#include "tests/support/test_folder.h"

#define PAGE_BYTES 4096
#define TEXT_BYTES 65536 /* the address sanitizer has more to say */

static char folder[FILE_PATH_SIZE_MAX];
static char path[FILE_PATH_SIZE_MAX];
static char text[TEXT_BYTES];

static void begin(void)
{
    test_folder_make(folder, sizeof folder, "unreadable");
    cr_assert_eq(file_path_join(path, folder, "data.mdb", NULL), STATUS_OK);
}

static void finish(void)
{
    (void)unlink(path);
    cr_assert_eq(rmdir(folder), 0);
}

TestSuite(unreadable, .init = begin, .fini = finish);

static void read_behind_the_end(void)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd == -1 || ftruncate(fd, (off_t)2 * PAGE_BYTES) != 0) {
        _exit(1);
    }
    const volatile char *map = mmap(NULL, (size_t)2 * PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED || ftruncate(fd, PAGE_BYTES) != 0 || map[0] != '\0') {
        _exit(1);
    }
    _exit(map[PAGE_BYTES]);
}

static void send_the_signal(void)
{
    (void)kill(getpid(), SIGBUS);
    _exit(0);
}

/* What a child says that does it; its status as of waitpid(). */
static int run(void (*does)(void))
{
    int ends[2];
    int status = 0;
    size_t used = 0;
    ssize_t size;

    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    cr_assert_neq(child, -1);
    if (child == 0) {
        const struct rlimit none = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)dup2(ends[1], STDERR_FILENO);
        unreadable_tell();
        does();
    }
    close(ends[1]);
    while ((size = read(ends[0], text + used, sizeof text - 1 - used)) > 0) {
        used += (size_t)size;
    }
    close(ends[0]);
    text[used] = '\0';
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

/* Under the address sanitizer it says more, and ends the process in its own way. */
static bool died(int status)
{
    return WIFSIGNALED(status) || WEXITSTATUS(status) > 1;
}

Test(unreadable, the_file_is_named_and_the_process_ends)
{
    int status = run(read_behind_the_end);
    cr_assert(died(status), "status %#x", (unsigned)status);
    cr_assert_not_null(strstr(text, path), "%s", text);
    cr_assert_not_null(strstr(text, "data.mdb cannot be read"), "%s", text);
}

Test(unreadable, of_a_signal_that_somebody_has_sent_nothing_is_told)
{
    int status = run(send_the_signal);
    cr_assert(died(status), "status %#x", (unsigned)status);
    cr_assert_null(strstr(text, "cannot be read"), "%s", text);
}
