// What tests/bench/run drives with the official Go client: the gateway, and Google's in-memory
// emulator, which the same program serves in a process of its own.
//
//	gateway_go serve ADDRESS                              the emulator, until it is ended
//	gateway_go load [options] fill|write|read|scan        one line of JSON; see load.go
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"cloud.google.com/go/bigtable/bttest"
	"google.golang.org/grpc"
)

const messageBytesMax = 256 << 20 // as the emulator's own program has it

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// serve says READY once calls may come, as our daemons do.
func serve(address string) error {
	server, err := bttest.NewServer(address, grpc.MaxRecvMsgSize(messageBytesMax),
		grpc.MaxSendMsgSize(messageBytesMax))
	if err != nil {
		return err
	}
	fmt.Println("READY")
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
	server.Close()
	return nil
}

func main() {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "serve":
		err = serve(os.Args[2])
	case len(os.Args) > 2 && os.Args[1] == "load":
		err = load(os.Args[2:])
	default:
		err = fmt.Errorf("usage: %s serve ADDRESS | load [options] fill|write|read|scan", os.Args[0])
	}
	if err != nil {
		fail(err)
	}
}
