#include "client/load/help.h"

#include <inttypes.h>
#include <string.h>

#include "client/load/lab/lab.h"
#include "edubba.h"

/* What stands before a workload, or instead of one. */
struct load_command {
    const char *name;
    const char *usage;
    const char *help;
};
static const struct load_command COMMANDS[] = {
    {"load", "edubba-load load WORKLOAD [OPTIONS]",
     "Writes the --records rows that the workload needs, about 512 at a time, and runs nothing.  The\n"
     "table is made when it is missing, in --presplit tablets.  --records, --fields, --value-size and\n"
     "--keys are to be the same as of the run: they are not kept.\n\n"
     "example: edubba-load load ycsb-c --records 1M --presplit 8\n"},
    {"run", "edubba-load run WORKLOAD [OPTIONS]",
     "Runs the workload on a table that is there, with the rows that `load` wrote.  No table is made.\n"
     "\n"
     "example: edubba-load run ycsb-c --records 1M --in-flight 64 --duration 60\n"},
    {"lab", "edubba-load lab NAME|all [OPTIONS], or edubba-load lab --list",
     "Runs an experiment on row keys: a bad schema and its cures, one after the other, with the same\n"
     "load, each on a table of its own, which is dropped at the end.  Tells what each of them took, where\n"
     "the load lay, what became of the tablets, and what is wrong with the schema.  NAME is one of those\n"
     "that --list names; `edubba-load help lab NAME` says what one is about.\n\n"
     "Of the options these count: --masters, --presplit (tablets of each table at first; default: two a\n"
     "server), --records (events that are there before, 20k), --in-flight (64; open loop: 4096),\n"
     "--clients, --rate, --messages, --connections, --timeout, --duration (of writes, 10; each query has\n"
     "half of it), --seed, --format text|json, --output, --quiet, and those of the lab, below.\n\n"
     "--confine gives each tablet server on this machine a share of a CPU, so that several on one machine\n"
     "behave as several machines.  That takes the right to make control groups (root); without it the run\n"
     "goes on unconfined.  It is undone at the end, whatever the end is.\n\n"
     "A page with charts is written beside the report: lab-NAME.html, or where --html says.\n\n"
     "example: edubba-load lab battery --in-flight 512 --confine 0.25\n"},
    {"drop", "edubba-load drop [--table NAME]",
     "Deletes the table (LOAD).  One that edubba-load did not make is refused.\n\n"
     "example: edubba-load drop --table LOAD\n"},
    {"help", "edubba-load help [COMMAND|WORKLOAD]",
     "Tells what there is: all of it, or of one command, or of one workload with its defaults.\n"
     "--help behind a command or a workload is the same.\n\n"
     "example: edubba-load help ycsb-e\n"},
};
#define COMMAND_COUNT (sizeof COMMANDS / sizeof COMMANDS[0])

static const char USAGE[] =
    "edubba-load -- put load on an Edubba cluster, and measure it\n"
    "\n"
    "usage: edubba-load WORKLOAD [OPTIONS]        load first where the table is made, then run\n"
    "       edubba-load load WORKLOAD [OPTIONS]   only write the rows that the workload needs\n"
    "       edubba-load run WORKLOAD [OPTIONS]    only run, on a table that is there\n"
    "       edubba-load lab NAME|all [OPTIONS]    experiments on row keys: lab --list names them\n"
    "       edubba-load drop [--table NAME]       delete the table\n"
    "       edubba-load help [COMMAND|WORKLOAD]\n";

static const char EXAMPLES[] =
    "examples:\n"
    "  edubba-load write --in-flight 64 --duration 60         durable single-row writes of 1 kB\n"
    "  edubba-load add --clients 64 --in-flight 1 --verify    one hot counter, 64 connections\n"
    "  edubba-load ycsb-a --records 1M --presplit 8           load a million rows, run workload A\n"
    "  edubba-load run ycsb-c --rate 20000 --interval 1       open loop; a line a second\n"
    "  edubba-load write --keys series --distribution sequential --batch 100 --operations 1M\n"
    "  edubba-load run scan --verify --format json            every row, every value checked\n"
    "  edubba-load lab battery --in-flight 512                a bad row key and its cures, side by side\n"
    "\n"
    "exit status: 0 done, whatever single requests of a run ended in; 1 not one operation succeeded,\n"
    "any failed with --fail-on-errors, a row could not be loaded, something was found wrong, or the\n"
    "report could not be written; 2 the command line makes no sense; 130, 143, 129 interrupted by\n"
    "SIGINT, SIGTERM, SIGHUP.  Ctrl-C (and the others) report what there is; pressed twice, or before\n"
    "the load has begun, it quits at once.\n"
    "With --format json errors are JSON too, on stderr, as ebt's.\n";

