// Takes cloud.google.com/go/bigtable through the steps that come in, one a line; README.md of
// tests/gateway says what a step is.  Usage: runner PROJECT INSTANCE, with BIGTABLE_EMULATOR_HOST set.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

const shownBytesMax = 64

// A step, and whatever in JSON it is made of.
type object = map[string]any

// lacks says that the client has no such call: that is no error.
type lacks string

func (l lacks) Error() string { return string(l) }

// clients of one project and instance, made when they are first needed.
type clients struct {
	project, instance string
	data              *bigtable.Client
	tables            *bigtable.AdminClient
	instances         *bigtable.InstanceAdminClient
}

var places = map[string]*clients{}

// largeRows are options for those who read rows above 4 MiB: what gRPC takes by itself, and the
// client raises that only for connections that it dials itself, not for an emulator's.
func largeRows() ([]option.ClientOption, error) {
	conn, err := grpc.NewClient("passthrough:///"+os.Getenv("BIGTABLE_EMULATOR_HOST"),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<28)))
	return []option.ClientOption{option.WithGRPCConn(conn)}, err
}

func clientsFor(ctx context.Context, place, profile string, isLarge bool) (*clients, error) {
	key := fmt.Sprint(place, " ", profile, " ", isLarge)
	if found := places[key]; found != nil {
		return found, nil
	}
	project, instance, _ := strings.Cut(place, "/")
	made := &clients{project: project, instance: instance}
	var err error
	options := []option.ClientOption{}
	if isLarge {
		if options, err = largeRows(); err != nil {
			return nil, err
		}
	}
	config := bigtable.ClientConfig{AppProfile: profile, MetricsProvider: bigtable.NoopMetricsProvider{}}
	if made.data, err = bigtable.NewClientWithConfig(ctx, project, instance, config, options...); err != nil {
		return nil, err
	}
	if made.tables, err = bigtable.NewAdminClient(ctx, project, instance); err != nil {
		return nil, err
	}
	if made.instances, err = bigtable.NewInstanceAdminClient(ctx, project); err != nil {
		return nil, err
	}
	places[key] = made
	return made, nil
}

// --- bytes ------------------------------------------------------------------------------------------

// bytesOf makes bytes of what a step gives; nil where it gives none.
func bytesOf(given any) []byte {
	switch value := given.(type) {
	case string:
		data, err := hex.DecodeString(value)
		if err != nil {
			panic(err)
		}
		if data == nil {
			data = []byte{}
		}
		return data
	case object:
		return []byte(strings.Repeat(string(bytesOf(value["hex"])), int(integer(value["times"]))))
	}
	return nil
}

func shown(data []byte) string {
	if len(data) <= shownBytesMax {
		return hex.EncodeToString(data)
	}
	digest := sha256.Sum256(data)
	return fmt.Sprintf("sha256:%x:%d", digest, len(data))
}

func integer(value any) int64 {
	number, ok := value.(json.Number)
	if !ok {
		return 0
	}
	made, err := number.Int64()
	if err != nil {
		panic(err)
	}
	return made
}

func text(value any) string {
	made, _ := value.(string)
	return made
}

func list(value any) []any {
	made, _ := value.([]any)
	return made
}

func truth(value any) bool {
	made, _ := value.(bool)
	return made
}

func objects(value any) []object {
	made := []object{}
	for _, item := range list(value) {
		made = append(made, item.(object))
	}
	return made
}

// --- errors -----------------------------------------------------------------------------------------

var codeNames = map[codes.Code]string{
	codes.Canceled: "CANCELLED", codes.Unknown: "UNKNOWN", codes.InvalidArgument: "INVALID_ARGUMENT",
	codes.DeadlineExceeded: "DEADLINE_EXCEEDED", codes.NotFound: "NOT_FOUND",
	codes.AlreadyExists: "ALREADY_EXISTS", codes.PermissionDenied: "PERMISSION_DENIED",
	codes.ResourceExhausted: "RESOURCE_EXHAUSTED", codes.FailedPrecondition: "FAILED_PRECONDITION",
	codes.Aborted: "ABORTED", codes.OutOfRange: "OUT_OF_RANGE", codes.Unimplemented: "UNIMPLEMENTED",
	codes.Internal: "INTERNAL", codes.Unavailable: "UNAVAILABLE", codes.DataLoss: "DATA_LOSS",
	codes.Unauthenticated: "UNAUTHENTICATED",
}

// errorOf is the error as results have it; false for one that no server gave.
func errorOf(err error) (object, bool) {
	if errors.Is(err, context.DeadlineExceeded) {
		return object{"code": "DEADLINE_EXCEEDED", "text": err.Error()}, true
	}
	said, ok := status.FromError(err)
	if !ok || said.Code() == codes.OK {
		return nil, false
	}
	return object{"code": codeNames[said.Code()], "text": said.Message()}, true
}

// --- steps ------------------------------------------------------------------------------------------

type action func(ctx context.Context, c *clients, step object) (object, error)

func actions() map[string]action {
	all := map[string]action{}
	for _, part := range []map[string]action{dataActions, tableActions, instanceActions} {
		for name, does := range part {
			all[name] = does
		}
	}
	return all
}

func outcomeOf(step object, place string, all map[string]action) (outcome object) {
	defer func() {
		if fault := recover(); fault != nil {
			outcome = object{"refused": fmt.Sprint(fault)}
			if lack, ok := fault.(lacks); ok {
				outcome = object{"lacks": string(lack)}
			}
		}
	}()
	ctx := context.Background()
	if within := text(step["in"]); within != "" {
		place = within
	}
	c, err := clientsFor(ctx, place, text(step["through"]), truth(step["large"]))
	if err != nil {
		return object{"refused": err.Error()}
	}
	if deadline := integer(step["deadlineMs"]); deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(deadline)*time.Millisecond)
		defer cancel()
	}
	does := all[text(step["do"])]
	if does == nil {
		return object{"lacks": text(step["do"])}
	}
	result, err := does(ctx, c, step)
	var lack lacks
	if errors.As(err, &lack) {
		return object{"lacks": string(lack)}
	}
	if err != nil {
		if made, ok := errorOf(err); ok {
			return object{"error": made}
		}
		return object{"refused": err.Error()}
	}
	return object{"result": result}
}

func main() {
	place := os.Args[1] + "/" + os.Args[2]
	all := actions()
	lines := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var step object
		decoder := json.NewDecoder(strings.NewReader(string(line)))
		decoder.UseNumber()
		if err := decoder.Decode(&step); err != nil {
			panic(err)
		}
		outcome := outcomeOf(step, place, all)
		outcome["step"] = step["step"]
		if err := out.Encode(outcome); err != nil {
			return
		}
	}
}
