/*
 * relay CONTROL NAMESPACE...: a slow and lossy network between network namespaces, for kernels without
 * netem.  In each namespace it opens a TUN device `slow0`; a packet that comes out of one goes into that
 * whose number its destination names (address 10.77.0.10 + number), later, or never.  The devices, and so
 * the routes through them, are gone when it ends.
 *
 *   CONTROL   a file with "DELAY_MS JITTER_MS LOSS_PERCENT", one way, read once a second.  Jitter comes
 *             out for each packet by itself, so packets overtake each other
 *
 * Prints READY when all devices are there.  Packets on their way are bounded; what comes on top is lost,
 * as in any router.
 */
#define _GNU_SOURCE /* setns */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define HOSTS_MAX     16
#define ADDRESS_FIRST 10
#define PACKET_BYTES  2048 /* the devices' MTU is 1 500 */
#define PACKETS_MAX   8192

struct packet {
    uint64_t due_ns;
    uint64_t number; /* what is due at one time goes in the order it came */
    size_t size;
    int to;
    uint8_t data[PACKET_BYTES];
};

static struct {
    const char *control;
    int hosts;
    int devices[HOSTS_MAX];
    struct packet packets[PACKETS_MAX];
    int heap[PACKETS_MAX]; /* earliest first */
    int spare[PACKETS_MAX];
    int waiting;
    int spare_count;
    uint64_t number;
    double delay_ms;
    double jitter_ms;
    double loss_percent;
    uint64_t random;
} relay;

static volatile sig_atomic_t ending;

static void on_signal(int number)
{
    (void)number;
    ending = 1;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* In [0, 1). */
static double chance(void)
{
    relay.random ^= relay.random << 13;
    relay.random ^= relay.random >> 7;
    relay.random ^= relay.random << 17;
    return (double)(relay.random >> 11) / 9007199254740992.0;
}

/* --- packets on their way ------------------------------------------------------------------------- */

static bool is_before(int a, int b)
{
    const struct packet *x = &relay.packets[a];
    const struct packet *y = &relay.packets[b];
    return x->due_ns < y->due_ns || (x->due_ns == y->due_ns && x->number < y->number);
}

static void swap(int *a, int *b)
{
    int kept = *a;
    *a = *b;
    *b = kept;
}

static void push(int packet)
{
    int at = relay.waiting++;
    relay.heap[at] = packet;
    while (at > 0 && is_before(relay.heap[at], relay.heap[(at - 1) / 2])) {
        swap(&relay.heap[at], &relay.heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static int pop(void)
{
    int packet = relay.heap[0];
    int at = 0;
    relay.heap[0] = relay.heap[--relay.waiting];
    for (;;) {
        int least = at;
        for (int child = 2 * at + 1; child <= 2 * at + 2; child++) {
            if (child < relay.waiting && is_before(relay.heap[child], relay.heap[least])) {
                least = child;
            }
        }
        if (least == at) {
            return packet;
        }
        swap(&relay.heap[at], &relay.heap[least]);
        at = least;
    }
}

/* --- devices ------------------------------------------------------------------------------------ */

static void open_device(int host, const char *name)
{
    char path[256];
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    (void)snprintf(path, sizeof path, "/run/netns/%s", name);
    int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0) {
        perror(path);
        exit(1);
    }
    (void)close(space);
    memcpy(request.ifr_name, "slow0", sizeof "slow0");
    relay.devices[host] = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (relay.devices[host] < 0 || ioctl(relay.devices[host], TUNSETIFF, &request) != 0) {
        perror("/dev/net/tun");
        exit(1);
    }
}

/* IPv4, to one of our hosts; -1: not for us. */
static int destination(const uint8_t *data, ssize_t size)
{
    int host = size >= 20 && data[0] >> 4 == 4 ? data[19] - ADDRESS_FIRST : -1;
    return host >= 0 && host < relay.hosts ? host : -1;
}

static void take(int host, uint64_t now)
{
    while (relay.spare_count > 0) {
        int index = relay.spare[relay.spare_count - 1];
        struct packet *packet = &relay.packets[index];
        ssize_t size = read(relay.devices[host], packet->data, sizeof packet->data);
        if (size <= 0) {
            return;
        }
        packet->to = destination(packet->data, size);
        if (packet->to < 0 || chance() * 100 < relay.loss_percent) {
            continue;
        }
        packet->size = (size_t)size;
        packet->number = relay.number++;
        packet->due_ns = now + (uint64_t)((relay.delay_ms + chance() * relay.jitter_ms) * 1e6);
        relay.spare_count -= 1;
        push(index);
    }
    uint8_t lost[PACKET_BYTES];
    while (read(relay.devices[host], lost, sizeof lost) > 0) {
    }
}

static void deliver(uint64_t now)
{
    while (relay.waiting > 0 && relay.packets[relay.heap[0]].due_ns <= now) {
        int index = pop();
        const struct packet *packet = &relay.packets[index];
        /* A device that is full loses it. */
        (void)!write(relay.devices[packet->to], packet->data, packet->size);
        relay.spare[relay.spare_count++] = index;
    }
}

static void read_control(void)
{
    FILE *file = fopen(relay.control, "re");
    double delay = 0;
    double jitter = 0;
    double loss = 0;
    if (file != NULL) {
        if (fscanf(file, "%lf %lf %lf", &delay, &jitter, &loss) == 3) {
            relay.delay_ms = delay;
            relay.jitter_ms = jitter;
            relay.loss_percent = loss;
        }
        (void)fclose(file);
    }
}

static int wait_ms(uint64_t now)
{
    if (relay.waiting == 0) {
        return 200;
    }
    uint64_t due = relay.packets[relay.heap[0]].due_ns;
    uint64_t left_ms = due > now ? (due - now) / 1000000 + 1 : 0;
    return left_ms < 200 ? (int)left_ms : 200;
}

int main(int argument_count, char **arguments)
{
    struct pollfd polled[HOSTS_MAX];
    if (argument_count < 3 || argument_count - 2 > HOSTS_MAX) {
        fprintf(stderr, "usage: relay CONTROL NAMESPACE...\n");
        return 2;
    }
    relay.control = arguments[1];
    relay.hosts = argument_count - 2;
    relay.random = now_ns() | 1;
    (void)signal(SIGTERM, on_signal);
    for (int i = 0; i < PACKETS_MAX; i++) {
        relay.spare[relay.spare_count++] = i;
    }
    for (int i = 0; i < relay.hosts; i++) {
        open_device(i, arguments[2 + i]);
        polled[i] = (struct pollfd){.fd = relay.devices[i], .events = POLLIN};
    }
    read_control();
    printf("READY\n");
    (void)fflush(stdout);
    uint64_t looked_ns = now_ns();
    while (!ending) {
        (void)poll(polled, (nfds_t)relay.hosts, wait_ms(now_ns()));
        uint64_t now = now_ns();
        for (int i = 0; i < relay.hosts; i++) {
            take(i, now);
        }
        deliver(now_ns());
        if (now - looked_ns > 1000000000) {
            looked_ns = now;
            read_control();
        }
    }
    return 0;
}
