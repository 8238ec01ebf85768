#include "master/coordinator/etcd_client.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/assert.h"
#include "common/base/memory.h"
#include "common/io/clock.h"
#include "common/io/transport/transport.h"
#include "master/coordinator/etcd_codec.h"

#define MS_NS             INT64_C(1000000)
#define CONNECT_MS_MAX    1000
#define ROUND_PAUSE_US    50000
#define SLICE_US          10000
#define URL_BYTES_MAX     (ETCD_ENDPOINT_BYTES_MAX + 64)
#define BETWEEN_ENDPOINTS ", \t"

struct etcd_client {
    CURL *curl;
    struct curl_slist *headers;
    char endpoints[ETCD_ENDPOINTS_MAX][ETCD_ENDPOINT_BYTES_MAX + 1];
    uint32_t endpoint_count;
    uint32_t endpoint; /* the one that answered last, or is next */
    atomic_bool cancelled;
    struct buffer *answer; /* of the question that is out */
    bool too_long;         /* that answer is */
    uint32_t sent;         /* copies of it: curl sends another where a kept connection has died */
    char curl_text[CURL_ERROR_SIZE];
};

/* --- endpoints ---------------------------------------------------------------------------------- */

/* The host and port of "http://127.0.0.1:2379" as an address that transport_address.h can judge. */
static bool is_on_this_machine(const char *endpoint)
{
    char address[ETCD_ENDPOINT_BYTES_MAX + 8];
    (void)snprintf(address, sizeof address, "tcp://%s", strstr(endpoint, "://") + 3);
    return transport_address_is_local(address);
}

static enum status check_endpoint(const char *endpoint, bool insecure, struct error *ret_error)
{
    bool encrypted = strncmp(endpoint, "https://", 8) == 0;
    const char *host = strstr(endpoint, "://");
    if ((!encrypted && strncmp(endpoint, "http://", 7) != 0) || host[3] == '\0' ||
        strpbrk(host + 3, "/?#@\"\\") != NULL) {
        return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                         "\"%s\" is no endpoint of etcd: use http://HOST:PORT or https://HOST:PORT",
                         endpoint);
    }
    if (!encrypted && !insecure && !is_on_this_machine(endpoint)) {
        return error_set(ret_error, STATUS_FAILED_PRECONDITION,
                         "%s is on another machine: use https:// and etcd.ca, etcd.certificate, "
                         "etcd.key, or set insecure = true if this network is trusted",
                         endpoint);
    }
    return STATUS_OK;
}

static enum status read_endpoints(const char *text,
                                  bool insecure,
                                  char ret_endpoints[][ETCD_ENDPOINT_BYTES_MAX + 1],
                                  uint32_t *ret_count,
                                  struct error *ret_error)
{
    uint32_t count = 0;
    for (const char *at = text + strspn(text, BETWEEN_ENDPOINTS); *at != '\0';) {
        size_t length = strcspn(at, BETWEEN_ENDPOINTS);
        if (length > ETCD_ENDPOINT_BYTES_MAX || count == ETCD_ENDPOINTS_MAX) {
            return error_set(ret_error, STATUS_INVALID_ARGUMENT,
                             "more than %d endpoints of etcd, or one of more than %d bytes",
                             ETCD_ENDPOINTS_MAX, ETCD_ENDPOINT_BYTES_MAX);
        }
        char *endpoint = ret_endpoints[count++];
        memcpy(endpoint, at, length);
        endpoint[length] = '\0';
        enum status status = check_endpoint(endpoint, insecure, ret_error);
        if (status != STATUS_OK) {
            return status;
        }
        at += length;
        at += strspn(at, BETWEEN_ENDPOINTS);
    }
    *ret_count = count;
    return count > 0
               ? STATUS_OK
               : error_set(ret_error, STATUS_INVALID_ARGUMENT, "no endpoint of etcd is given");
}

enum status etcd_endpoints_check(const char *endpoints, bool insecure, struct error *ret_error)
{
    char list[ETCD_ENDPOINTS_MAX][ETCD_ENDPOINT_BYTES_MAX + 1];
    uint32_t count = 0;
    return read_endpoints(endpoints, insecure, list, &count, ret_error);
}

/* --- curl ---------------------------------------------------------------------------------------- */

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;
static CURLcode curl_ready;

