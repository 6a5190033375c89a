// Package secrets knows which texts of an address or a header are secret, and finds
// a secret again in whatever spelling it comes back: services repeat what they were
// sent, and whatever stands between encodes it.
package secrets
