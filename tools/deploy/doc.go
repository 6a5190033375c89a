// Package deploy has no code, but tests of the files in the folder deploy: they decode each into the types of the
// program that reads it, and hold flags, metrics and times of different files to each other.
package deploy
