package machine

import (
	"fmt"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// checkAudit compares what people did to jobs, with before and after. Entries of one moment have no
// order between jobs. Of jobs that are gone the oldest ones may be gone too.
func (m *machine) checkAudit(records []store.Record) {
	got, want := m.audit(m.store), m.audit(m.model)
	for job, lines := range want {
		if slices.ContainsFunc(records, func(r store.Record) bool { return r.ID.String() == job }) {
			continue
		}
		if want[job] = lines[max(0, len(lines)-len(got[job])):]; len(want[job]) == 0 {
			delete(want, job)
		}
	}
	m.same("ListAudit", got, want)
}

// audit is what a store tells of the newest changes of each job, oldest first.
func (m *machine) audit(s store.Store) map[string][]string {
	all, err := s.ListAudit(m.ctx, store.AuditParams{
		Namespace: m.namespace, Target: store.AuditTarget{Kind: store.AuditJob}, Limit: 1000,
	})
	m.must("ListAudit", err)
	said := map[string][]string{}
	for i := range all {
		a := &all[i]
		said[a.Target.Name] = append(said[a.Target.Name],
			fmt.Sprintf("%s by %s (%s): %s -> %s", a.Action, a.Actor, a.Detail, a.Before, a.After))
	}
	for _, lines := range said {
		slices.Reverse(lines)
	}
	return said
}
