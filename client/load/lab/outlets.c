#include "client/load/lab/outlets.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "client/load/complaint.h"
#include "client/load/lab/core/report/json.h"
#include "client/load/lab/core/report/page.h"
#include "client/load/lab/core/report/text.h"

#define NO_PAGE "none" /* --html */

static FILE *open_outlet(struct lab_outlets *outlets, const char *path)
{
    FILE *file = path != NULL && outlets->failed == NULL ? fopen(path, "we") : NULL;
    if (file == NULL && path != NULL && outlets->failed == NULL) {
        outlets->failed = path;
        outlets->cause = errno;
    }
    return file;
}

bool lab_outlets_open(struct lab_outlets *outlets,
                      const struct load_options *options,
                      const char *name)
{
    *outlets = (struct lab_outlets){.report = stdout};
    bool has_page = options->html != NULL && strcmp(options->html, NO_PAGE) != 0;
    if (options->html == NULL && options->format == LOAD_TEXT) {
        (void)snprintf(outlets->page, sizeof outlets->page, "lab-%s.html", name);
    }
    FILE *output = open_outlet(outlets, options->output);
    outlets->report = output != NULL ? output : stdout;
    outlets->json = open_outlet(outlets, options->json);
    outlets->html = has_page ? open_outlet(outlets, options->html) : NULL;
    if (outlets->html != NULL) {
        lab_page_begin(outlets->html);
    }
    return outlets->failed == NULL;
}

static void check_outlet(struct lab_outlets *outlets, FILE *file, const char *name)
{
    if (file != NULL && (fflush(file) != 0 || ferror(file) != 0) && outlets->failed == NULL) {
        outlets->failed = name;
        outlets->cause = errno;
    }
}

/* Nobody has asked for it by name: where it cannot be written, the rest is told all the same. */
static void begin_page(struct lab_outlets *outlets)
{
    char warning[LAB_ERROR_BYTES];
    outlets->html = fopen(outlets->page, "we");
    if (outlets->html != NULL) {
        lab_page_begin(outlets->html);
        return;
    }
    (void)snprintf(warning, sizeof warning,
                   "the page %s cannot be written here: %s; --html FILE puts it elsewhere",
                   outlets->page, strerror(errno));
    load_warn(warning);
    outlets->page[0] = '\0';
}

/* Of a run that came to nothing there is none, and the page of one before stays. */
static bool has_charts(const struct lab_result *result)
{
    bool has_run = false;
    for (size_t i = 0; i < result->experiment->variant_count; i++) {
        has_run = has_run || result->variants[i].write.has_run;
    }
    return has_run;
}

void lab_outlets_tell(struct lab_outlets *outlets,
                      const struct load_options *options,
                      const struct lab_result *result)
{
    bool draws = outlets->report == stdout && isatty(STDOUT_FILENO);
    if (options->format == LOAD_JSON) {
        lab_json(outlets->report, result);
        fputc('\n', outlets->report);
    } else {
        fputs(outlets->told > 0 ? "\n" : "", outlets->report);
        lab_text(outlets->report, result, draws);
    }
    if (outlets->json != NULL) {
        lab_json(outlets->json, result);
        fputc('\n', outlets->json);
    }
    if (outlets->html == NULL && outlets->page[0] != '\0' && has_charts(result)) {
        begin_page(outlets);
    }
    if (outlets->html != NULL) {
        lab_page_add(outlets->html, result, outlets->told == 0);
    }
    outlets->told++;
    check_outlet(outlets, outlets->report, "the report");
    check_outlet(outlets, outlets->json, options->json);
}

int lab_outlets_close(struct lab_outlets *outlets,
                      const struct load_options *options,
                      int exit_code)
{
    if (outlets->html != NULL) {
        const char *page = options->html != NULL ? options->html : outlets->page;
        lab_page_end(outlets->html);
        check_outlet(outlets, outlets->html, page);
        (void)fclose(outlets->html);
        if (options->format == LOAD_TEXT && outlets->failed == NULL) {
            fprintf(outlets->report, "\nThe page, with charts: %s (open it in a browser)\n", page);
        }
    }
    if (outlets->json != NULL) {
        (void)fclose(outlets->json);
    }
    if (outlets->report != stdout) {
        (void)fclose(outlets->report);
    }
    return outlets->failed != NULL ? load_complain_file(outlets->failed, outlets->cause)
                                   : exit_code;
}
