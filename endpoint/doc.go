// Package endpoint has the places to which servers send by HTTP: push endpoints, which work the
// jobs of a kind, and webhooks, which are told of events.
//
// A Push is the handler of the kind that is its name: a server posts each job to its URL, and what
// is answered ends the job. A Webhook is told of changes of jobs' states that fit its filter. Both
// requests are signed as Standard Webhooks (https://www.standardwebhooks.com) says: Sign makes the
// headers, and Verify checks them.
//
// # Secrets
//
// A secret is whsec_ and 32 random bytes in base64. It is shown when it is made and never again;
// who can read the database can read it, since a signature by a shared secret needs the secret.
// Rotate makes a new one; for a while requests are signed by both.
//
// # Imports
//
// Of ours, the root package, store, internal/access and internal/valid.
package endpoint
