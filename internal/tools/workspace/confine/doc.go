// Package confine runs a program so that none of its processes outlives it and, on
// Linux, so that it reaches only what it was given.
//
// On Linux the program that is running is started twice more in between. The first
// copy, the supervisor, is the parent of whatever its command leaves behind
// (PR_SET_CHILD_SUBREAPER), also of what began a session of its own, and kills all of
// it when the command ends or when its caller closes a pipe or dies. The second copy
// fences itself in and then becomes the command:
//
//   - Landlock (ABI 6, Linux 6.12) refuses to open, make, rename, remove or execute a
//     file outside of the trees that were given, to signal or trace a process outside,
//     and to mount;
//   - a mount namespace has everything outside of the writable trees read-only, which
//     covers the modes, owners, times and attributes that Landlock does not guard. Where
//     the system gives no namespace, the calls that change these are refused everywhere;
//   - namespaces of processes and of System V's shared memory, queues and locks keep these
//     apart. Where there are none, the calls that reach them, or that set the limits and
//     the priority of another process, are refused;
//   - a seccomp filter refuses sockets, those of the network and of services on this
//     machine, keyrings, set-user-id and set-group-id bits of files, and the ways around the
//     others;
//   - all capabilities are dropped, set-user-id programs give none, and a crash leaves no
//     dump, which the system might hand to a program of its own.
//
// What is not kept in: a command sees which files are where (stat), may read what lies
// in the system's trees, and may use up processor, memory and the disk until its time
// is up. On other systems there is no fence, and a process that left its group is not
// caught.
package confine
