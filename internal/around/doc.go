// Package around calls a handler inside of the functions that a program has put around all of its
// handlers, and keeps what these rely on: a function is told how the handler ended, whatever way
// that was, and the handler is called once.
//
// A run parks, and leaves a node that stops, by ending the goroutine of its code. So what a
// function puts itself around runs in a goroutine of its own: the goroutine ends, and the function
// is told so by an error.
//
// Of ours, it imports store and internal/usercode.
package around
