#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/command.h"

#define TIMEOUT_DEFAULT_MS  60000
#define TIMEOUT_MAX_SECONDS 86400

struct options {
    const char *output;
    int (*instead)(struct session *session); /* of a command: --version, --help */
    int first_argument;                      /* the command's place */
};

/* The value of an option given as "--name VALUE" or "--name=VALUE"; NULL if it is another one. */
static const char *option_value(const char *name, int count, char **arguments, int *index)
{
    const char *argument = arguments[*index];
    size_t length = strlen(name);

    if (argument[0] == '-' && argument[1] == '-') {
        argument++; /* one dash or two, as people are used to */
    }
    if (strncmp(argument, name, length) != 0) {
        return NULL;
    }
    if (argument[length] == '=') {
        return argument + length + 1;
    }
    if (argument[length] == '\0' && *index + 1 < count) {
        *index += 1;
        return arguments[*index];
    }
    return NULL;
}

static bool take_timeout(struct session *session, const char *text)
{
    char *end = NULL;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds > 0) || seconds > TIMEOUT_MAX_SECONDS) {
        return false;
    }
    unsigned ms = (unsigned)(seconds * 1000);
    session->timeout_ms = ms > 0 ? ms : 1; /* 0 would be the default */
    session->timeout_given = true;
    return true;
}

/* Returns the exit code, or -1 to go on. */
static int parse_options(struct session *session,
                         int count,
                         char **arguments,
                         struct options *ret_options)
{
    int i = 1;
    for (; i < count && arguments[i][0] == '-'; i++) {
        const char *value = NULL;
        if (strcmp(arguments[i], "--json") == 0 || strcmp(arguments[i], "-json") == 0) {
            session->json = true;
        } else if (strcmp(arguments[i], "--escaped") == 0) {
            session->escaped = true;
        } else if (strcmp(arguments[i], "--version") == 0) {
            ret_options->instead = run_version;
        } else if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0) {
            ret_options->instead = run_help;
        } else if ((value = option_value("-masters", count, arguments, &i)) != NULL) {
            if (value[0] == '\0') { /* the default, or EDUBBA_MASTERS, would be another cluster */
                return session_misuse(session, "--masters is empty: which masters?");
            }
            session->masters = value;
        } else if ((value = option_value("-timeout", count, arguments, &i)) != NULL) {
            if (!take_timeout(session, value)) {
                return session_misuse(
                    session, "--timeout '%s' is not a number of seconds above 0 and up to %d",
                    value, TIMEOUT_MAX_SECONDS);
            }
        } else if ((value = option_value("-o", count, arguments, &i)) != NULL) {
            ret_options->output = value;
        } else {
            return session_misuse(session, "unknown option, or one without its value: '%s'",
                                  arguments[i]);
        }
    }
    ret_options->first_argument = i;
    return -1;
}

/* `ebt COMMAND --help`; further behind, it may be a row's key. */
static bool asks_for_help(const struct session *session)
{
    const char *first = session->argument_count > 0 ? session->arguments[0] : "";
    return strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0;
}

static int help_of_command(struct session *session, const struct command *command)
{
    char *name = (char *)(uintptr_t)command->name;
    session->argument_count = 1;
    session->arguments = &name;
    return run_help(session);
}

/* cbt's app-profile=NAME may stand behind table and row; there is one profile here. */
static void drop_app_profile(struct session *session)
{
    int kept = 0;
    for (int i = 0; i < session->argument_count; i++) {
        bool drop = i > 1 && strncmp(session->arguments[i], "app-profile=", 12) == 0;
        if (!drop) {
            session->arguments[kept++] = session->arguments[i];
        }
    }
    session->argument_count = kept;
}

static int run(struct session *session, int count, char **arguments, int first)
{
    if (first >= count && session->json_errors) {
        return session_misuse(session, "no command");
    }
    if (first >= count) {
        (void)run_help(&(struct session){.out = stderr});
        return EXIT_CODE_USAGE;
    }
    const struct command *command = command_find(arguments[first]);
    if (command == NULL) {
        return session_unknown_command(session, arguments[first]);
    }
    session->command = command;
    session->argument_count = count - first - 1;
    session->arguments = arguments + first + 1;
    /* --json is welcome behind the command too. */
    if (session->argument_count > 0 &&
        strcmp(session->arguments[session->argument_count - 1], "--json") == 0) {
        session->json = true;
        session->argument_count -= 1;
    }
    if (asks_for_help(session)) {
        return help_of_command(session, command);
    }
    drop_app_profile(session);
    if (session->argument_count < command->argument_count_min) {
        return session_misuse(session, "%s takes at least %d argument%s, not %d", command->name,
                              command->argument_count_min,
                              command->argument_count_min == 1 ? "" : "s", session->argument_count);
    }
    if (command->argument_count_max >= 0 && session->argument_count > command->argument_count_max) {
        return session_misuse(session, "%s takes no '%s'", command->name,
                              session->arguments[command->argument_count_max]);
    }
    return command->run(session);
}

/* An error may come before --json is reached. */
static bool asks_for_json(int count, char **arguments)
{
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--json") == 0 || strcmp(arguments[i], "-json") == 0) {
            return true;
        }
    }
    return false;
}

int main(int count, char **arguments)
{
    struct session session = {.out = stdout, .timeout_ms = TIMEOUT_DEFAULT_MS};
    struct options options = {.output = NULL};

    session.json_errors = asks_for_json(count, arguments);
    signal(SIGPIPE, SIG_IGN); /* a reader that has seen enough shows as a failed flush */
    int code = parse_options(&session, count, arguments, &options);
    if (code >= 0) {
        return code;
    }
    if (options.output != NULL) {
        session.out = fopen(options.output, "w");
        if (session.out == NULL) {
            return session_file_failed(&session, "%s: %s", options.output, strerror(errno));
        }
    }
    code = options.instead != NULL ? options.instead(&session)
                                   : run(&session, count, arguments, options.first_argument);
    if (session.client != NULL) {
        edubba_client_close(session.client);
    }
    if ((fflush(session.out) != 0 || ferror(session.out)) && errno != EPIPE) {
        code = session_file_failed(&session, "cannot write the output: %s", strerror(errno));
    }
    if (options.output != NULL && fclose(session.out) != 0) {
        code = session_file_failed(&session, "%s: %s", options.output, strerror(errno));
    }
    return code;
}
