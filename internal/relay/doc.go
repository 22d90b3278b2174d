// Package relay passes wake-ups on between this process, other processes, and those who stand on
// the store of this process from elsewhere: clients of a server (store/remote), whose writes are
// this very store's, so that its Watch does not tell of them.
//
//	Notify  what this process says: to other processes, and to all remote clients
//	Hear    what a remote client says: to other processes, to this one, and to the other clients
//	Watch   for this process: what other processes and remote clients say
//	Listen  for a remote client: what this process, other processes and other clients say
//
// However many watch, the store is watched once, while anybody does. Each listener hears in the
// goroutine in which it watches, of the wake-ups that wait for it. Telling it takes no lock that it
// holds, and does not wait for it. So a listener may say something as it hears, and two listeners
// may do so to each other.
//
// # Imports
//
// Of ours, store.
package relay
