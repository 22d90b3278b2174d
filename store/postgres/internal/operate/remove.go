package operate

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/attributes"
	"github.com/holdfastdev/holdfast/store/postgres/internal/joblog"
	"github.com/holdfastdev/holdfast/store/postgres/internal/keys"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/updates"
)

// ofJob are the tables that have rows of jobs, each under the column id, the end and the body last.
// It is what retention looks through, and what people delete: a table that belongs to jobs stands
// here, and nowhere else. What people did to jobs stays as long as it is to be, keys are found by
// the body, and a business key may stay.
var ofJob = []string{
	"checkpoint", "cancel_request", "pause_request", "generation", "job_update", "job_log", "attribute_value",
	"journal", "inbox", "attempt", "finished", "job",
}

// inPartitions are those that go with the partitions of their day. Of days for which an older
// program has made partitions, journals and inboxes are in the default partition.
var inPartitions = map[string]bool{"attempt": true, "finished": true, "job": true}

// afterwards are those that may have many rows outside of the partitions. They go when the jobs
// have gone, as business keys do (forgetGone), and not while everybody waits. Without the job they
// say nothing.
var afterwards = map[string]bool{"job_update": true, "job_log": true, "attribute_value": true}

// removeJobs removes finished jobs with everything that belongs to them. Their rows in finished,
// and their business keys, are locked.
func (s *Store) removeJobs(ctx context.Context, t pg.Session, ids []pgtype.UUID) error {
	for _, name := range []string{"forget_unique_keys_of", "keys_leave", "forget_actions_of"} {
		if err := t.Run(ctx, name, nil, ids); err != nil {
			return err
		}
	}
	for _, table := range ofJob {
		if _, err := t.Tx.Exec(ctx, s.tables.OfTable("forget_of", table), ids); err != nil {
			return err
		}
	}
	return nil
}

// forgetBetween removes what belongs to jobs of a range that do not survive, and is not in the
// partitions of their day, but for what goes afterwards.
func (s *Store) forgetBetween(ctx context.Context, t pg.Session, from, to pgtype.UUID, survivors []pgtype.UUID) error {
	for _, table := range append([]string{"unique_key"}, ofJob...) {
		if inPartitions[table] || afterwards[table] {
			continue
		}
		if _, err := t.Tx.Exec(ctx, s.tables.OfTable("forget_between", table), from, to, survivors); err != nil {
			return err
		}
	}
	return nil
}

// forgetGone removes what goes afterwards of jobs up to one: also what a process has left that died
// when it had removed the jobs, or what another transaction had then.
func (s *Store) forgetGone(ctx context.Context, to store.ID) error {
	if err := keys.ForgetGone(ctx, s.DB, to); err != nil {
		return err
	}
	if err := joblog.ForgetGone(ctx, s.DB, to); err != nil {
		return err
	}
	if err := attributes.ForgetGone(ctx, s.DB, to); err != nil {
		return err
	}
	return updates.ForgetGone(ctx, s.DB, to)
}
