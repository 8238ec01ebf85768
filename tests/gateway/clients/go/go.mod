module edubba-gateway-go-runner

go 1.24.0

require cloud.google.com/go/bigtable v1.46.0
