// Package retry is a backend around a backend. It repeats attempts that failed
// and may succeed later, and holds each attempt at a Gate, which all agents share
// that use one provider with one key: no more calls at a time, requests and tokens
// a minute than the provider allows, and no calls while it is down. A Fallback calls
// the next of several models when one cannot be used.
package retry
