package write

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// continuing are jobs that continue as new.
type continuing struct {
	ids        []pgtype.UUID
	leases     []int64 // of their last runs
	data, args [][]byte
	codecs     []int32
}

func (c *continuing) add(job store.ID, lease int64, next *store.Continue) {
	c.ids, c.leases = append(c.ids, pg.UUIDOf(job)), append(c.leases, lease)
	c.data, c.codecs = append(c.data, next.Data), append(c.codecs, int32(next.Codec))
	if next.Args == nil {
		c.args = append(c.args, []byte{})
	} else {
		c.args = append(c.args, next.Args)
	}
}

// statements are those that reset the jobs: they get their args, and lose their journal and inbox
// but for what Continue keeps. The messages that entries have received are looked up before the
// entries are deleted.
func (c *continuing) statements(now int64) []pg.Statement {
	if c.ids == nil {
		return nil
	}
	return []pg.Statement{
		{Name: "continue_inbox", Args: []any{c.ids}},
		{Name: "continue_journal", Args: []any{c.ids, c.leases, c.data, now}},
		{Name: "continue_job", Args: []any{c.ids, c.args, c.codecs}},
	}
}

// continueAsNew returns the statements that reset those of the jobs of runs that continue as new.
func continueAsNew(runs []*Run, now int64) []pg.Statement {
	var c continuing
	for _, r := range runs {
		if r.next != nil {
			c.add(r.Lease.Job, r.Lease.Number, r.next)
		}
	}
	return c.statements(now)
}

// StartOver are the statements that reset a job which does not run, whose last run had that lease.
func StartOver(job store.ID, lease int64, next *store.Continue, now int64) []pg.Statement {
	var c continuing
	c.add(job, lease, next)
	return c.statements(now)
}
