package machine

import (
	"context"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestTheMachineNoticesAudits breaks what is told of what people did to jobs.
func TestTheMachineNoticesAudits(t *testing.T) {
	t.Parallel()
	each := func(change func(*store.AuditEntry)) func(store.Store) store.Store {
		return func(s store.Store) store.Store { return &auditOther{s, change} }
	}
	other := func(action store.ActionKind, was, is string) func(store.Store) store.Store {
		return each(func(e *store.AuditEntry) {
			if e.Action == string(action) {
				e.Before, e.After = strings.Replace(e.Before, was, is, 1), strings.Replace(e.After, was, is, 1)
			}
		})
	}
	for name, breaks := range map[string]func(store.Store) store.Store{
		"a job that is asked has ended":      other(store.ActionCancel, `"running","asked":"cancel"`, `"cancelled"`),
		"each cancelled job was available":   other(store.ActionCancel, `"scheduled"`, `"available"`),
		"each retried job had failed":        other(store.ActionRetry, `"cancelled"`, `"failed"`),
		"a paused job is not held":           other(store.ActionPause, `,"held":true`, ""),
		"a resumed job was not held":         other(store.ActionResume, `,"held":true`, ""),
		"a terminated job had been deferred": other(store.ActionTerminate, `"running"`, `"scheduled"`),
		"nothing is told of after":           each(func(e *store.AuditEntry) { e.After = "" }),
	} {
		noticesSoon(t, name, breaks, mode{durable: true})
	}
}

// auditOther tells other entries than there are.
type auditOther struct {
	store.Store

	change func(*store.AuditEntry)
}

func (s *auditOther) ListAudit(ctx context.Context, params store.AuditParams) ([]store.AuditEntry, error) {
	all, err := s.Store.ListAudit(ctx, params)
	for i := range all {
		s.change(&all[i])
	}
	return all, err
}
