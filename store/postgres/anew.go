package postgres

import (
	"github.com/jackc/pgx/v5/pgtype"
)

// beginAnew are the statements that give runs that begin anew their args, and take most of what they remember. What entries have received
// is looked up before these go.
func beginAnew(runs []*run, now int64) []statement {
	var (
		ids        []pgtype.UUID
		leases     []int64
		data, args [][]byte
		codecs     []int32
	)
	for _, r := range runs {
		if r.anew == nil {
			continue
		}
		ids, leases = append(ids, uuidOf(r.lease.Job)), append(leases, r.lease.Number)
		data, codecs = append(data, r.anew.Data), append(codecs, int32(r.anew.Codec))
		if r.anew.Args == nil {
			args = append(args, []byte{})
		} else {
			args = append(args, r.anew.Args)
		}
	}
	if ids == nil {
		return nil
	}
	return []statement{
		{name: "anew_inbox", args: []any{ids}},
		{name: "anew_journal", args: []any{ids, leases, data, now}},
		{name: "anew", args: []any{ids, args, codecs}},
	}
}
