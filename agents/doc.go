// Package agents runs the effects of a panel's agents: it builds the input of a
// model call from the references that the call names, calls the backend, decodes
// what comes back, and runs tools. It knows no loop and no rule: which effects
// there are, the machines decide (DESIGN §1).
package agents
