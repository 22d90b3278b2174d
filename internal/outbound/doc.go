// Package outbound makes the requests of a server to addresses that its users name.
//
// A user who may name an address could let the server reach what only the server reaches: itself,
// its neighbours, the metadata of its cloud. So a Client connects to public addresses alone, and to
// those that the options of the server allow. The address is looked at when the connection is made,
// after the name was resolved, so that a name that resolves to another address the second time
// gains nothing. No proxy is used, which would connect instead, and no redirect is followed.
//
// # Imports
//
// Of ours, none.
package outbound
