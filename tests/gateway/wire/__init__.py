"""gRPC by hand, in the standard library alone: so that a test can send what no client library would."""
