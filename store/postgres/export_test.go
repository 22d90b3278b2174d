package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// FakeCursors gives the cursors of a store another clock, and with it cursors to a store whose
// clock is a test's.
func FakeCursors(s store.Store, clock func() time.Time) {
	s.(*Store).local.Cursors.Clock = clock //nolint:errcheck // what else would it be
}

// Fence is the statement by which those who write the journals of a node's runs keep others from
// taking its leases.
func Fence(s store.Store) string { return s.(*Store).db.Text("fence") } //nolint:errcheck // what else would it be

// ClaimPlan explains what a claim costs that begins at the cursors, or looks at everything; it does
// not happen.
func ClaimPlan(ctx context.Context, s store.Store, params store.ClaimParams, whole bool) (lines []string, err error) {
	opened := s.(*Store) //nolint:errcheck // what else would it be
	from := opened.local.Cursors.Begin(&params, whole, &opened.local.Lanes)
	defer opened.local.Cursors.Forgo(from)
	return opened.tryout(ctx, pg.Statement{Name: "claim", Args: append(opened.claims.Args(params, opened.db.Micros(), from), false)})
}

// FairPlan is ClaimPlan for a claim that knows of fair keys, and looks at everything.
func FairPlan(ctx context.Context, s store.Store, params store.ClaimParams) (lines []string, err error) {
	opened := s.(*Store) //nolint:errcheck // what else would it be
	from := &local.Look{Whole: true}
	args := append(opened.claims.Args(params, opened.db.Micros(), from), false, params.Turn())
	return opened.tryout(ctx, pg.Statement{Name: "claim_fair", Args: args})
}

// GatesPlan explains what it costs a claim to look at a gate of a limit; it does not happen.
func GatesPlan(ctx context.Context, s store.Store, limit string, gate int64) ([]string, error) {
	opened := s.(*Store) //nolint:errcheck // what else would it be
	return opened.tryout(ctx, pg.Statement{Name: "gates_look", Args: []any{
		[]int64{gate}, []int32{1}, []int32{1}, []string{limit}, "default", []string{"send"}, opened.db.Micros(), opened.db.Injected(),
	}})
}

// AnswerPlan explains what it costs that jobs that have finished answer their parents; it does not
// happen.
func AnswerPlan(ctx context.Context, s store.Store, jobs []store.ID) ([]string, error) {
	opened := s.(*Store) //nolint:errcheck // what else would it be
	runs := make([]*write.Run, len(jobs))
	for i, id := range jobs {
		runs[i] = &write.Run{Lease: store.Lease{Job: id}, Place: i}
	}
	return opened.tryout(ctx, write.Answer(runs, nil, opened.db.Micros()))
}

// tryout explains what a statement costs; it does not happen.
func (s *Store) tryout(ctx context.Context, st pg.Statement) (lines []string, err error) {
	err = s.db.Conns.With(ctx, func(conn *pgx.Conn) error {
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(ctx) }()
		rows, err := tx.Query(ctx, "EXPLAIN (ANALYZE, BUFFERS) "+s.db.Text(st.Name), st.Args...)
		if err != nil {
			return err
		}
		lines, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return lines, err
}

// Break makes a statement of a store fail until it is mended.
func Break(s store.Store, name string) (mend func()) {
	texts := s.(*Store).db.Texts //nolint:errcheck // what else would it be
	was := texts[name]
	texts[name] = "SELECT 1 / 0"
	return func() { texts[name] = was }
}

// EndSilent ends what has been silent for that long in the middle of a transaction and keeps a node
// from being declared dead.
func EndSilent(ctx context.Context, s store.Store, since time.Duration) error {
	opened := s.(*Store) //nolint:errcheck // what else would it be
	return opened.db.Send(ctx, opened.operate.EndSilent(since))
}

// KeepLanes bounds how many lanes a generation of a store's cache keeps.
func KeepLanes(s store.Store, most int) { s.(*Store).local.Lanes.Most = most } //nolint:errcheck // what else would it be

// ApplyPause does what follows when a request to pause a job was read: it is applied, if it stands
// still.
func ApplyPause(ctx context.Context, s store.Store, id store.ID) error {
	opened := s.(*Store) //nolint:errcheck // what else would it be
	return opened.operate.PauseThese(ctx, []store.ID{id}, "", "", false, map[store.ID]store.State{})
}

// MoveAtMost bounds how many entries of journals retention moves.
func MoveAtMost(s store.Store, entries int) { s.(*Store).operate.MoveMost = entries } //nolint:errcheck // what else would it be

// KeepAtMost sets how many jobs of a day may be kept for its tables to be dropped.
func KeepAtMost(s store.Store, jobs int) { s.(*Store).operate.KeepMost = jobs } //nolint:errcheck // what else would it be

// Keeps tells which kinds of calls of a store have a connection now.
func Keeps(s store.Store) (kinds []string) {
	db := s.(*Store).db //nolint:errcheck // what else would it be
	for name, kind := range map[string]*pg.Sticky{"claims": &db.Claiming, "slots": &db.Granting, "writes": &db.Writing} {
		if kind.Keeps() {
			kinds = append(kinds, name)
		}
	}
	return kinds
}

// Lasting are connections that outlive the stores that are opened on them, one after the other:
// they have planned what each store asks.
type Lasting struct{ first *Store }

// Connect opens the connections that a store of the source would have.
func Connect(ctx context.Context, source Config) (*Lasting, error) {
	s, err := source.connect(ctx)
	return &Lasting{s}, err
}

// Open opens a store with a clock.
func (l *Lasting) Open(ctx context.Context, clock func() time.Time) (store.Store, error) {
	options := l.first.db.Options
	options.Clock = clock
	s := newStore(&pg.DB{Options: options, Conns: l.first.db.Conns, Kinds: l.first.db.Kinds, Texts: l.first.db.Texts}, false)
	if err := s.ready(ctx, false); err != nil {
		return nil, err
	}
	return s, nil
}

// Close closes the connections.
func (l *Lasting) Close() error { return l.first.Close() }

// Texts are the statements of a store by their names.
func Texts(s store.Store) map[string]string { return s.(*Store).db.Texts } //nolint:errcheck // what else would it be

// Later is a database as a program uses it that has one migration more than this one, of {schema}.
func Later(c Config, m store.Migration) Config {
	c.later = &m
	return c
}
