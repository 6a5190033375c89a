// Package telemetry makes OpenTelemetry traces and metrics of turns, by the semantic conventions
// for generative AI, and sends them by OTLP over HTTP as JSON.
//
// A turn is a span invoke_workflow, a step of an agent invoke_agent, a model call chat, and a tool
// call execute_tool. They follow from the turn's events alone. What a lost process has done before
// a turn was resumed is replayed in them, and is neither sent nor counted again.
package telemetry
