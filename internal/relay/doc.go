// Package relay passes wake-ups on between this process, other processes, and those who stand on
// the store of this process from elsewhere: clients of a server (store/remote), whose writes are
// this very store's, so that its Watch does not tell of them.
//
//	Notify  what this process says: to other processes, and to all remote clients
//	Hear    what a remote client says: to other processes, to this one, and to the other clients
//	Watch   for this process: what other processes and remote clients say
//	Listen  for a remote client: what this process, other processes and other clients say
//
// However many watch, the store is watched once, while anybody does.
//
// # Imports
//
// Of ours, store.
package relay
