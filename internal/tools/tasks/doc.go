// Package tasks has the tools with which an agent keeps a plan of its tasks and its memories, under MassGen's
// names and in MassGen's files: tasks/plan.json, memory/short_term and memory/long_term of the agent's folder.
package tasks
