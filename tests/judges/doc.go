// Package judges lets programs that others wrote judge the adapters: aimock, which
// speaks the protocols of OpenAI, Anthropic and Gemini; llmock, which breaks its
// answers and grades the client; and the providers' own descriptions of their APIs,
// which every request has to fit. The tests need what scripts/judges.sh installs, so
// they are behind the build tag "judges"; the script runs them.
package judges