static const char *const PLACE = "  %-20s %s\n";

static void print_workloads(FILE *out)
{
    fputs("workloads:\n", out);
    for (size_t i = 0; i < LOAD_WORKLOAD_COUNT; i++) {
        fprintf(out, "  %-20s %s\n", LOAD_WORKLOADS[i].name, LOAD_WORKLOADS[i].summary);
    }
}

/* Help may have several lines: all of them stand under the first. */
static void print_indented(FILE *out, const char *text, int indent)
{
    for (; *text != '\0'; text++) {
        fputc(*text, out);
        if (*text == '\n') {
            fprintf(out, "%*s", indent, "");
        }
    }
    fputc('\n', out);
}

static void print_option(FILE *out, const struct load_option *option)
{
    char usage[80];
    (void)snprintf(usage, sizeof usage, "--%s%s%s", option->name,
                   option->argument != NULL ? " " : "",
                   option->argument != NULL ? option->argument : "");
    if (strlen(usage) > 22) {
        fprintf(out, "  %s\n%27s", usage, "");
    } else {
        fprintf(out, "  %-24s ", usage);
    }
    print_indented(out, option->help, 27);
}

static void print_options(FILE *out)
{
    for (size_t i = 0; i < LOAD_OPTION_COUNT_ALL; i++) {
        if (LOAD_OPTIONS[i].heading != NULL) {
            fprintf(out, "%s%s:\n", i > 0 ? "\n" : "", LOAD_OPTIONS[i].heading);
        }
        print_option(out, &LOAD_OPTIONS[i]);
    }
}

/* Those under the lab's heading, which is the last. */
static void print_lab_options(FILE *out)
{
    size_t first = LOAD_OPTION_COUNT_ALL - 1;
    while (first > 0 && LOAD_OPTIONS[first].heading == NULL) {
        first--;
    }
    for (size_t i = first; i < LOAD_OPTION_COUNT_ALL; i++) {
        print_option(out, &LOAD_OPTIONS[i]);
    }
}

void load_help(FILE *out)
{
    fputs(USAGE, out);
    fputc('\n', out);
    print_workloads(out);
    fputc('\n', out);
    print_options(out);
    fputs("\nNumbers may end in k, M or G (thousands).  What has no default in brackets has the\n"
          "workload's: `edubba-load help WORKLOAD`.\n\n",
          out);
    fputs(EXAMPLES, out);
}

static const struct load_command *command_find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(COMMANDS[i].name, name) == 0) {
            return &COMMANDS[i];
        }
    }
    return NULL;
}

bool load_help_is_command(const char *name)
{
    return command_find(name) != NULL;
}

void load_help_command(FILE *out, const char *name)
{
    const struct load_command *command = command_find(name);
    if (command != NULL) {
        fprintf(out, "usage: %s\n\n%s\n", command->usage, command->help);
        if (strcmp(name, "lab") == 0) {
            lab_help_list(out);
            fputs("\nOptions of the lab:\n", out);
            print_lab_options(out);
            fputc('\n', out);
        }
        fputs("Workloads and options: edubba-load help\n", out);
    }
}

static void print_mix(FILE *out, const struct load_workload *workload)
{
    const char *comma = "";
    fprintf(out, "  %-20s ", "operations");
    for (int kind = 0; kind < LOAD_KINDS; kind++) {
        if (workload->percent[kind] > 0) {
            fprintf(out, "%s%u %% %s", comma, (unsigned)workload->percent[kind],
                    load_kind_name((enum load_kind)kind));
            comma = ", ";
        }
    }
    fputc('\n', out);
}

void load_help_workload(FILE *out, const struct load_workload *workload)
{
    fprintf(out, "edubba-load %s -- %s\n\n", workload->name, workload->summary);
    if (workload->details[0] != '\0') {
        fprintf(out, "%s\n\n", workload->details);
    }
    print_mix(out, workload);
    fprintf(out, PLACE, "--distribution", load_distribution_name(workload->distribution));
    fprintf(out, PLACE, "--keys", load_key_form_name(workload->keys));
    fprintf(out, "  %-20s %" PRIu64 "\n", "--records", workload->records);
    fprintf(out, "  %-20s %" PRIu64 " of %" PRIu64 " bytes\n", "--fields --value-size",
            workload->fields, workload->value_bytes);
    fprintf(out, "  %-20s %" PRIu64 "\n", "--in-flight", workload->in_flight);
    if (workload->scan_rows > 0) {
        fprintf(out, "  %-20s %" PRIu64 "\n", "--scan-rows", workload->scan_rows);
    }
    if (workload->each_once) {
        fprintf(out, PLACE, "--operations", "as many as --records");
    } else if (workload->operations > 0) {
        fprintf(out, "  %-20s %" PRIu64 "\n", "--operations", workload->operations);
    } else {
        fprintf(out, PLACE, "--duration", "10");
    }
    if (workload->needs_rows) {
        fprintf(out,
                "\nNeeds rows: they are written when the table is made, or by\n"
                "`edubba-load load %s`.\n",
                workload->name);
    }
}