static void prepare_curl(void)
{
    curl_ready = curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* Short of what came: curl ends the transfer. */
static size_t on_answer(char *data, size_t one, size_t size_bytes, void *context)
{
    struct etcd_client *client = context;
    (void)one;
    client->too_long = client->answer->size_bytes + size_bytes > ETCD_ANSWER_BYTES_MAX;
    if (client->too_long) {
        return 0;
    }
    buffer_append(client->answer, data, size_bytes);
    return client->answer->failed ? 0 : size_bytes;
}

/* A connection is there, and the question is about to go out on it. */
static int on_send(void *context, char *to, char *from, int to_port, int from_port)
{
    struct etcd_client *client = context;
    (void)to;
    (void)from;
    (void)to_port;
    (void)from_port;
    client->sent += 1;
    return CURL_PREREQFUNC_OK;
}

static int on_progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct etcd_client *client = context;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return atomic_load(&client->cancelled);
}

static bool set_up_transfers(struct etcd_client *client)
{
    CURL *curl = client->curl;
    return curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_HTTPHEADER, client->headers) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, client->curl_text) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_answer) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEDATA, client) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, on_send) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_PREREQDATA, client) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_XFERINFODATA, client) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L) == CURLE_OK;
}

static bool set_file(CURL *curl, CURLoption option, const char *path)
{
    return path[0] == '\0' || curl_easy_setopt(curl, option, path) == CURLE_OK;
}

static enum status check_file(const char *path, const char *what, struct error *ret_error)
{
    return path[0] == '\0' || access(path, R_OK) == 0
               ? STATUS_OK
               : error_set(ret_error, STATUS_INVALID_ARGUMENT, "%s: cannot read %s", what, path);
}

static enum status set_up_tls(struct etcd_client *client,
                              const struct etcd_settings *settings,
                              struct error *ret_error)
{
    CURL *curl = client->curl;
    enum status status = check_file(settings->ca, "etcd.ca", ret_error);
    if (status == STATUS_OK) {
        status = check_file(settings->certificate, "etcd.certificate", ret_error);
    }
    if (status == STATUS_OK) {
        status = check_file(settings->key, "etcd.key", ret_error);
    }
    if (status != STATUS_OK) {
        return status;
    }
    bool good = curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
                curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
                set_file(curl, CURLOPT_CAINFO, settings->ca) &&
                set_file(curl, CURLOPT_SSLCERT, settings->certificate) &&
                set_file(curl, CURLOPT_SSLKEY, settings->key);
    return good ? STATUS_OK : error_set(ret_error, STATUS_NO_MEMORY, "no memory for TLS to etcd");
}

/* --- opening ------------------------------------------------------------------------------------ */

/* Bytes go as they are, without waiting for leave ("Expect: 100-continue"). */
static bool make_headers(struct etcd_client *client)
{
    client->headers = curl_slist_append(NULL, "Content-Type: application/json");
    struct curl_slist *longer = client->headers == NULL
                                    ? NULL
                                    : curl_slist_append(client->headers, "Expect:");
    return longer != NULL;
}

enum status etcd_client_open(const struct etcd_settings *settings,
                             struct etcd_client **ret_client,
                             struct error *ret_error)
{
    (void)pthread_once(&curl_once, prepare_curl);
    struct etcd_client *client = memory_allocate_zeroed(1, sizeof *client);
    if (client == NULL) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for a client of etcd");
    }
    enum status status = read_endpoints(settings->endpoints, true, client->endpoints,
                                        &client->endpoint_count, ret_error);
    if (status == STATUS_OK) {
        client->curl = curl_ready == CURLE_OK ? curl_easy_init() : NULL;
        if (client->curl == NULL || !make_headers(client) || !set_up_transfers(client)) {
            status = error_set(ret_error, STATUS_NO_MEMORY, "no memory for a client of etcd");
        }
    }
    if (status == STATUS_OK) {
        status = set_up_tls(client, settings, ret_error);
    }
    if (status != STATUS_OK) {
        etcd_client_close(client);
        return status;
    }
    *ret_client = client;
    return STATUS_OK;
}

void etcd_client_close(struct etcd_client *client)
{
    if (client == NULL) {
        return;
    }
    curl_easy_cleanup(client->curl);
    curl_slist_free_all(client->headers);
    memory_free(client);
}

uint32_t etcd_client_endpoint(const struct etcd_client *client)
{
    return client->endpoint;
}

void etcd_client_begin_at(struct etcd_client *client, uint32_t endpoint)
{
    ASSERT(endpoint < client->endpoint_count);
    client->endpoint = endpoint;
}

void etcd_client_cancel(struct etcd_client *client)
{
    atomic_store(&client->cancelled, true);
}

