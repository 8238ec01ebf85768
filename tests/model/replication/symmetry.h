/*
 * Servers are alike, so many states differ only in their numbers: which of them stands for all.  It is for the
 * checker that Spin makes of replication.pml, whose state is `now`.  What is added there by server is added here.
 */
#define SERVERS      3
#define LOG_ENTRIES  5
#define VERSIONS_MAX 8

typedef unsigned char byte_type;

/* By server: something about it. */
static byte_type *const FIELDS[] = {
    now.version,  now.clean,          now.synced,   now.committed, now.noted,  now.counted,
    now.up,       now.appended,       now.attached, now.away,      now.reigns, now.yielded,
    now.waiting,  now.split_proposed, now.cached,   now.proposed,  now.base,   now.next_child,
#ifdef STORE_LAGS
    now.shown,
#endif
#ifdef OLD_DISK
    now.doubtful, now.borne,          now.asks,
#endif
};
/* By server: a set of servers. */
static byte_type *const SETS[] = {now.opened, now.joining, now.doubt, now.next_members};
/* By two servers. */
static byte_type *const MATRICES[] = {
    now.has,  now.held, now.grace, now.beacon,
#ifdef EXCEPTIONS
    now.shut,
#endif
};

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof *(array)))

static unsigned long mixed(unsigned long hash, unsigned long value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ul;
    return hash ^ (hash >> 29);
}

/* What can be said of server s without the number of any. */
static unsigned long key_of(int s)
{
    unsigned long key = 1;
    for (int i = 0; i < COUNT_OF(FIELDS); i++) {
        key = mixed(key, FIELDS[i][s]);
    }
    for (int i = 0; i < LOG_ENTRIES; i++) {
        key = mixed(key, now.entry[s * LOG_ENTRIES + i]);
    }
    for (int i = 0; i < COUNT_OF(SETS); i++) {
        key = mixed(key, __builtin_popcount(SETS[i][s]) * 2 + (SETS[i][s] >> s & 1));
    }
    for (int v = 0; v < VERSIONS_MAX; v++) {
        key = mixed(key,
                    (now.members[v] >> s & 1) * 2 + (now.members[v] != 0 && now.leader[v] == s));
    }
    key = mixed(key, now.proposed[s] && now.next_leader[s] == s);
    key = mixed(key, now.yield_sent && now.yield_to == s);
#ifdef OLD_DISK
    key = mixed(key, now.victim == s);
#endif
#ifdef READER
    key = mixed(key, now.reading && now.reader == s);
#endif
    return key;
}

static unsigned long key_between(unsigned long key, int s, int t)
{
    for (int i = 0; i < COUNT_OF(MATRICES); i++) {
        key = mixed(key, MATRICES[i][s * SERVERS + t] << 8 | MATRICES[i][t * SERVERS + s]);
    }
    for (int i = 0; i < COUNT_OF(SETS); i++) {
        key = mixed(key, (SETS[i][s] >> t & 1) << 1 | (SETS[i][t] >> s & 1));
    }
    return mixed(key, now.proposed[s] && now.next_leader[s] == t);
}

static void swap_bytes(byte_type *a, byte_type *b)
{
    byte_type one = *a;
    *a = *b;
    *b = one;
}

static byte_type named(byte_type server, int a, int b)
{
    return server == a ? b : server == b ? a : server;
}

static byte_type set_named(byte_type set, int a, int b)
{
    return (set & ~(1 << a | 1 << b)) | (set >> a & 1) << b | (set >> b & 1) << a;
}

static void swap_servers(int a, int b)
{
    for (int i = 0; i < COUNT_OF(FIELDS); i++) {
        swap_bytes(&FIELDS[i][a], &FIELDS[i][b]);
    }
    for (int i = 0; i < LOG_ENTRIES; i++) {
        swap_bytes(&now.entry[a * LOG_ENTRIES + i], &now.entry[b * LOG_ENTRIES + i]);
    }
    for (int i = 0; i < COUNT_OF(SETS); i++) {
        swap_bytes(&SETS[i][a], &SETS[i][b]);
        for (int s = 0; s < SERVERS; s++) {
            SETS[i][s] = set_named(SETS[i][s], a, b);
        }
    }
    for (int i = 0; i < COUNT_OF(MATRICES); i++) {
        for (int s = 0; s < SERVERS; s++) {
            swap_bytes(&MATRICES[i][a * SERVERS + s], &MATRICES[i][b * SERVERS + s]);
        }
        for (int s = 0; s < SERVERS; s++) {
            swap_bytes(&MATRICES[i][s * SERVERS + a], &MATRICES[i][s * SERVERS + b]);
        }
    }
    for (int v = 0; v < VERSIONS_MAX; v++) {
        now.leader[v] = now.members[v] != 0 ? named(now.leader[v], a, b) : 0;
        now.members[v] = set_named(now.members[v], a, b);
    }
    swap_bytes(&now.next_leader[a], &now.next_leader[b]);
    for (int s = 0; s < SERVERS; s++) {
        now.next_leader[s] = now.proposed[s] ? named(now.next_leader[s], a, b) : 0;
    }
    now.yield_to = now.yield_sent ? named(now.yield_to, a, b) : 0;
#ifdef OLD_DISK
    now.victim = named(now.victim, a, b);
#endif
#ifdef READER
    now.reader = now.reading ? named(now.reader, a, b) : 0;
#endif
}

/* In ascending order of their keys; two that are alike in all that may stay as they are. */
static void canonical(void)
{
    unsigned long own[SERVERS], key[SERVERS];
    for (int s = 0; s < SERVERS; s++) {
        own[s] = key_of(s);
    }
    for (int s = 0; s < SERVERS; s++) {
        int t = (s + 1) % SERVERS, u = (s + 2) % SERVERS;
        key[s] = mixed(own[s], key_between(own[t], s, t) + key_between(own[u], s, u));
    }
    for (int i = 0; i < SERVERS; i++) {
        int s = i == 1 ? 1 : 0;
        if (key[s] > key[s + 1]) {
            unsigned long one = key[s];
            key[s] = key[s + 1];
            key[s + 1] = one;
            swap_servers(s, s + 1);
        }
    }
}
