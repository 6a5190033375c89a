module github.com/google/s2a-go

go 1.26.0

require google.golang.org/grpc v1.83.2

require google.golang.org/protobuf v1.36.11 // indirect
