#include "client/cli/command.h"

#include <string.h>

#include "client/cli/escapes.h"
#include "client/cli/waiting.h"

#define NAME_BYTES_MAX 32
#define UNREACHABLE_MS 5000 /* a master that restarts is back by then */
#define LOOK_MS        5000

const struct command COMMANDS[] = {
    {"createtable",
     "TABLE [families=FAMILY[:RULE[:TYPE]],...] [splits=KEY,KEY,...] [replicas=N] [min-in-sync=N] "
     "[pinned=true]",
     "Create a table",
     "RULE is a garbage-collection rule as in setgcpolicy (empty: keep everything); TYPE is intsum, intmin,\n"
     "intmax, inthll or byteshll for a family of aggregate cells (none: plain cells).  replicas and\n"
     "min-in-sync are as in setreplication; not said, they are as the masters' configuration says.\n"
     "pinned is as in pin.\n"
     "  ebt createtable METRIC families=METRIC:maxage=14d,seen::inthll splits=h,p replicas=3",
     1, 6, run_createtable},
    {"deletetable", "TABLE", "Delete a table and all that is in it", "", 1, 1, run_deletetable},
    {"ls", "[TABLE]", "List tables, or the families of one", "  ebt ls\n  ebt ls METRIC", 0, 1,
     run_ls},
    {"createfamily", "TABLE FAMILY[:RULE[:TYPE]]", "Add a family to a table",
     "  ebt createfamily METRIC daily:maxversions=1\n  ebt createfamily METRIC hits::intsum", 2, 2,
     run_createfamily},
    {"deletefamily", "TABLE FAMILY", "Delete a family and all its cells", "", 2, 2,
     run_deletefamily},
    {"setgcpolicy", "TABLE FAMILY (maxage=AGE | maxversions=N) [(and|or) ...] | never",
     "Say which cells of a family are dropped",
     "AGE is a number with us, ms, s, m, h, d or w.  'and' drops what all rules drop, 'or' what any does;\n"
     "'never' keeps everything.\n"
     "  ebt setgcpolicy METRIC daily maxage=30d or maxversions=5",
     3, -1, run_setgcpolicy},
    {"setreplication", "TABLE [replicas=N] [min-in-sync=N]",
     "Say how many copies of a table there are, and with how few it is written to",
     "Each tablet has copies on N servers (1 to 6), one of them the primary.  A write is acknowledged when\n"
     "all copies that are in sync have it; with fewer than min-in-sync of them writes are refused and\n"
     "tried again, reads go on.  Three copies and two in sync outlive any one server.  What is not said\n"
     "stays.  Copies are made, or given up, after the answer: ebt tablets shows how far they are.\n"
     "  ebt setreplication METRIC replicas=3 min-in-sync=2",
     2, 3, run_setreplication},
    {"protect", "TABLE on|off", "Protect a table from being deleted, or no longer",
     "Nor is a family of it deleted.  Rows are, as of any other.", 2, 2, run_protect},
    {"pin", "TABLE on|off", "Leave a table as it is cut and placed, or no longer",
     "Nothing of a pinned table is split, merged or moved because of load.  It is split by size and by\n"
     "hand, and leaves servers that are drained or lost, as any other.",
     2, 2, run_pin},
    {"set", "TABLE ROW FAMILY:COLUMN=VALUE[@TIMESTAMP]...", "Write cells of one row",
     "TIMESTAMP is in microseconds since 1970, a multiple of 1000; without it, or with -1, the server's\n"
     "time is taken.  A number behind the last @ is always the TIMESTAMP; anything else behind it belongs\n"
     "to VALUE.  So a VALUE that ends in @ and digits needs a TIMESTAMP behind it: 'f:at=desk@12@-1'.\n"
     "  ebt set METRIC 'server1#1426535612045' METRIC:CPU/CPU1_USR=17.5 METRIC:IO/BLK_READ=253453634",
     3, -1, run_set},
    {"addtocell", "TABLE ROW FAMILY:COLUMN=NUMBER[@TIMESTAMP]...",
     "Add to aggregate cells of one row",
     "Cells of one column with different timestamps are different cells; use a fixed one (0, the start of a\n"
     "day) for a counter.  Without TIMESTAMP, or with -1, it is now, to the millisecond.  In a byteshll\n"
     "family any text may stand for NUMBER; one that ends in @ and digits needs a TIMESTAMP behind it.\n"
     "  ebt addtocell DONATIONS charity donations:spring=25@0",
     3, -1, run_addtocell},
    {"lookup", "TABLE ROW [columns=FAMILY:COLUMN,...] [cells-per-column=N] [keys-only=true]",
     "Read one row",
     "columns names columns as they are (FAMILY:COLUMN; COLUMN: of whatever family), or whole families\n"
     "(FAMILY:).\n"
     "  ebt lookup METRIC 'server1#1426535612045' columns=METRIC:CPU/CPU1_USR cells-per-column=1",
     2, -1, run_lookup},
    {"read",
     "TABLE [start=KEY] [end=KEY] [prefix=KEY] [regex=PATTERN] [columns=FAMILY:COLUMN,...] [count=N]\n"
     "     [cells-per-column=N] [reversed=true] [keys-only=true]",
     "Read rows in key order",
     "start is included, end is not.  regex is matched against whole row keys (RE2 syntax).  columns names\n"
     "columns as they are (FAMILY:COLUMN; COLUMN: of whatever family), or whole families (FAMILY:).\n"
     "  ebt read METRIC prefix=server1# reversed=true count=10",
     1, -1, run_read},
    {"count", "TABLE [prefix=KEY]", "Count rows", "", 1, 2, run_count},
    {"deleterow", "TABLE ROW", "Delete a row", "", 2, 2, run_deleterow},
    {"deletecolumn", "TABLE ROW FAMILY COLUMN", "Delete all cells of a column in one row", "", 4, 4,
     run_deletecolumn},
    {"deleteallrows", "TABLE [prefix=KEY]",
     "Delete all rows of a table, or all that begin with prefix",
     "Nothing is read: it is quick whatever the size.", 1, 2, run_deleteallrows},
    {"import",
     "TABLE FILE [column-family=FAMILY] [timestamp=now|value-encoded] [batch-size=N] [workers=N]",
     "Import a CSV file, or what `ebt export` wrote",
     "CSV: the first field of each line is the row key; the first line names families (unless\n"
     "column-family is given), the next one columns; a family stands for the fields after it until the\n"
     "next one.  An empty field is no cell.  value-encoded: fields are VALUE[@TIMESTAMP], read as by set.\n"
     "batch-size and workers are taken for cbt's sake: writes gather by themselves.  FILE may be\n"
     "/dev/stdin.\n"
     "An export is recognised by itself; its table is created if it is not there, with its families, in one\n"
     "tablet, with as many copies as the masters' configuration says (to have it otherwise: createtable\n"
     "first), and rows that it has are replaced.",
     2, -1, run_import},
    {"export", "TABLE [FILE]", "Write a whole table as JSON lines, exactly",
     "Timestamps, aggregate cells and sketches come back as they were with `ebt import`.  How the table was\n"
     "cut, how many copies it has, and whether it is protected or pinned is not in it.\n"
     "  ebt export METRIC metric.jsonl && ebt import COPY metric.jsonl",
     1, 2, run_export},
    {"checkandmutate",
     "TABLE ROW [columns=FAMILY:COLUMN,...] [true=FAMILY:COLUMN=VALUE]... [false=...]...",
     "Write one of two sets of cells, by whether the row has cells",
     "With columns: whether it has cells in one of these.  Prints which branch was taken.  VALUE is read\n"
     "as by set, with a TIMESTAMP behind @ if there is a number.\n"
     "  ebt checkandmutate USERS u17 columns=info:email false=info:state=new",
     3, -1, run_checkandmutate},
    {"readmodifywrite", "TABLE ROW FAMILY COLUMN (append=VALUE | increment=NUMBER)",
     "Append to a cell, or add to its 8-byte number, and print it", "", 5, 5, run_readmodifywrite},
    {"samplerowkeys", "TABLE", "Print keys that cut the table into about equal parts", "", 1, 1,
     run_samplerowkeys},
    {"tablets", "TABLE", "List a table's tablets and where their replicas are",
     "ADDRESS is the primary's.  IN-SYNC: how many replicas have all that was acknowledged, of how many\n"
     "there should be.  VERSION rises with each change of replicas or primary.  Where there are several\n"
     "replicas each has a line: primary, secondary, joins (it is being taught), leaves (when others are\n"
     "there), hands over (another one should lead), gone (its server is).  While no master answers, tablet\n"
     "servers tell who serves, and no more.",
     1, 1, run_tablets},
    {"split", "TABLE ROW", "Split a tablet, so that ROW begins a new one", "", 2, 2, run_split},
    {"merge", "TABLE ROW [--undo]",
     "Make one tablet of the one that begins with ROW and the one before it",
     "ROW is the boundary that goes: the first row of the right one of the two, as `ebt tablets TABLE` lists\n"
     "it first under ROWS.  No row is lost, and reads and writes go on.  It undoes a split:\n"
     "  ebt split METRIC m     ... | a to z |              ->  ... | a to m | m to z |\n"
     "  ebt merge METRIC m     ... | a to m | m to z |     ->  ... | a to z |\n"
     "The copies of both are brought to the same servers first, so it may take a while; when ebt gives up\n"
     "waiting for that (is ordered, but not carried out yet) it is done all the same.  --undo takes back what\n"
     "has not been done yet.  It takes servers with replicate = true.  What is hot the master may split\n"
     "again, unless the table is pinned: ebt help pin.",
     2, 3, run_merge},
    {"status", "", "Say how the cluster is, and whether it needs a person",
     "Masters, servers with their disks and zones, tables and tablets in numbers, and alarms: what does not\n"
     "go away by itself, and what to do about it.  Exit status 1 where there is an alarm, or no active\n"
     "master.  Copies that are being made again are a number and no alarm, as long as there are servers\n"
     "for them.",
     0, 0, run_status},
    {"servers", "", "List the tablet servers",
     "STATE is alive, gone (not heard of for some seconds), draining, or drained.  REPLICAS are those that\n"
     "count; PRIMARIES, how many of them lead.  Behind a line stands what is wrong with a server.",
     0, 0, run_servers},
    {"drain", "SERVER [--undo] [--no-wait]",
     "Move all replicas away from a server, before it is stopped for good",
     "SERVER is a number or an address of ebt servers; where several have the address, the one that is\n"
     "alive.  A few replicas move at a time, nothing new comes, and what is served goes on.  Waits until\n"
     "the server is empty, however long that takes (or for --timeout, exit status 1), and tells how far it\n"
     "is; --no-wait tells it once.  Stopped with Ctrl-C, draining goes on; --undo ends it, and what has\n"
     "moved stays where it is.  Replicas for which there is no other server stay, which it tells, as\n"
     "does ebt status: add one, or ask for fewer (setreplication).\n"
     "  ebt drain tcp://10.0.0.7:7401",
     1, 3, run_drain},
    {"recover", "[TABLET | TABLE] [--accept-data-loss [--store=STORE]]",
     "List tablets whose copies are lost, or take what a copy has, with what is lost",
     "A tablet is listed when nobody has led it for replication.replace_after (60 s), with all copies of\n"
     "which anything is known, the best first.  COMMITTED: of two copies, the one with the higher number\n"
     "has more.  Before all else, start the servers again that have members of it: then nothing is lost.\n"
     "--accept-data-loss makes the best copy (or that in STORE) the tablet.  What others had besides is\n"
     "gone for good, acknowledged or not; be certain that no server that had it still runs, cut off.  The\n"
     "catalog keeps who ordered it, and when.\n"
     "  ebt recover\n"
     "  ebt recover 17 --accept-data-loss",
     0, 3, run_recover},
    {"masters", "", "Say which master is the active one, and who stands by",
     "Asks the masters that were given, and those that they name.  There need not be an active one.\n"
     "Exit status 1 where there is none.",
     0, 0, run_masters},
    {"catalog", "import [OPTION]...",
     "Bring the catalog of a master's folder into etcd, where several masters share it",
     "On the master's machine, with the master stopped.  Options are edubba-master's: the configuration\n"
     "with coordinator = \"etcd\" says where to, its folder where from.  All or nothing: cut off, it is\n"
     "begun again.  Nothing that is in etcd already is replaced.\n"
     "  ebt catalog import --config /etc/edubba/master.conf",
     1, -1, run_catalog},
    {"hot-tablets", "[TABLE] [last=AGE]",
     "List the tablets that take most of their servers' time, the hottest first",
     "Of each tablet the hottest minute of the last AGE (2m if it is not said; up to 14d), the running\n"
     "one included, if it took 1 % or more of its server's CPU time.  AGE is as in setgcpolicy.  The\n"
     "master has it in memory: what was before its start is not there.\n"
     "  ebt hot-tablets\n  ebt hot-tablets METRIC last=1h",
     0, 2, run_hottablets},
    {"hot-keys", "[TABLE]", "Say where in busy tablets the load is",
     "Of each tablet that was busy lately: rows that are touched often, and points from which on the rows\n"
     "up to the next one take about an equal part of its load.  CROSS is scans a second that go over a\n"
     "point; appended, the part of the writes that goes to rows above all before.  All is made of samples\n"
     "of about the last ten seconds.  READS are rows read, whether by key or in a scan.\n"
     "  ebt hot-keys\n  ebt --json hot-keys METRIC",
     0, 1, run_hotkeys},
    {"advise", "TABLE", "Say what a table's load shows about its row keys, and what cures it",
     "popular_key: one row takes much of the load.  monotonic: rows only grow at the end.  narrow_range: few\n"
     "tablets take most.  high_pressure: a tablet takes most of what its server may use.  large_rows.\n"
     "balanced: none of these.  too_few: put load on it first, for some ten seconds.\n"
     "  ebt advise METRIC",
     1, 1, run_advise},
    {"events", "[TABLE] [follow=true]",
     "List what was decided about load, why, and what came of it; and what was refused",
     "The master splits what is hot, merges what is cold, hands over and moves what is too much for a\n"
     "server; where it cannot it says why, once.  With follow=true it goes on until it is ended.  The\n"
     "master keeps the last 4096, also those of masters before it.  Splits by size are among them.\n"
     "  ebt events\n  ebt events METRIC follow=true",
     0, 2, run_events},
    {"documents", "[prefix=NAME]", "List the documents that the master keeps for other programs",
     "The gateway keeps instances, clusters and app profiles so.", 0, 1, run_documents},
    {"document", "NAME", "Print one document",
     "  ebt --json document bigtable/instances/edubba/edubba", 1, 1, run_document},
    {"debug", "bundle [FILE]",
     "Gather what is worth sending with a question: status of all processes, tables, tablets",
     "Holds no cell values; row keys of tablet boundaries are in it.  Where something is not told, \"error\"\n"
     "stands in its place, and a warning on stderr says that there are such.",
     1, 2, run_debug},
    {"version", "", "Print the version", "", 0, 0, run_version},
    {"help", "[COMMAND]", "Say what ebt, or one command, can do", "", 0, 1, run_help},
};
const size_t COMMAND_COUNT = sizeof COMMANDS / sizeof *COMMANDS;

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(COMMANDS[i].name, name) == 0) {
            return &COMMANDS[i];
        }
    }
    return NULL;
}

