// Package report projects the journal of a turn to what people see of it: events, the
// result, tool calls, notes, partial texts and kept work (DESIGN §1). Turns that are played,
// watched, resumed, replayed or shown later all use this one projection. It is pure: its
// caller reads the texts that a journal names.
package report
