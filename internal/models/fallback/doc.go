// Package fallback is a backend made of several models: the next one is called
// when one cannot be used, because of its key, its quota or its load.
package fallback
