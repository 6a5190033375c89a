// Package backendtest holds what tests of model calls share: Server, a fake
// service of any Protocol that answers as a test wants and keeps what it was sent;
// the three protocols that there are adapters for; and Run, the suite that every
// adapter below backends must pass.
package backendtest
