/*
 * Clients that ask and never read: plain sockets that shake hands, then send reads and scans with
 * credit without end for as long as anything can be sent, and take nothing off the wire.  What the
 * server does with the answers is its own affair; it must not be all of its memory.
 *
 *   never_read ADDRESS COUNT ROWS       until it is killed; says "ready" when all have connected
 *
 * The rows asked for are edubba-load's ordered ones, of the first table.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/buffer.h"
#include "common/base/prng.h"
#include "common/wire/frame.h"
#include "common/wire/message.h"
#include "tests/bench/raw/raw.h"

#define FIRST_TABLE       1
#define READS_A_REQUEST   256
#define CLIENTS_MAX       1000
#define RECEIVE_BYTES     4096 /* of the kernel's own, at the least it does */
#define SCAN_CREDIT_BYTES (UINT64_C(1) << 40)
#define SEND_BYTES        65536 /* requests so large together go out at once */
#define PAUSE_MS          10

struct idler {
    int socket;
    uint64_t request;
    struct buffer message; /* frame under way */
    size_t sent;
};

static struct sockaddr_in address_of(const char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    const char *host = strncmp(text, "tcp://", 6) == 0 ? text + 6 : text;
    const char *colon = strrchr(host, ':');
    if (colon == NULL) {
        raw_fail(text, "tcp://HOST:PORT");
    }
    address.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* Behind what is in out. */
static void put_frame(struct buffer *out, struct frame_header header, const struct buffer *payload)
{
    uint8_t bytes[FRAME_HEADER_BYTES];
    header.payload_bytes = (uint32_t)payload->size_bytes;
    frame_header_encode(&header, buffer_bytes(payload), bytes);
    buffer_append(out, bytes, sizeof bytes);
    buffer_append_bytes(out, buffer_bytes(payload));
}

static void must(bool good, const char *what)
{
    if (!good) {
        raw_fail(what, strerror(errno));
    }
}

static void shake_hands(struct idler *idler, struct prng *prng)
{
    struct buffer payload = BUFFER_INIT;
    struct hello hello = {.version_oldest = WIRE_VERSION,
                          .version_newest = WIRE_VERSION,
                          .lane = LANE_READ,
                          .agent = bytes_of_text("never_read"),
                          .process = prng_next(prng)};
    uint8_t header[FRAME_HEADER_BYTES];
    uint8_t answer[4096];
    struct frame_header decoded;
    hello_encode(&hello, &payload);
    put_frame(&idler->message, (struct frame_header){.type = FRAME_HELLO}, &payload);
    buffer_deinit(&payload);
    ssize_t size = (ssize_t)idler->message.size_bytes;
    must(send(idler->socket, idler->message.data, (size_t)size, 0) == size, "send");
    must(recv(idler->socket, header, sizeof header, MSG_WAITALL) == sizeof header, "handshake");
    must(frame_header_decode(header, &decoded, NULL) == STATUS_OK &&
             decoded.payload_bytes <= sizeof answer,
         "handshake");
    must(recv(idler->socket, answer, decoded.payload_bytes, MSG_WAITALL) ==
             (ssize_t)decoded.payload_bytes,
         "handshake");
    buffer_reset(&idler->message);
}

static void idler_open(struct idler *idler, const char *text, struct prng *prng)
{
    struct sockaddr_in address = address_of(text);
    int bytes = RECEIVE_BYTES;
    idler->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(idler->socket >= 0, "socket");
    (void)setsockopt(idler->socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    must(connect(idler->socket, (struct sockaddr *)&address, sizeof address) == 0, text);
    shake_hands(idler, prng);
    must(fcntl(idler->socket, F_SETFL, O_NONBLOCK) == 0, "fcntl");
}

/* Half of the clients read rows, half scan. */
static enum method put_body(struct buffer *payload, bool scans, uint64_t rows, struct prng *prng)
{
    struct request_head head = {.trace = 1};
    static uint8_t keys[READS_A_REQUEST][LOAD_ROW_KEY_BYTES_MAX];
    static struct operation operations[READS_A_REQUEST];
    request_head_encode(&head, payload);
    if (scans) {
        static const struct row_range whole;
        struct scan_request scan = {.table = FIRST_TABLE,
                                    .rows = &whole,
                                    .row_range_count = 1,
                                    .credit_bytes = SCAN_CREDIT_BYTES};
        scan_request_encode(&scan, payload);
        return METHOD_SCAN;
    }
    for (size_t i = 0; i < READS_A_REQUEST; i++) {
        size_t size = load_row_key(LOAD_KEY_ORDERED, 1, prng_below(prng, rows), keys[i]);
        operations[i] = (struct operation){
            .kind = OPERATION_READ, .table = FIRST_TABLE, .row = {keys[i], size}};
    }
    struct operations_request request = {.operations = operations,
                                         .operation_count = READS_A_REQUEST};
    operations_request_encode(&request, payload);
    return METHOD_OPERATIONS;
}

/* The next requests, as many as go out at once: to make them must not cost the machine more than
 * the server needs to refuse them. */
static void put_requests(struct idler *idler, bool scans, uint64_t rows, struct prng *prng)
{
    struct buffer payload = BUFFER_INIT;
    buffer_reset(&idler->message);
    idler->sent = 0;
    while (idler->message.size_bytes < SEND_BYTES) {
        buffer_reset(&payload);
        enum method method = put_body(&payload, scans, rows, prng);
        put_frame(&idler->message,
                  (struct frame_header){.type = FRAME_REQUEST,
                                        .method = (uint16_t)method,
                                        .request = ++idler->request},
                  &payload);
    }
    buffer_deinit(&payload);
}

/* Sends until nothing more goes in.  False: the server has closed the connection. */
static bool idler_ask(struct idler *idler, bool scans, uint64_t rows, struct prng *prng)
{
    for (;;) {
        if (idler->sent == idler->message.size_bytes) {
            put_requests(idler, scans, rows, prng);
        }
        ssize_t size = send(idler->socket, idler->message.data + idler->sent,
                            idler->message.size_bytes - idler->sent, MSG_NOSIGNAL);
        if (size < 0) {
            return errno == EAGAIN;
        }
        idler->sent += (size_t)size;
    }
}

int main(int argc, char **argv)
{
    static struct idler idlers[CLIENTS_MAX];
    struct prng prng = prng_of_seed(1);
    uint64_t count = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
    uint64_t rows = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
    if (count == 0 || count > CLIENTS_MAX || rows == 0) {
        raw_fail("never_read", "ADDRESS COUNT ROWS");
    }
    for (uint64_t i = 0; i < count; i++) {
        idler_open(&idlers[i], argv[1], &prng);
    }
    printf("ready\n");
    (void)fflush(stdout);
    uint64_t open = count;
    while (open > 0) {
        for (uint64_t i = 0; i < count; i++) {
            if (idlers[i].socket >= 0 && !idler_ask(&idlers[i], i % 2 == 1, rows, &prng)) {
                (void)close(idlers[i].socket);
                idlers[i].socket = -1;
                open--;
                printf("closed %llu after %llu requests\n", (unsigned long long)i,
                       (unsigned long long)idlers[i].request);
                (void)fflush(stdout);
            }
        }
        (void)poll(NULL, 0, PAUSE_MS);
    }
    return 0;
}
