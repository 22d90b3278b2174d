package write

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// continueAsNew returns the statements that reset jobs that continue as new: they get their args,
// and lose their journal and inbox but for what Continue keeps. The messages that entries have
// received are looked up before the entries are deleted.
func continueAsNew(runs []*Run, now int64) []pg.Statement {
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
		ids, leases = append(ids, pg.UUIDOf(r.Lease.Job)), append(leases, r.Lease.Number)
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
	return []pg.Statement{
		{Name: "continue_inbox", Args: []any{ids}},
		{Name: "continue_journal", Args: []any{ids, leases, data, now}},
		{Name: "continue_job", Args: []any{ids, args, codecs}},
	}
}
