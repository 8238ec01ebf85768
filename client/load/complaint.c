#include "client/load/complaint.h"

#include <stdio.h>
#include <string.h>

#include "client/load/core/excerpt.h"
#include "client/load/core/report.h"

#define MESSAGE_BYTES_MAX 1024
#define PATH_SHOWN_BYTES  800 /* leaves room for the cause */

/* All of the process: it has one stderr. */
static bool as_json;

void load_complaint_begin(int count, char *const *arguments)
{
    for (int i = 1; i < count; i++) {
        as_json = as_json || strcmp(arguments[i], "--format=json") == 0 ||
                  (strcmp(arguments[i], "--format") == 0 && i + 1 < count &&
                   strcmp(arguments[i + 1], "json") == 0);
    }
}

/* tells_code: to people too.  hint NULL = there is none. */
static void print(const char *code, bool tells_code, const char *message, const char *hint)
{
    if (!as_json) {
        fprintf(stderr, "edubba-load: %s%s%s\n", tells_code ? code : "", tells_code ? ": " : "",
                message);
        if (hint != NULL) {
            fprintf(stderr, "%s\n", hint);
        }
        return;
    }
    fprintf(stderr, "{\"code\":\"%s\",\"message\":", code);
    load_report_json_text(stderr, message);
    if (hint != NULL) {
        fputs(",\"hint\":", stderr);
        load_report_json_text(stderr, hint);
    }
    fputs("}\n", stderr);
}

int load_complain_with(const struct edubba_error *error, const char *hint)
{
    print(edubba_code_name(error->code), true, error->text, hint);
    return EXIT_CODE_FAILED;
}

int load_complain(const struct edubba_error *error)
{
    bool no_cluster = strncmp(error->text, "no master answers", strlen("no master answers")) == 0;
    return load_complain_with(
        error, no_cluster ? "Is the cluster running?  ./quickstart starts one on this machine; "
                            "--masters or EDUBBA_MASTERS say where another is."
                          : NULL);
}

void load_say_waiting(const char *message)
{
    print("WAITING", false, message, NULL);
}

int load_complain_file(const char *path, int cause)
{
    char message[MESSAGE_BYTES_MAX];
    (void)snprintf(message, sizeof message, LOAD_EXCERPT ": %s",
                   LOAD_EXCERPT_OF(path, PATH_SHOWN_BYTES), strerror(cause));
    print("FILE", false, message, NULL);
    return EXIT_CODE_FAILED;
}

int load_complain_usage(const char *problem)
{
    print("USAGE", false, problem, "Try: edubba-load help");
    return EXIT_CODE_USAGE;
}

void load_warn(const char *warning)
{
    if (!as_json) {
        fprintf(stderr, "edubba-load: warning: %s\n", warning);
        return;
    }
    fputs("{\"warning\":", stderr);
    load_report_json_text(stderr, warning);
    fputs("}\n", stderr);
}