/* Letters to change, to insert or to drop between two short words; large for long ones. */
static size_t distance(const char *left, const char *right)
{
    size_t row[NAME_BYTES_MAX + 1];
    size_t left_size = strlen(left);
    size_t right_size = strlen(right);

    if (left_size > NAME_BYTES_MAX || right_size > NAME_BYTES_MAX) {
        return NAME_BYTES_MAX;
    }
    for (size_t j = 0; j <= right_size; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= left_size; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= right_size; j++) {
            size_t changed = diagonal + (left[i - 1] != right[j - 1]);
            size_t moved = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = changed < moved ? changed : moved;
        }
    }
    return row[right_size];
}

const char *command_nearest(const char *name)
{
    const char *nearest = NULL;
    size_t least = 3; /* further off it is another word, not a slip */
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        size_t far = distance(name, COMMANDS[i].name);
        if (far < least && far < strlen(COMMANDS[i].name)) {
            least = far;
            nearest = COMMANDS[i].name;
        }
    }
    return nearest;
}

void session_only_looks(struct session *session)
{
    session->only_looks = true;
    if (!session->timeout_given) {
        session->timeout_ms = LOOK_MS;
    }
}

struct edubba_client *session_client(struct session *session)
{
    struct edubba_options options = EDUBBA_OPTIONS_DEFAULT;
    struct edubba_error error;

