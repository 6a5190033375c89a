// Package providers knows the services that have models: how each is spoken to, where it
// is, which variable has its key, and what its models cannot take. It turns what a
// configuration says of a model into a backend that calls it, within the provider's limits.
package providers
