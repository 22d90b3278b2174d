package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// unservedEvery is how often the leader looks for jobs that no node serves.
	unservedEvery = 30 * time.Second
	// unservedAgain is the least time between two lines about the same queue and kind.
	unservedAgain = 10 * time.Minute
	// unservedLimit is how many it logs at a time: those whose jobs wait longest.
	unservedLimit = 100
)

// logUnserved logs jobs that no node serves. It logs only what it sees twice in a row, because a
// rolling restart may leave a kind unserved for a moment.
func (n *node) logUnserved(ctx context.Context) error {
	found, err := n.store.Unserved(ctx, unservedLimit)
	if err != nil {
		return err
	}
	every := n.engine.cfg.every(unservedEvery)
	again := max(unservedAgain, 1000*n.engine.cfg.Rarely)
	now := time.Now() //nolint:forbidigo // a duration, not the time of day
	seen := make(map[store.Unserved]sighting, len(found))
	for _, u := range found {
		key := u
		key.OldestDue = time.Time{}
		s := n.unserved.seen[key]
		if now.Sub(s.at) < 2*every && (s.said.IsZero() || now.Sub(s.said) >= again) {
			n.sayUnserved(u)
			s.said = now
		}
		s.at = now
		seen[key] = s
	}
	n.unserved.seen = seen
	return nil
}

func (n *node) sayUnserved(u store.Unserved) {
	cause := "no live node serves the kind"
	switch {
	case u.Known:
		cause = "no live node that serves the kind serves the queue"
	case u.Version != "":
		cause = "no live node serves this version of the kind"
	}
	attrs := []slog.Attr{slog.String(logs.KeyNamespace, u.Namespace), slog.String(logs.KeyCause, cause), slog.Time(logs.KeySince, u.OldestDue)}
	if u.Version != "" {
		attrs = append(attrs, slog.String(logs.KeyVersion, u.Version))
	}
	n.lines.Say(slog.LevelWarn, logs.About{Kind: u.Kind, Queue: u.Queue}, "jobs are waiting, but no node serves them", attrs...)
}
