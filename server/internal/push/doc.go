// Package push is what a server sends by HTTP: jobs to push endpoints, and events to webhooks.
//
//	pusher    which namespaces have something to send, and the nodes in each
//	source    the store of the server's client as one of a client of its own
//	handler   a job of a kind with an endpoint: a durable function of one request, and perhaps of
//	          waiting for a callback
//	reader    a webhook: a job that reads the feed and enqueues a delivery for each event
//	delivery  a delivery: a job that sends one event
//	request   how each of these is sent
//
// # What holds
//
// A job is sent at least once: after a crash the request may be made again, with the same
// Webhook-Id. What an endpoint has answered with 2xx is in the journal then, and is not asked for
// again.
//
// An event is delivered by one job for each webhook. The jobs of deliveries are enqueued in the
// transaction that moves the reader's position, which its lease fences, so that a reader that was
// killed, or is slow while another one has its job, adds none twice. Their ids are made of the
// webhook and the position of the event: a reader that begins again finds them there.
//
// # The nodes
//
// A node tells its kinds when it joins. So where endpoints come or go, the pusher starts a node
// with the kinds that there are, and stops the one before. The nodes stand on the store of the
// server's client, and share its connections. What is set of an endpoint is known to them within
// two seconds; one that is gone keeps its jobs waiting.
//
// # Imports
//
// Of ours, the root package, endpoint, store, internal/access, internal/engine, internal/outbound,
// internal/relay, internal/supervise and internal/valid.
package push
