// Package audit lists what people did: who has changed a setting, an access or a job, when, and
// what was before and after.
//
// An entry is written by the transaction that makes the change, so there is one for each change and
// none for one that failed or changed nothing. Who did it is the actor of the client
// (holdfast.WithActor), or, through a server, the key or the person that the server let in, which a
// caller cannot choose. Entries never have secrets or payloads.
//
// Entries are kept for 90 days (holdfast.WithRetention), and those of a job for as long as the job
// is there. docs/audit.md says what is recorded.
//
// # Imports
//
// The root package, internal/access and store.
package audit

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// Entry is something that a person did.
type Entry = store.AuditEntry

// Target is what it was done to: a kind, such as store.AuditLimit, and a name.
type Target = store.AuditTarget

// Kinds are the kinds of targets.
func Kinds() []string {
	return []string{
		store.AuditJob, store.AuditQueue, store.AuditKind, store.AuditSchedule, store.AuditLimit, store.AuditAttribute, store.AuditEndpoint,
		store.AuditWebhook, store.AuditNamespace, store.AuditAPIKey, store.AuditNode, store.AuditRetention, store.AuditFeed,
	}
}

// Filter says which entries are wanted. What is zero is not asked for.
type Filter struct {
	// Namespace is where it was done. What was done to the whole database, such as to nodes and to
	// classes of retention, is in none.
	Namespace string
	Actor     string // the whole name
	Action    string // such as "update"
	Target    Target // a kind, with or without a name
	Job       store.ID
	// Since and Until bound the times: from the one on, and before the other.
	Since, Until time.Time
}

// List returns up to limit entries, 1 to 1000, newest first, behind the one with a cursor; "" is
// the beginning. The error is ErrInvalid.
func List(ctx context.Context, c *holdfast.Client, f Filter, after string, limit int) ([]Entry, error) {
	place, err := placeOf(after)
	if err != nil {
		return nil, err
	}
	e, _ := access.Engine(c)
	return e.Store.ListAudit(ctx, store.AuditParams{
		Namespace: f.Namespace, Actor: f.Actor, Action: f.Action, Target: f.Target, Job: f.Job, Since: f.Since, Until: f.Until,
		After: place, Limit: limit,
	})
}

// Cursor is that of the entry: what List goes on behind.
func Cursor(e *Entry) string {
	return fmt.Sprintf("%d-%d", e.At.UnixMicro(), e.Seq)
}

func placeOf(cursor string) (p store.AuditPlace, err error) {
	if cursor == "" {
		return p, nil
	}
	at, seq, found := strings.Cut(cursor, "-")
	micros, errAt := strconv.ParseInt(at, 10, 64)
	n, errSeq := strconv.ParseInt(seq, 10, 64)
	if !found || errAt != nil || errSeq != nil || n < 1 {
		return p, fmt.Errorf("%w: unknown cursor %.50q; use that of an entry", store.ErrInvalid, cursor)
	}
	return store.AuditPlace{At: time.UnixMicro(micros), Seq: n}, nil
}
