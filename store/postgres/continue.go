package postgres

import (
	"github.com/jackc/pgx/v5/pgtype"
)

// continueAsNew returns the statements that reset jobs that continue as new: they get their args, and
// lose their journal and inbox but for what Continue keeps. The messages that entries have received are
// looked up before the entries are deleted.
func continueAsNew(runs []*run, now int64) []statement {
	var (
		ids        []pgtype.UUID
		leases     []int64
		data, args [][]byte
		codecs     []int32
	)
	for _, r := range runs {
		if r.next == nil {
			continue
		}
		ids, leases = append(ids, uuidOf(r.lease.Job)), append(leases, r.lease.Number)
		data, codecs = append(data, r.next.Data), append(codecs, int32(r.next.Codec))
		if r.next.Args == nil {
			args = append(args, []byte{})
		} else {
			args = append(args, r.next.Args)
		}
	}
	if ids == nil {
		return nil
	}
	return []statement{
		{name: "continue_inbox", args: []any{ids}},
		{name: "continue_journal", args: []any{ids, leases, data, now}},
		{name: "continue_job", args: []any{ids, args, codecs}},
	}
}
