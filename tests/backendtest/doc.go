// Package backendtest holds what tests of model calls share: Server, a fake
// service of any Protocol that answers as a test wants and keeps what it was sent;
// the three protocols that there are adapters for; RunAdapter, the suite that every
// adapter below backends must pass; and Run, the part of it that every backend must
// pass that wraps an adapter.
package backendtest
