/*
 * A hostile client that asks for large rows over many connections and takes nothing of what it gets:
 *
 *   limits_hoard MASTER TABLE CONNECTIONS
 *
 * Writes a row "hoard" of 50 MiB, has it read and scanned twice on each connection, prints
 * "holding" and waits for the end of its standard input with all connections open.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "tests/support/find_table.h"

#define ROW_BYTES            ((size_t)50 << 20)
#define REQUESTS_OF_A_KIND   2
#define CONNECTION_COUNT_MAX 200

static struct found_table table;
static struct error error;

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "limits_hoard: %s: %s\n", what, error.text);
    exit(1);
}

static struct operation operation_of(enum operation_kind kind)
{
    return (struct operation){.kind = kind, .table = table.number, .row = bytes_of_text("hoard")};
}

static void write_row(void)
{
    uint8_t *value = memory_allocate_zeroed(1, ROW_BYTES);
    struct mutation set = {.kind = MUTATION_SET_CELL,
                           .family = bytes_of_text("f"),
                           .qualifier = bytes_of_text("c"),
                           .value = bytes_of(value, ROW_BYTES)};
    struct operation write = operation_of(OPERATION_MUTATE);
    write.mutations = &set;
    write.mutation_count = 1;
    struct operations_request request = {.operations = &write, .operation_count = 1};
    struct blocking_client client;
    struct buffer body = BUFFER_INIT;
    struct bytes answer;

    operations_request_encode(&request, &body);
    if (value == NULL || blocking_open(&client, table.address) != STATUS_OK ||
        blocking_call(&client, METHOD_OPERATIONS, &body, 30000, &answer, &error) != STATUS_OK) {
        die("cannot write the row");
    }
    blocking_close(&client);
    memory_free(value);
}

/* --- raw frames: a connection of ours would read what comes --------------------------------------- */

static void send_frame(int raw, struct frame_header header, struct buffer *payload)
{
    uint8_t head[FRAME_HEADER_BYTES];
    header.payload_bytes = (uint32_t)payload->size_bytes;
    frame_header_encode(&header, buffer_bytes(payload), head);
    if (send(raw, head, sizeof head, MSG_NOSIGNAL) != (ssize_t)sizeof head ||
        send(raw, payload->data, payload->size_bytes, MSG_NOSIGNAL) !=
            (ssize_t)payload->size_bytes) {
        die("send");
    }
    buffer_deinit(payload);
}

static int open_raw(void)
{
    const char *colon = strrchr(table.address, ':');
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(colon + 1)),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct hello hello = {.version_oldest = WIRE_VERSION_OLDEST,
                          .version_newest = WIRE_VERSION,
                          .lane = LANE_READ,
                          .agent = bytes_of_text("hoarder")};
    struct frame_header header;
    struct buffer message = BUFFER_INIT;
    uint8_t head[FRAME_HEADER_BYTES];
    uint8_t payload[4096];
    int raw = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (raw < 0 || connect(raw, (struct sockaddr *)&to, sizeof to) != 0) {
        die("connect");
    }
    hello_encode(&hello, &message);
    send_frame(raw, (struct frame_header){.type = FRAME_HELLO}, &message);
    if (recv(raw, head, sizeof head, MSG_WAITALL) != (ssize_t)sizeof head ||
        frame_header_decode(head, &header, &error) != STATUS_OK || header.type != FRAME_HELLO_ACK ||
        header.payload_bytes > sizeof payload ||
        recv(raw, payload, header.payload_bytes, MSG_WAITALL) != (ssize_t)header.payload_bytes) {
        die("no greeting");
    }
    return raw;
}

static void ask(int raw, uint64_t request)
{
    struct operation read = operation_of(OPERATION_READ);
    struct operations_request operations = {.operations = &read, .operation_count = 1};
    struct row_range all = {BYTES_EMPTY, BYTES_EMPTY};
    struct scan_request scan = {
        .table = table.number, .rows = &all, .row_range_count = 1, .credit_bytes = 1 << 30};
    bool is_scan = request % 2 == 0;
    struct buffer message = BUFFER_INIT;

    request_head_encode(&(struct request_head){.trace = request}, &message);
    if (is_scan) {
        scan_request_encode(&scan, &message);
    } else {
        operations_request_encode(&operations, &message);
    }
    send_frame(raw,
               (struct frame_header){.type = FRAME_REQUEST,
                                     .method = is_scan ? METHOD_SCAN : METHOD_OPERATIONS,
                                     .request = request},
               &message);
}

int main(int count, char **arguments)
{
    int connections = count == 4 ? atoi(arguments[3]) : 0;
    if (connections < 1 || connections > CONNECTION_COUNT_MAX) {
        fputs("usage: limits_hoard MASTER TABLE CONNECTIONS\n", stderr);
        return 2;
    }
    if (find_table(arguments[1], arguments[2], &table, &error) != STATUS_OK) {
        die(arguments[2]);
    }
    write_row();
    for (int i = 0; i < connections; i++) {
        int raw = open_raw();
        for (uint64_t request = 1; request <= 2 * REQUESTS_OF_A_KIND; request++) {
            ask(raw, request);
        }
    }
    puts("holding");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    return 0; /* with all connections */
}
