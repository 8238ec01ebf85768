#include <string.h>

#include "client/cli/command.h"
#include "client/cli/output.h"

static const char OVERVIEW[] =
    "ebt -- read and change an Edubba cluster\n"
    "\n"
    "usage: ebt [--masters ADDRESSES] [--timeout SECONDS] [--json] [--escaped] [-o FILE] COMMAND ...\n"
    "\n";

static const char OPTIONS[] =
    "\n"
    "options, before the command:\n"
    "  --masters ADDRESSES   where the masters are, comma-separated; default: the environment variable\n"
    "                        EDUBBA_MASTERS, else tcp://127.0.0.1:7400; tablet servers may stand behind\n"
    "                        them, and tell where tables are while no master answers\n"
    "  --timeout SECONDS     give up after (0.001 at least); default: 60, or 5 where no master listens at\n"
    "                        all, and for what only looks: ls, servers, tablets, status, hot-tablets,\n"
    "                        hot-keys, advise, events, debug bundle, what recover lists, and masters,\n"
    "                        of which each has a second of it at most\n"
    "  --json                print JSON, one object a line; errors too, on stderr:\n"
    "                        {\"code\":\"NOT_FOUND\",\"message\":\"...\",\"hint\":\"...\"}, hint where there is\n"
    "                        one; code USAGE: the command line, FILE: a file here, others: the servers'\n"
    "  --escaped             keys (ROW, KEY) are given as ebt prints them in quotes: \\xNN is a byte, and a\n"
    "                        backslash \\\\; for bytes that a command line cannot hold: 'a\\x00b'\n"
    "  -o FILE               print to FILE\n"
    "  --version\n"
    "\n"
    "`ebt help COMMAND`, or `ebt COMMAND --help`, says more about one.\n";

static const char EXIT_STATUS[] =
    "0 done; 1 the servers said no or did not answer, or a file here could not be read or written;\n"
    "2 the command line makes no sense\n";

static void print_overview(FILE *out)
{
    fputs(OVERVIEW, out);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(out, "  %-16s %s\n", COMMANDS[i].name, COMMANDS[i].summary);
    }
    fputs(OPTIONS, out);
    fprintf(out, "\nexit status: %s", EXIT_STATUS);
}

static void print_command_json(FILE *out, const struct command *command)
{
    fputs("{\"command\":", out);
    print_json_text(out, command->name);
    fputs(",\"arguments\":", out);
    print_json_text(out, command->arguments);
    fputs(",\"summary\":", out);
    print_json_text(out, command->summary);
    fputs(",\"details\":", out);
    print_json_text(out, command->details);
    fputs("}\n", out);
}

static void print_command(FILE *out, const struct command *command)
{
    fprintf(out, "ebt %s%s%s\n\n%s.\n", command->name, command->arguments[0] != '\0' ? " " : "",
            command->arguments, command->summary);
    if (command->details[0] != '\0') {
        fprintf(out, "\n%s\n", command->details);
    }
}

/* Text for roff: backslashes and leading dots would be taken for its own. */
static void print_roff(FILE *out, const char *text)
{
    bool at_start = true;
    for (; *text != '\0'; text++) {
        if (at_start && (*text == '.' || *text == '\'')) {
            fputs("\\&", out);
        }
        if (*text == '\\') {
            fputs("\\e", out);
        } else if (*text == '-') {
            fputs("\\-", out);
        } else {
            fputc(*text, out);
        }
        at_start = *text == '\n';
    }
}

/* The man page, made from the same table as the help. */
static void print_man_page(FILE *out)
{
    fputs(".TH EBT 1 \"2026-11-21\" \"Edubba " EDUBBA_VERSION "\" \"User Commands\"\n"
          ".SH NAME\nebt \\- read and change an Edubba cluster\n"
          ".SH SYNOPSIS\n.B ebt\n[\\fB\\-\\-masters\\fR ADDRESSES] [\\fB\\-\\-timeout\\fR SECONDS] "
          "[\\fB\\-\\-json\\fR] [\\fB\\-\\-escaped\\fR] [\\fB\\-o\\fR FILE] COMMAND ...\n"
          ".SH COMMANDS\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(out, ".TP\n\\fB%s\\fR ", COMMANDS[i].name);
        for (const char *c = COMMANDS[i].arguments; *c != '\0'; c++) {
            fputc(*c == '\n' ? ' ' : *c, out);
        }
        fputc('\n', out);
        print_roff(out, COMMANDS[i].summary);
        fputs(".\n", out);
        if (COMMANDS[i].details[0] != '\0') {
            fputs(".sp\n.nf\n", out);
            print_roff(out, COMMANDS[i].details);
            fputs("\n.fi\n", out);
        }
    }
    fputs(".SH OPTIONS\n.nf\n", out);
    print_roff(out, OPTIONS + 1);
    fputs(".fi\n.SH EXIT STATUS\n", out);
    print_roff(out, EXIT_STATUS);
    fputs(".SH ENVIRONMENT\n.TP\nEDUBBA_MASTERS\nAddresses of the masters, comma-separated.\n"
          ".SH SEE ALSO\nedubba\\-load(1), edubba\\-master(8), edubba\\-tabletserver(8)\n",
          out);
}

int run_version(struct session *session)
{
    fputs(session->json ? "{\"ebt\":\"" EDUBBA_VERSION "\"}\n" : "ebt " EDUBBA_VERSION "\n",
          session->out);
    return EXIT_CODE_OK;
}

int run_help(struct session *session)
{
    const char *what = session->argument_count > 0 ? session->arguments[0] : NULL;

    if (what == NULL && session->json) {
        for (size_t i = 0; i < COMMAND_COUNT; i++) {
            print_command_json(session->out, &COMMANDS[i]);
        }
        return EXIT_CODE_OK;
    }
    if (what == NULL) {
        print_overview(session->out);
        return EXIT_CODE_OK;
    }
    if (strcmp(what, "--man") == 0) {
        print_man_page(session->out);
        return EXIT_CODE_OK;
    }
    if (strcmp(what, "--commands") == 0) { /* for shell completion */
        for (size_t i = 0; i < COMMAND_COUNT; i++) {
            fprintf(session->out, "%s\n", COMMANDS[i].name);
        }
        return EXIT_CODE_OK;
    }
    const struct command *command = command_find(what);
    if (command == NULL) {
        session->command = NULL;
        return session_unknown_command(session, what);
    }
    if (session->json) {
        print_command_json(session->out, command);
    } else {
        print_command(session->out, command);
    }
    return EXIT_CODE_OK;
}
