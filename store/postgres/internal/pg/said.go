package pg

import (
	"bytes"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// Said is what runs say of their jobs, the last word of each.
type Said map[store.ID]*store.Meta

// Add adds what a run says, after what it has said before.
func (s Said) Add(job store.ID, m *store.Meta) {
	if !m.IsEmpty() {
		s[job] = s[job].Over(m)
	}
}

// Jobs are those of which something is said, in the order in which bodies are locked.
func (s Said) Jobs() (ids []pgtype.UUID) {
	for id := range s {
		ids = append(ids, UUIDOf(id))
	}
	slices.SortFunc(ids, func(a, b pgtype.UUID) int { return bytes.Compare(a.Bytes[:], b.Bytes[:]) })
	return ids
}

// Writing are the statements that write it, none as a rule. The leases are found to live in the
// same transaction.
func (s Said) Writing() []Statement {
	if len(s) == 0 {
		return nil
	}
	ids := s.Jobs()
	var attributes Attributes
	words := false
	metadata, tags := make([]*string, len(ids)), make([]*string, len(ids))
	for i, id := range ids {
		m := s[id.Bytes]
		attributes.Add(id.Bytes, m.Attributes)
		words = words || m.Metadata != nil || m.Tags != nil
		metadata[i] = OptText(string(m.Metadata))
		if m.Tags != nil {
			none := "[]"
			if tags[i], _ = EncodeTags(m.Tags); tags[i] == nil { // strings can always be written
				tags[i] = &none
			}
		}
	}
	list := attributes.Writing(nil)
	if words {
		list = append(list, Statement{Name: "say", Args: []any{ids, metadata, tags}})
	}
	return list
}