    if (session->client == NULL) {
        options.masters = session->masters;
        options.agent = "ebt/" EDUBBA_VERSION;
        options.deadline_ms = session->timeout_ms;
        options.unreachable_ms = session->timeout_given ? 0 : UNREACHABLE_MS;
        options.on_trouble = waiting_on_trouble;
        waiting_begin(session->timeout_ms, session->json_errors);
        if (edubba_client_open(&options, &session->client, &error) != EDUBBA_OK) {
            (void)session_fail(session, &error);
            session->client = NULL;
        }
    }
    return session->client;
}

int session_key(const struct session *session, char *word, struct edubba_bytes *ret_key)
{
    size_t size = strlen(word);
    if (session->escaped && !escapes_take(word, &size)) {
        return session_misuse(session,
                              "in a key a backslash is written \\\\, and a byte \\xNN, with "
                              "--escaped");
    }
    *ret_key = edubba_bytes_of(word, size);
    return -1;
}

int session_row(const struct session *session, struct edubba_bytes *ret_row)
{
    return session_key(session, session->arguments[1], ret_row);
}

struct edubba_table *session_table(struct session *session, const char *name)
{
    struct edubba_client *client = session_client(session);
    struct edubba_table *table = NULL;
    struct edubba_error error;

    if (client != NULL && edubba_table_open(client, name, &table, &error) != EDUBBA_OK) {
        (void)session_fail(session, &error);
        table = NULL;
    }
    return table;
}

int session_done(const struct session *session)
{
    if (session->json) {
        fputs("{\"ok\":true}\n", session->out);
    }
    return EXIT_CODE_OK;
}
