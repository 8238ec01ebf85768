#!/usr/bin/env python3
"""tests/gateway/ask.py HOST:PORT METHOD <MESSAGE: one gRPC call in plaintext.

Each message of the answer is a line of hexadecimal, printed as it comes; the last line is `status
CODE TEXT`.  Exit status: 0 it was answered, whatever the code; 1 it was not.  curl does not do for
this: it loses a status that is followed by a reset stream.
"""
import sys

sys.dont_write_bytecode = True

from wire.http2 import Broken, Connection  # noqa: E402


def main(address, method):
    host, port = address.rsplit(":", 1)
    try:
        with Connection((host, int(port))) as connection:
            call = connection.begin("/" + method, sys.stdin.buffer.read())
            for message in connection.messages(call):
                print(message.hex(), flush=True)
    except (Broken, OSError) as broken:
        print(f"no status: {broken}")
        return 1
    print(f"status {call.status} {call.text}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
