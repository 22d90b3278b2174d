package api

import (
	"reflect"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast/server/access"
)

// Repeat is what an operation does with a request that has a key and comes again.
type Repeat int

// What operations do. Those that answer with what an earlier request was answered do it for 24
// hours.
const (
	// Once: it is noted that the request has begun, that it has happened, in the transaction that
	// does it (store.WithRequest), and what it was answered. If the server dies before it has
	// happened, a repeated one is done; if it dies after that, its answer is lost.
	Once Repeat = iota
	// Parts is Once for what does many transactions: what has happened may be a part.
	Parts
	// Again is Once for what does nothing the second time, or has a name for it that is that of the
	// request: a repeated one is done again, too, if the server died after it had happened, or if
	// it has failed midway.
	Again
	// InCommit: what the request does is stored together with its answer. Its handler makes one
	// enqueue, or sends one message, or keeps its answer itself (internal/asked).
	InCommit
	// Marked: the operation has its own way to be repeated, which its body says (repeat), or can be
	// repeated as it is. One with a key is handled as one that may have been sent before.
	Marked
	// Named: the operation has names for requests, which may be that of the key.
	Named
)

// repeats are what operations do with a request that has a key and comes again, by their ids. The
// others are Once.
var repeats = map[Repeat][]string{
	InCommit: {
		"callback-answer", "callback-complete", "callback-fail", "callback-heartbeat", "job-enqueue", "job-enqueue-batch", "signal-send",
		"signal-send-by-key", "worker-register",
	},
	Again: {
		"attribute-declare", "batch-cancel", "batch-close", "event-off", "event-on",
		"job-cancel", "job-pause", "job-tag", "job-terminate", "limit-drain", "limit-reset", "limit-resume",
		"node-drain", "node-quiet", "node-resume", "operation-cancel", "queue-pause", "queue-rest", "queue-resume",
		"schedule-backfill", "schedule-pause", "schedule-resume",
	},
	Marked: {"schedule-preview"}, // it changes nothing, and stores nothing
	Parts:  {"dead-move", "dead-purge", "dead-redrive"},
	Named:  {"update-call"},
}

// repeatOf is what an operation does with a repeated request. Those of workers and their runs say
// in their bodies that they are repeated.
func repeatOf(id string, scope access.Scope) Repeat {
	for repeat, ids := range repeats {
		if slices.Contains(ids, id) {
			return repeat
		}
	}
	if scope == access.Workers {
		return Marked
	}
	return Once
}

// hasSecret reports whether an answer of a type has a secret, which is shown once.
func hasSecret(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == "secret" || f.Name == "Body" && hasSecret(f.Type) {
			return true
		}
	}
	return false
}
