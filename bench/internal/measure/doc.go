// Package measure runs one scenario with one system in a process of its own, so that no measurement
// inherits the heap, the connections or the CPU time of the one before, and so that a peer can be a
// program of another module.
//
// The program that measures is the same as the one that asks: an environment variable tells it
// which part it has. It reads a Spec from standard input and writes an Answer to standard output.
// The third part is a node, which a scenario starts where it needs several.
package measure
