package model

import (
	"cmp"
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
)

// ListAudit implements store.Audits.
func (s *Store) ListAudit(ctx context.Context, params store.AuditParams) (all []store.AuditEntry, err error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := audited.Check(&params); err != nil {
		return nil, err
	}
	since, at, seq := audited.Bounds(&params)
	for _, e := range s.audited {
		is := e.At.UnixMicro()
		if is >= since && (is < at || is == at && e.Seq < seq) && audited.Fits(&params, &e) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b store.AuditEntry) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.Seq, a.Seq)) })
	return all[:min(len(all), params.Limit)], nil
}