/* --- asking ------------------------------------------------------------------------------------- */

static enum status perform(struct etcd_client *client, bool *ret_in_doubt, struct error *ret_error)
{
    const char *endpoint = client->endpoints[client->endpoint];
    long http_status = 0;

    client->curl_text[0] = '\0';
    client->too_long = false;
    client->sent = 0;
    CURLcode code = curl_easy_perform(client->curl);
    if (client->answer->failed) {
        *ret_in_doubt = true;
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory for etcd's answer");
    }
    /* Of several copies the last one was answered, if any was. */
    *ret_in_doubt |= client->sent > (code == CURLE_OK ? 1U : 0U);
    if (client->too_long) {
        return error_set(ret_error, STATUS_LIMIT, "etcd at %s: its answer has more than %llu bytes",
                         endpoint, (unsigned long long)ETCD_ANSWER_BYTES_MAX);
    }
    if (code != CURLE_OK) {
        return error_set(ret_error, STATUS_UNAVAILABLE, "etcd at %s: %.200s", endpoint,
                         client->curl_text[0] != '\0' ? client->curl_text
                                                      : curl_easy_strerror(code));
    }
    if (curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &http_status) == CURLE_OK &&
        http_status == 200) {
        return STATUS_OK;
    }
    enum status status = etcd_refusal_decode(buffer_bytes(client->answer), http_status, ret_error);
    *ret_in_doubt |= status == STATUS_UNAVAILABLE;
    (void)error_prefix(ret_error, "etcd at %s", endpoint);
    return status;
}

/* To the member whose turn it is. */
static enum status attempt(struct etcd_client *client,
                           const char *path,
                           const struct buffer *question,
                           int64_t timeout_ms,
                           bool *ret_in_doubt,
                           struct error *ret_error)
{
    char url[URL_BYTES_MAX];
    CURL *curl = client->curl;
    int64_t connect_ms = timeout_ms < CONNECT_MS_MAX ? timeout_ms : CONNECT_MS_MAX;

    (void)snprintf(url, sizeof url, "%s%s", client->endpoints[client->endpoint], path);
    if (curl_easy_setopt(curl, CURLOPT_URL, url) != CURLE_OK ||
        curl_easy_setopt(curl, CURLOPT_POST, 1L) != CURLE_OK ||
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, (const char *)question->data) != CURLE_OK ||
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)question->size_bytes) !=
            CURLE_OK ||
        curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)timeout_ms) != CURLE_OK ||
        curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms) != CURLE_OK) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to ask etcd");
    }
    buffer_reset(client->answer);
    return perform(client, ret_in_doubt, ret_error);
}

static void pause_until(const struct etcd_client *client, int64_t until_ns)
{
    while (clock_monotonic_ns() < until_ns && !atomic_load(&client->cancelled)) {
        clock_sleep_us(SLICE_US);
    }
}

enum status etcd_client_ask(struct etcd_client *client,
                            const char *path,
                            const struct buffer *question,
                            const struct etcd_patience *patience,
                            struct buffer *ret_answer,
                            bool *ret_in_doubt,
                            struct error *ret_error)
{
    int64_t end_ns = clock_monotonic_ns() + patience->total_ms * MS_NS;
    enum status status = STATUS_UNAVAILABLE;

    *ret_in_doubt = false;
    client->answer = ret_answer;
    if (question->failed) {
        return error_set(ret_error, STATUS_NO_MEMORY, "no memory to ask etcd");
    }
    (void)error_set(ret_error, status, "etcd was not asked: no time was left");
    for (uint32_t attempts = 1; !atomic_load(&client->cancelled); attempts++) {
        int64_t left_ms = (end_ns - clock_monotonic_ns()) / MS_NS;
        if (left_ms <= 0) {
            return status;
        }
        int64_t timeout_ms = left_ms < patience->attempt_ms ? left_ms : patience->attempt_ms;
        status = attempt(client, path, question, timeout_ms, ret_in_doubt, ret_error);
        if (status == STATUS_OK && ret_error != NULL) {
            error_clear(ret_error); /* of earlier attempts */
        }
        if (status != STATUS_UNAVAILABLE) {
            return status;
        }
        client->endpoint = (client->endpoint + 1) % client->endpoint_count;
        if (attempts % client->endpoint_count == 0) {
            pause_until(client, clock_monotonic_ns() + ROUND_PAUSE_US * 1000);
        }
    }
    return error_set(ret_error, STATUS_CANCELLED, "etcd is not waited for any more");
}
