// Package faults plants faults in the kernel and the election, and shows that the walk of all
// interleavings and the count of all elections find each: a test that finds nothing proves
// nothing by itself. The tests have a build tag, since they compile a package once for each
// fault. The gate runs them.
package faults
