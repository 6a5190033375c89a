// Package agents runs the effects of a panel's agents: it builds the input of a model call from
// the references that the call names, calls the backend, decodes the reply, and runs tools. It
// knows no loop and no rule: the machines decide which effects there are (DESIGN §1).
package agents
