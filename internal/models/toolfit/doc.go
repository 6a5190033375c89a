// Package toolfit makes the schemas of tools fit the service that they go to. A service refuses every
// request that has one schema it does not take, so one tool of an MCP server could end a turn.
//
// All functions are pure. A schema that its service takes is returned as it came, byte for byte. The
// coordination tools stay as they are, except for the schema of an answer within new_answer.
package toolfit
