# Sourced by what runs tests with the race detector, so that they share what is compiled.
# shellcheck shell=bash

# SQLite's C code, transpiled to Go, does without: it has its own locks, and its tests take
# a seventh of the time. massgen, the standard library and all else is instrumented.
race=(-race -gcflags=modernc.org/...=-race=false)

# With the race detector a program ends a second later, and the tests start thousands.
export GORACE=${GORACE-atexit_sleep_ms=10}
