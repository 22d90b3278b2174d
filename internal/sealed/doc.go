// Package sealed lets a codec encode what a store keeps of the data of jobs, such as their args and
// results, and decode what it answers. It is a store.Store around another one: those above it see
// plain values, and those below it sealed ones, which they keep like any other (store/sealed.go).
//
// What is sealed is a closed list, in wrap_test.go: each method of store.Store is said to carry
// payloads, and then has a method here, or not, and each field of bytes to be one or not.
//
// # Writing
//
// The values of one call are encoded together, put in the place of the plain ones, and the plain
// ones are put back when the store has answered. So a call that is repeated encodes once more. Of
// enqueues, and of slices, that others may read a copy is changed. What is sealed already is passed
// on as it is: it was read by who lacks the key. What no codec needs to hide, such as which child a
// run has enqueued, stays plain (entries.go), so that a person without the keys can retry, fork and
// resume it.
//
// # Reading
//
// A value that cannot be opened stays as it is, sealed, with the number that says why; the call
// does not fail. Who needs the value gets a typed error from it (store.SealError), and the engine
// holds the job. What is not sealed is returned as it is: it was written without a codec.
//
// # Imports
//
// Of ours, only store.
package sealed
