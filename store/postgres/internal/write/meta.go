package write

import (
	"bytes"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// said is what runs say of their jobs, the last word of each.
type said map[store.ID]*store.Meta

func (s said) add(job store.ID, m *store.Meta) {
	if !m.IsEmpty() {
		s[job] = s[job].Over(m)
	}
}

// saidBy is what writes say that can be written, in the order of a batch.
func saidBy(checkpoints []*store.CheckpointWrite, appends []*appending, runs []*Run) said {
	s := said{}
	for _, c := range checkpoints {
		if c.Err == nil {
			s.add(c.Lease.Job, c.Meta)
		}
	}
	for _, a := range appends {
		if a.Err == nil {
			s.add(a.Lease.Job, a.Meta)
		}
	}
	for _, r := range runs {
		if r.outcome != nil && r.outcome.Err == nil {
			s.add(r.Lease.Job, r.outcome.Meta)
		}
	}
	return s
}

// jobs are those of which something is said, in the order in which bodies are locked.
func (s said) jobs() (ids []pgtype.UUID) {
	for id := range s {
		ids = append(ids, pg.UUIDOf(id))
	}
	slices.SortFunc(ids, func(a, b pgtype.UUID) int { return bytes.Compare(a.Bytes[:], b.Bytes[:]) })
	return ids
}

// writing are the statements that write it, none as a rule. The leases are found to live in the
// same transaction.
func (s said) writing() []pg.Statement {
	if len(s) == 0 {
		return nil
	}
	ids := s.jobs()
	metadata, tags := make([]*string, len(ids)), make([]*string, len(ids))
	for i, id := range ids {
		m := s[id.Bytes]
		metadata[i] = pg.OptText(string(m.Metadata))
		if m.Tags != nil {
			none := "[]"
			if tags[i], _ = pg.EncodeTags(m.Tags); tags[i] == nil { // strings can always be written
				tags[i] = &none
			}
		}
	}
	return []pg.Statement{{Name: "say", Args: []any{ids, metadata, tags}}}
}
