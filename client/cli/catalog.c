/* What is done with a catalog as a whole, by a program that stands beside the masters. */
#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/command.h"

#define IMPORTER        "edubba-import-catalog"
#define PATH_SIZE_MAX   4096
#define MORE_THAN_WORDS 2 /* the program's name and the NULL at the end */

/* The one that was installed with this ebt; if it is not there, the PATH's. */
static void become(char **words)
{
    char path[PATH_SIZE_MAX];
    char beside[PATH_SIZE_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);

    (void)signal(SIGPIPE, SIG_DFL);
    if (size > 0) {
        path[size] = '\0';
        int length = snprintf(beside, sizeof beside, "%s/" IMPORTER, dirname(path));
        if (length > 0 && (size_t)length < sizeof beside) {
            (void)execv(beside, words);
        }
    }
    (void)execvp(IMPORTER, words);
}

int run_catalog(struct session *session)
{
    if (strcmp(session->arguments[0], "import") != 0) {
        return session_misuse(session, "'%s' is not import", session->arguments[0]);
    }
    if (session->masters != NULL || session->timeout_given || session->json ||
        session->out != stdout) {
        return session_misuse(session, "catalog import is done on this machine, by " IMPORTER
                                       ": --masters, --timeout, --json and -o are not for it");
    }
    char **words = calloc((size_t)session->argument_count + MORE_THAN_WORDS, sizeof *words);
    if (words != NULL) {
        static char name[] = IMPORTER;
        words[0] = name;
        memcpy(words + 1, session->arguments + 1,
               (size_t)(session->argument_count - 1) * sizeof *words);
        become(words);
    }
    int trouble = errno;
    free(words);
    return session_file_failed(session,
                               "cannot run " IMPORTER ": %s; it is installed with the "
                               "master",
                               strerror(trouble));
}
