#include "client/load/lab/core/report/page.h"

#include "client/load/lab/core/report/json.h"

/* Made of page/ by the build; each ends with a 0. */
extern const unsigned char lab_page_css[];
extern const unsigned char lab_page_html[];
extern const unsigned char lab_page_js[];

static void put(FILE *out, const unsigned char *text)
{
    fputs((const char *)text, out);
}

void lab_page_begin(FILE *out)
{
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<title>Edubba: the lab</title>\n<style>\n",
          out);
    put(out, lab_page_css);
    fputs("</style>\n</head>\n<body>\n", out);
    put(out, lab_page_html);
    fputs("<script type=\"application/json\" id=\"results\">[", out);
}

void lab_page_add(FILE *out, const struct lab_result *result, bool is_first)
{
    fputs(is_first ? "\n" : ",\n", out);
    lab_json(out, result);
}

void lab_page_end(FILE *out)
{
    fputs("\n]</script>\n<script>\n", out);
    put(out, lab_page_js);
    fputs("</script>\n</body>\n</html>\n", out);
}
