package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"cloud.google.com/go/bigtable"
)

const (
	project   = "edubba" // of the gateway's home, so that ebt finds the table under its own name
	instance  = "edubba"
	family    = "cf"
	column    = "q"
	warmUp    = time.Second
	batchRows = 100
	poolBytes = 1 << 20
	keyFormat = "user%012d"
)

// a loader keeps calls in flight: each of its workers has one.
type loader struct {
	table      *bigtable.Table
	rows       int
	valueBytes int
	pool       []byte
	calls      atomic.Int64
	scanned    atomic.Int64
	begun      atomic.Bool // what ends before is not counted
	ended      atomic.Bool
}

// --- rows -------------------------------------------------------------------------------------------

func key(row int) string { return fmt.Sprintf(keyFormat, row) }

// value is told by its row: its number, and bytes that come from where the number says.
func (l *loader) value(row int, out []byte) []byte {
	from := row * 61 % (poolBytes - l.valueBytes)
	out = append(out[:0], l.pool[from:from+l.valueBytes]...)
	binary.BigEndian.PutUint64(out, uint64(row))
	return out
}

func (l *loader) set(row int, value []byte) *bigtable.Mutation {
	mutation := bigtable.NewMutation()
	mutation.Set(family, column, 1000, value) // the same cell again: the table keeps its size
	return mutation
}

// check says whether it is that row, with its one cell.
func (l *loader) check(found bigtable.Row, row int, expected []byte) error {
	items := found[family]
	if len(items) != 1 || items[0].Row != key(row) || items[0].Column != family+":"+column ||
		!bytes.Equal(items[0].Value, l.value(row, expected)) {
		return fmt.Errorf("%s is not what was written", key(row))
	}
	return nil
}

// --- calls ------------------------------------------------------------------------------------------

func (l *loader) write(ctx context.Context, random *rand.Rand, value []byte) error {
	row := random.Intn(l.rows)
	return l.table.Apply(ctx, key(row), l.set(row, l.value(row, value)))
}

func (l *loader) read(ctx context.Context, random *rand.Rand, value []byte) error {
	row := random.Intn(l.rows)
	found, err := l.table.ReadRow(ctx, key(row))
	if err != nil {
		return err
	}
	return l.check(found, row, value)
}

// scan reads all rows, in their order; when the time is over it is left.
func (l *loader) scan(ctx context.Context, _ *rand.Rand, value []byte) error {
	next := 0
	var wrong error
	err := l.table.ReadRows(ctx, bigtable.InfiniteRange(""), func(found bigtable.Row) bool {
		if wrong = l.check(found, next, value); wrong != nil {
			return false
		}
		next++
		if l.begun.Load() {
			l.scanned.Add(1)
		}
		return !l.ended.Load()
	})
	if err == nil {
		err = wrong
	}
	if err == nil && next != l.rows && !l.ended.Load() {
		err = fmt.Errorf("a scan met %d rows of %d", next, l.rows)
	}
	return err
}

// fill writes every row once.
func (l *loader) fill(ctx context.Context) error {
	for first := 0; first < l.rows; first += batchRows {
		keys, mutations := []string{}, []*bigtable.Mutation{}
		for row := first; row < min(first+batchRows, l.rows); row++ {
			keys = append(keys, key(row))
			mutations = append(mutations, l.set(row, l.value(row, make([]byte, 0, l.valueBytes))))
		}
		errs, err := l.table.ApplyBulk(ctx, keys, mutations)
		for _, one := range errs {
			if err == nil {
				err = one
			}
		}
		if err != nil {
			return err
		}
	}
	l.calls.Store(int64(l.rows))
	return nil
}

// --- running ----------------------------------------------------------------------------------------

type call func(ctx context.Context, random *rand.Rand, value []byte) error

func (l *loader) work(ctx context.Context, seed int64, do call) error {
	random := rand.New(rand.NewSource(seed))
	value := make([]byte, 0, l.valueBytes)
	for !l.ended.Load() {
		if err := do(ctx, random, value); err != nil {
			return err
		}
		if l.begun.Load() && !l.ended.Load() {
			l.calls.Add(1)
		}
	}
	return nil
}

// run gives how long was measured; the first error ends it.
func (l *loader) run(ctx context.Context, inFlight int, length time.Duration, do call) (time.Duration, float64, error) {
	var wait sync.WaitGroup
	failed := make(chan error, inFlight)
	for worker := 0; worker < inFlight; worker++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			if err := l.work(ctx, int64(worker)+time.Now().UnixNano(), do); err != nil {
				failed <- err
			}
		}()
	}
	time.Sleep(warmUp)
	begin, before := time.Now(), cpuSeconds()
	l.begun.Store(true)
	var err error
	select {
	case err = <-failed:
	case <-time.After(length):
	}
	l.ended.Store(true)
	took, used := time.Since(begin), cpuSeconds()-before
	wait.Wait()
	if err == nil && len(failed) > 0 {
		err = <-failed
	}
	return took, used, err
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func makeTable(ctx context.Context, table string) error {
	admin, err := bigtable.NewAdminClient(ctx, project, instance)
	if err != nil {
		return err
	}
	defer admin.Close()
	return admin.CreateTableFromConf(ctx, &bigtable.TableConf{
		TableID: table, Families: map[string]bigtable.GCPolicy{family: bigtable.NoGcPolicy()}})
}

func (l *loader) do(ctx context.Context, what string, inFlight int, length time.Duration) (time.Duration, float64, error) {
	calls := map[string]call{"write": l.write, "read": l.read, "scan": l.scan}
	if what == "fill" {
		begin := time.Now()
		err := l.fill(ctx)
		return time.Since(begin), cpuSeconds(), err
	}
	if calls[what] == nil {
		return 0, 0, fmt.Errorf("%s: fill, write, read or scan", what)
	}
	return l.run(ctx, inFlight, length, calls[what])
}

// load reaches what BIGTABLE_EMULATOR_HOST names, as any program against an emulator does.
func load(arguments []string) error {
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	table := flags.String("table", "bench", "made by fill")
	rows := flags.Int("rows", 100000, "of the table")
	valueBytes := flags.Int("value-bytes", 1024, "8 at least")
	inFlight := flags.Int("in-flight", 64, "calls; scans: streams")
	seconds := flags.Float64("seconds", 5, "that are measured, behind one of warming up")
	_ = flags.Parse(arguments)
	what := flags.Arg(0)
	if os.Getenv("BIGTABLE_EMULATOR_HOST") == "" || *valueBytes < 8 || *valueBytes > poolBytes/2 || *rows < 1 {
		return fmt.Errorf("needs BIGTABLE_EMULATOR_HOST, rows, and values of 8 bytes to 512 KiB")
	}
	ctx := context.Background()
	if what == "fill" {
		if err := makeTable(ctx, *table); err != nil {
			return err
		}
	}
	config := bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}}
	client, err := bigtable.NewClientWithConfig(ctx, project, instance, config)
	if err != nil {
		return err
	}
	defer client.Close()
	l := &loader{table: client.Open(*table), rows: *rows, valueBytes: *valueBytes, pool: make([]byte, poolBytes)}
	_, _ = rand.New(rand.NewSource(1)).Read(l.pool)
	took, cpu, err := l.do(ctx, what, *inFlight, time.Duration(*seconds*float64(time.Second)))
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"what": what, "calls": l.calls.Load(),
		"rows": l.scanned.Load(), "seconds": took.Seconds(), "client_cpu_s": cpu})
}
