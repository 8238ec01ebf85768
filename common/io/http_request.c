#include "common/io/http_request.h"

#include <string.h>
#include <strings.h>

/* No head has it, but for the ends of its lines. */
static bool is_strange(char c)
{
    return ((unsigned char)c < ' ' && c != '\r' && c != '\n' && c != '\t') || c == 0x7f;
}

/* Of the head, with the empty line; 0 = it has not come yet.  *ret_good false: bytes that no head has. */
static size_t find_end(const char *text, size_t size_bytes, bool *ret_good)
{
    *ret_good = true;
    for (size_t i = 0; i < size_bytes; i++) {
        if (is_strange(text[i])) {
            *ret_good = false;
            return 0;
        }
        if (i >= 3 && memcmp(text + i - 3, "\r\n\r\n", 4) == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* The next line, its end cut off; NULL: it is no line. */
static char *cut_line(char **text)
{
    char *line = *text;
    char *end = strstr(line, "\r\n");
    if (end == NULL) {
        return NULL;
    }
    *end = '\0';
    *text = end + 2;
    return strpbrk(line, "\r\n") == NULL ? line : NULL;
}

/* Up to the next space, which is cut off. */
static char *cut_word(char **line)
{
    char *word = *line;
    char *space = strchr(word, ' ');
    if (space == NULL || space == word) {
        return NULL;
    }
    *space = '\0';
    *line = space + 1;
    return word;
}

static bool is_method(const char *word)
{
    return word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

static uint16_t parse_first_line(char *line, struct http_request *request)
{
    request->method = line == NULL ? NULL : cut_word(&line);
    request->uri = request->method == NULL ? NULL : cut_word(&line);
    if (request->uri == NULL || !is_method(request->method) || strncmp(line, "HTTP/", 5) != 0) {
        return 400;
    }
    if (strcmp(line, "HTTP/1.1") != 0 && strcmp(line, "HTTP/1.0") != 0) {
        return 505;
    }
    request->keeps_open = line[7] == '1';
    return request->uri[0] == '/' ? HTTP_REQUEST_WHOLE : 400;
}

static uint16_t parse_header(char *line, struct http_request *request)
{
    char *colon = line == NULL ? NULL : strchr(line, ':');
    if (colon == NULL || colon == line || strcspn(line, " \t") < (size_t)(colon - line)) {
        return 400;
    }
    if (request->header_count == HTTP_REQUEST_HEADERS_MAX) {
        return 431;
    }
    char *value = colon + 1 + strspn(colon + 1, " \t");
    size_t value_bytes = strlen(value);
    while (value_bytes > 0 && strchr(" \t", value[value_bytes - 1]) != NULL) {
        value_bytes--;
    }
    *colon = '\0';
    value[value_bytes] = '\0';
    request->headers[request->header_count++] = (struct http_request_header){line, value};
    return HTTP_REQUEST_WHOLE;
}

const char *http_request_header(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcasecmp(request->headers[i].name, name) == 0) {
            return request->headers[i].value;
        }
    }
    return NULL;
}

static size_t count_headers(const struct http_request *request, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < request->header_count; i++) {
        count += strcasecmp(request->headers[i].name, name) == 0;
    }
    return count;
}

/* Does the list, "keep-alive, TE" say, have the word? */
static bool has_word(const char *list, const char *word)
{
    size_t word_bytes = strlen(word);
    while (*list != '\0') {
        list += strspn(list, ", \t");
        size_t item_bytes = strcspn(list, ", \t");
        if (item_bytes == word_bytes && strncasecmp(list, word, word_bytes) == 0) {
            return true;
        }
        list += item_bytes;
    }
    return false;
}

/* What the headers say of connection and body.  Who asks for which machine must be clear. */
static uint16_t take_headers(struct http_request *request)
{
    const char *connection = http_request_header(request, "Connection");
    const char *length = http_request_header(request, "Content-Length");
    size_t hosts = count_headers(request, "Host");

    if (hosts > 1 || (hosts == 0 && request->keeps_open)) {
        return 400; /* before anything else keeps_open says that it is of version 1.1 */
    }
    if (connection != NULL) {
        request->keeps_open = !has_word(connection, "close") &&
                              (request->keeps_open || has_word(connection, "keep-alive"));
    }
    request->has_body = (length != NULL && strcmp(length, "0") != 0) ||
                        http_request_header(request, "Transfer-Encoding") != NULL;
    return HTTP_REQUEST_WHOLE;
}

uint16_t http_request_parse(char *text, size_t size_bytes, struct http_request *ret_request)
{
    bool good = true;
    size_t head_bytes = find_end(text, size_bytes, &good);
    if (!good) {
        return 400;
    }
    if (head_bytes == 0) {
        return size_bytes >= HTTP_HEAD_BYTES_MAX ? 431 : HTTP_REQUEST_MORE;
    }
    text[head_bytes - 2] = '\0'; /* of the empty line, which is none of the headers */
    *ret_request = (struct http_request){.head_bytes = head_bytes};
    uint16_t status = parse_first_line(cut_line(&text), ret_request);
    while (status == HTTP_REQUEST_WHOLE && *text != '\0') {
        status = parse_header(cut_line(&text), ret_request);
    }
    return status == HTTP_REQUEST_WHOLE ? take_headers(ret_request) : status;
}
