// Package configs reads the YAML that says who is on the panel and by which
// rules it works, and holds the files that are shipped with the program.
//
// The shape is MassGen's: agents (or one agent), orchestrator,
// timeout_settings, ui. A key that MassGen knows and that has no effect here is
// named in Config.Warnings, unless nothing is lost without it; a key known
// nowhere is an error with its line and column (DESIGN §8).
package configs
