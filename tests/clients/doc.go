// Package clients has clients that others wrote use "massgen serve": OpenAI's own for Python and
// JavaScript, the AI SDK, on which chat pages are built, and two programs in which people chat: the
// command line "llm" and the terminal's "pi". All that the server sends to them has to fit OpenAI's
// description of its API. The tests need what scripts/clients.sh installs, so they are behind the
// build tag "clients"; the script runs them.
package clients
