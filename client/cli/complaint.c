/* What ebt says on stderr when it fails: one line for people, or one object with --json. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/waiting.h"
#include "client/cli/words.h"

#define MESSAGE_SIZE_MAX 1024

struct complaint {
    const char *code;    /* a code of edubba.h, "USAGE" or "FILE" */
    bool tells_code;     /* to people too */
    const char *message; /* of any length */
    const char *hint;    /* what to do about it; "" for none */
};

static void print(const struct session *session, const struct complaint *complaint)
{
    waiting_end();
    if (!session->json_errors) {
        fprintf(stderr, "ebt: %s%s%s\n", complaint->tells_code ? complaint->code : "",
                complaint->tells_code ? ": " : "", complaint->message);
        if (complaint->hint[0] != '\0') {
            fprintf(stderr, "%s\n", complaint->hint);
        }
        return;
    }
    fputs("{\"code\":", stderr);
    print_json_text(stderr, complaint->code);
    fputs(",\"message\":", stderr);
    print_json_text(stderr, complaint->message);
    if (complaint->hint[0] != '\0') {
        fputs(",\"hint\":", stderr);
        print_json_text(stderr, complaint->hint);
    }
    fputs("}\n", stderr);
}

/* What to do about it; nothing where that is not known. */
static void write_hint(const struct session *session,
                       const struct edubba_error *error,
                       char *out,
                       size_t size)
{
    const char *table = session->argument_count > 0 ? session->arguments[0] : "TABLE";
    out[0] = '\0';
    if (strncmp(error->text, "no master answers", strlen("no master answers")) == 0) {
        (void)snprintf(out, size,
                       "Is the cluster running?  ./quickstart starts one on this machine; "
                       "--masters or EDUBBA_MASTERS say where another is.");
    } else if (session->only_looks && error->code == EDUBBA_DEADLINE_EXCEEDED) {
        (void)snprintf(out, size,
                       "Try: ebt status, which tells what is wrong; --timeout waits longer");
    } else if (strstr(error->text, "family not found") != NULL) {
        (void)snprintf(out, size, "Try: ebt ls %s, which lists its families", table);
    } else if (strstr(error->text, "family type mismatch") != NULL) {
        (void)snprintf(out, size,
                       "Families of aggregate cells take addtocell, plain ones take set; ebt ls %s "
                       "lists the types",
                       table);
    }
}

int session_fail(const struct session *session, const struct edubba_error *error)
{
    char hint[MESSAGE_SIZE_MAX];
    write_hint(session, error, hint, sizeof hint);
    print(session, &(struct complaint){
                       .code = edubba_code_name(error->code),
                       .tells_code = true,
                       .message = error->text,
                       .hint = hint,
                   });
    return EXIT_CODE_FAILED;
}

int session_file_failed(const struct session *session, const char *format, ...)
{
    char message[MESSAGE_SIZE_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    print(session, &(struct complaint){.code = "FILE", .message = message, .hint = ""});
    return EXIT_CODE_FAILED;
}

int session_misuse(const struct session *session, const char *format, ...)
{
    char message[MESSAGE_SIZE_MAX];
    char usage[MESSAGE_SIZE_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (session->command != NULL) {
        (void)snprintf(usage, sizeof usage, "usage: ebt %s%s%s", session->command->name,
                       session->command->arguments[0] != '\0' ? " " : "",
                       session->command->arguments);
    } else {
        (void)snprintf(usage, sizeof usage, "Try: ebt help");
    }
    print(session, &(struct complaint){.code = "USAGE", .message = message, .hint = usage});
    return EXIT_CODE_USAGE;
}

void session_warn(const struct session *session, const char *format, ...)
{
    char message[MESSAGE_SIZE_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    waiting_end();
    if (!session->json_errors) {
        fprintf(stderr, "ebt: warning: %s\n", message);
        return;
    }
    fputs("{\"warning\":", stderr);
    print_json_text(stderr, message);
    fputs("}\n", stderr);
}

int session_refuse_repeated(const struct session *session, int first)
{
    const char *word = first < session->argument_count
                           ? words_repeated(session->arguments + first,
                                            session->argument_count - first)
                           : NULL;
    return word == NULL ? -1
                        : session_misuse(session, "'%s': %.*s is given twice", word,
                                         (int)strcspn(word, "="), word);
}

int session_refuse_output(const struct session *session)
{
    return session->out == stdout
               ? -1
               : session_misuse(session, "%s writes to '%s' itself: -o does not go with it",
                                session->command->name, session->arguments[1]);
}

int session_unknown_command(const struct session *session, const char *name)
{
    const char *nearest = command_nearest(name);
    if (nearest == NULL) {
        return session_misuse(session, "there is no command '%s'", name);
    }
    return session_misuse(session, "there is no command '%s'; did you mean '%s'?", name, nearest);
}
