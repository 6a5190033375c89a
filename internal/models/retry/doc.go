// Package retry is a backend around a backend. It repeats attempts that failed
// and may succeed later, and holds each attempt at a Gate, which all agents share
// that use one provider with one key: no more calls at a time, requests and tokens
// a minute than the provider allows, and none at all while it is down.
package retry
