// Package procgroup starts commands in a process group of their own, so that what they have started
// stops with them. It is for the kinds that run programs.
//
// On Linux the kernel kills such a command when the thread that has started it ends, and so when
// this process is killed: the caller that starts one keeps its goroutine on that thread
// (runtime.LockOSThread) until the command has ended. On other systems a command outlives a process
// that is killed, unless it stops at the end of its standard input. On systems that are no Unix a
// Group is the command alone.
//
// # Imports
//
// This package imports no other package of Holdfast.
package procgroup