static void print_roff(FILE *out, const char *text)
{
    bool at_start = true;
    for (; *text != '\0'; text++) {
        if (at_start && (*text == '.' || *text == '\'')) {
            fputs("\\&", out);
        }
        if (*text == '\\' || *text == '-') {
            fputc('\\', out);
        }
        fputc(*text == '\\' ? 'e' : *text, out);
        at_start = *text == '\n';
    }
}

static void man_experiment(void *context, const char *name, const char *summary, const char *story)
{
    FILE *out = context;
    fprintf(out, ".TP\n\\fB%s\\fR\n", name);
    print_roff(out, summary);
    fputs(".\n", out);
    print_roff(out, story);
    fputc('\n', out);
}

void load_help_man(FILE *out)
{
    fputs(".TH EDUBBA\\-LOAD 1 \"2026-11-21\" \"Edubba " EDUBBA_VERSION "\" \"User Commands\"\n"
          ".SH NAME\nedubba\\-load \\- put load on an Edubba cluster, and measure it\n"
          ".SH SYNOPSIS\n.B edubba\\-load\n[load|run] WORKLOAD [OPTIONS]\n.br\n"
          ".B edubba\\-load lab\nNAME|all [OPTIONS]\n.br\n"
          ".B edubba\\-load drop\n[\\fB\\-\\-table\\fR NAME]\n.SH WORKLOADS\n",
          out);
    for (size_t i = 0; i < LOAD_WORKLOAD_COUNT; i++) {
        fprintf(out, ".TP\n\\fB%s\\fR\n", LOAD_WORKLOADS[i].name);
        print_roff(out, LOAD_WORKLOADS[i].summary);
        fputs(".\n", out);
        print_roff(out, LOAD_WORKLOADS[i].details);
        fputs(LOAD_WORKLOADS[i].details[0] != '\0' ? "\n" : "", out);
    }
    fputs(".SH EXPERIMENTS OF THE LAB\n", out);
    lab_help_each(man_experiment, out);
    fputs(".SH OPTIONS\n", out);
    for (size_t i = 0; i < LOAD_OPTION_COUNT_ALL; i++) {
        fputs(".TP\n\\fB\\-\\-", out);
        print_roff(out, LOAD_OPTIONS[i].name);
        fprintf(out, "\\fR %s\n", LOAD_OPTIONS[i].argument != NULL ? LOAD_OPTIONS[i].argument : "");
        print_roff(out, LOAD_OPTIONS[i].help);
        fputc('\n', out);
    }
    fputs(".SH EXAMPLES\n.nf\n", out);
    print_roff(out, EXAMPLES);
    fputs(".fi\n.SH ENVIRONMENT\n.TP\nEDUBBA_MASTERS\nAddresses of the masters, comma-separated.\n"
          ".SH SEE ALSO\nebt(1), edubba\\-tabletserver(8), edubba\\-master(8)\n",
          out);
}

static void word_experiment(void *context, const char *name, const char *summary, const char *story)
{
    FILE *out = context;
    (void)summary;
    (void)story;
    fprintf(out, "%s\n", name);
}

static void print_choices(FILE *out, const char *name)
{
    for (size_t i = 0; i < LOAD_OPTION_COUNT_ALL; i++) {
        if (strcmp(LOAD_OPTIONS[i].name, name) == 0 && LOAD_OPTIONS[i].type == LOAD_OPTION_CHOICE) {
            for (const char *at = LOAD_OPTIONS[i].argument; *at != '\0'; at++) {
                fputc(*at == '|' ? '\n' : *at, out);
            }
            fputc('\n', out);
        }
    }
}

void load_help_words(FILE *out, const char *option)
{
    if (option != NULL && strncmp(option, "--", 2) == 0) {
        print_choices(out, option + 2);
        return;
    }
    if (option != NULL && strcmp(option, "lab") == 0) {
        lab_help_each(word_experiment, out);
        fputs("all\n--list\n", out);
        return;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(out, "%s\n", COMMANDS[i].name);
    }
    for (size_t i = 0; i < LOAD_WORKLOAD_COUNT; i++) {
        fprintf(out, "%s\n", LOAD_WORKLOADS[i].name);
    }
    for (size_t i = 0; i < LOAD_OPTION_COUNT_ALL; i++) {
        fprintf(out, "--%s\n", LOAD_OPTIONS[i].name);
    }
}
