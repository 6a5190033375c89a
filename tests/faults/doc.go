// Package faults plants faults in the kernel, and shows that its walk of all
// interleavings finds each: a walk that finds nothing proves nothing by itself. The test
// has a build tag, since it compiles the kernel once for each fault: the gate runs it.
package faults
