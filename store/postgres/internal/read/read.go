package read

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/remains"
)

// Store answers questions.
type Store struct{ *local.Store }

// Get is that of store.Reader, without the class of its error.
func (s *Store) Get(ctx context.Context, namespace string, id store.ID) (store.Record, error) {
	record, err := s.get(ctx, id)
	if err == nil && (record.ID == (store.ID{}) || namespace != "" && record.Namespace != namespace) {
		record, err = store.Record{}, remains.NoJob(ctx, s.DB, namespace, id)
	}
	return record, err
}

// get returns the zero record for a job that is not there.
func (s *Store) get(ctx context.Context, id store.ID) (store.Record, error) {
	found := &recordSet{ids: []store.ID{id}}
	var attempts []store.Attempt
	var actions []store.Action
	var entries, messages int64
	sizes := pg.Statement{Name: "journal_sizes", Args: []any{pg.UUIDOf(id)}, Each: func(r pg.Row) error { return r.Scan(&entries, &messages) }}
	if err := s.Read(ctx, found.statement(), attemptsOf(id, &attempts), sizes, actionsOf(id, &actions)); err != nil {
		return store.Record{}, err
	}
	records, err := s.namedRecords(ctx, found)
	if err != nil {
		return store.Record{}, err
	}
	if len(records) == 0 {
		return store.Record{}, nil
	}
	slices.Reverse(actions)
	records[0].Actions = actions
	records[0].Attempts, records[0].Journal, records[0].Messages = attempts, entries, messages
	if nodes := records[0].Nodes(); len(nodes) > 0 {
		builds := map[int64]store.Build{}
		if err := s.Read(ctx, remains.Builds(nodes, func(b store.NodeBuild) { builds[b.Node] = b.Build })); err != nil {
			return store.Record{}, err
		}
		records[0].SetBuilds(builds)
	}
	if records[0].State == store.Waiting {
		records[0].Predecessors, err = s.predecessors(ctx, id)
	}
	return records[0], err
}

// predecessors are those for which a job waits.
func (s *Store) predecessors(ctx context.Context, id store.ID) (list []store.Predecessor, err error) {
	var ids []store.ID
	err = s.Read(ctx, pg.Statement{Name: "edges_of", Args: []any{pg.UUIDOf(id)}, Each: func(r pg.Row) error {
		var on pgtype.UUID
		var policy int32
		err := r.Scan(&on, &policy)
		ids = append(ids, on.Bytes)
		list = append(list, store.Predecessor{Dependency: store.Dependency{On: on.Bytes, IfFailed: store.FailurePolicy(policy)}})
		return err
	}})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	records, err := s.RecordsOf(ctx, ids)
	states := make(map[store.ID]store.State, len(records))
	for i := range records {
		states[records[i].ID] = records[i].State
	}
	for i := range list {
		list[i].State = states[list[i].On]
	}
	return list, err
}

// RecordsOf reads the records of those of the jobs that exist, in the order given, without their
// attempts.
func (s *Store) RecordsOf(ctx context.Context, ids []store.ID) ([]store.Record, error) {
	found := &recordSet{ids: ids}
	if err := s.Read(ctx, found.statement()); err != nil {
		return nil, err
	}
	return s.namedRecords(ctx, found)
}

// RecordIn reads the record of a job in a transaction, without its attempts.
func (s *Store) RecordIn(ctx context.Context, t pg.Runner, id store.ID) (r store.Record, found bool, err error) {
	set := &recordSet{ids: []store.ID{id}}
	st := set.statement()
	if err := t.Run(ctx, st.Name, st.Each, st.Args...); err != nil {
		return r, false, err
	}
	if len(set.lanes) > 0 {
		if err := t.Run(ctx, "lanes_by_id", s.CacheLane, set.lanes); err != nil {
			return r, false, err
		}
	}
	records, err := s.namedRecords(ctx, set)
	if err != nil || len(records) == 0 {
		return r, false, err
	}
	return records[0], true, nil
}

// recordSet collects records.
type recordSet struct {
	ids     []store.ID
	records []store.Record
	lanes   []int32
}

func (set *recordSet) statement() pg.Statement {
	return pg.Statement{Name: "records", Args: []any{pg.UUIDsOf(set.ids)}, Each: func(r pg.Row) error {
		record, lane, err := scanRecord(r, set.ids)
		set.records = append(set.records, record)
		set.lanes = append(set.lanes, lane)
		return err
	}}
}

// namedRecords fills in what the lanes of records say.
func (s *Store) namedRecords(ctx context.Context, set *recordSet) ([]store.Record, error) {
	if err := s.KnowLanes(ctx, set.lanes); err != nil {
		return nil, err
	}
	for i := range set.records {
		if err := s.Describe(&set.records[i].Job, set.lanes[i]); err != nil {
			return nil, err
		}
	}
	return set.records, nil
}

// finishedRow is what is scanned of a finished job.
type finishedRow struct {
	state                  *int32 // nil: it has not finished
	reason, words          *string
	result                 []byte
	codec                  *int32
	fingerprint            *int64
	lease, node, claimedAt *int64
	startedAt, finishedAt  *int64
}

func (f *finishedRow) columns() []any {
	return []any{
		&f.state, &f.reason, &f.words, &f.result, &f.codec, &f.fingerprint,
		&f.lease, &f.node, &f.claimedAt, &f.startedAt, &f.finishedAt,
	}
}

// describe fills in what the end of a job says.
func (f *finishedRow) describe(record *store.Record) {
	record.State, record.Reason = store.State(*f.state), store.Reason(pg.TextOf(f.reason))
	record.Result, record.ResultCodec, record.Fingerprint = f.result, int(pg.OptInt(f.codec)), pg.OptInt(f.fingerprint)
	record.StartedAt, record.FinishedAt = pg.OptTime(f.startedAt), pg.OptTime(f.finishedAt)
	if record.State != store.Completed {
		record.Error = pg.TextOf(f.words)
	}
	if f.lease != nil {
		record.Lease, record.ClaimedAt = store.Lease{Number: *f.lease, Node: *f.node}, pg.OptTime(f.claimedAt)
	}
}

// scanRecord reads one row of the statement records. The state is where the pointer is.
func scanRecord(r pg.Row, ids []store.ID) (record store.Record, lane int32, err error) {
	var (
		place                            int64
		b                                pg.Body
		finished                         finishedRow
		lastError                        *string
		node, seq, slot, number, claimed *int64
		deferred                         pg.WaitRow
		blocked                          *bool
		asked, pausing                   *bool
		lastClaimedAt                    *int64
		check                            pg.CheckpointRow
		attributes                       *string
	)
	err = r.Scan(slices.Concat([]any{
		&place, &b.Lane, &b.RunAt, &b.CreatedAt, &b.Lease, &b.Attempt, &b.MaxAttempts, &b.Codec, &b.Args, &b.Options, &b.Tags,
		&b.Metadata, &b.OrderingKey, &b.UniqueKey, &b.UniqueStates, &b.Parent, &b.Link, &b.Closing,
	}, finished.columns(), []any{&node, &seq, &slot, &number, &claimed}, deferred.Columns(), []any{
		&blocked, &asked, &pausing, &lastClaimedAt, &lastError,
		&check.Percent, &check.Message, &check.Value, &check.UpdatedAt, &attributes,
	})...)
	if err != nil {
		return record, 0, err
	}
	id := ids[place-1]
	// Completing and claiming leave the body alone: what they count is told by their own rows.
	if number != nil {
		b.Lease, b.Attempt = *number, b.Attempt+1
	}
	if end := finished.lease; end != nil && *end > b.Lease {
		b.Lease, b.Attempt = *end, b.Attempt+1
	}
	if record.Job, err = b.Job(id); err != nil {
		return record, 0, err
	}
	if record.Attributes, err = pg.ParseAttributes(attributes); err != nil {
		return record, 0, err
	}
	record.ClaimedAt, record.Error, record.Checkpoint = pg.OptTime(lastClaimedAt), pg.TextOf(lastError), check.Checkpoint()
	record.CancelRequested = asked != nil
	switch {
	case finished.state != nil:
		finished.describe(&record)
	case node != nil:
		record.State, record.ClaimedAt = store.Running, pg.TimeOf(*claimed)
		record.Lease = store.Lease{Job: id, Number: *number, Node: *node, Claim: *seq, Slot: int(*slot)}
		record.PauseRequested = pausing != nil
	case deferred.State != nil:
		record.State, record.Wait = store.State(*deferred.State), deferred.Info()
	default:
		record.State = store.Available
		record.Blocked = blocked != nil && *blocked
	}
	return record, b.Lane, nil
}

func attemptsOf(id store.ID, attempts *[]store.Attempt) pg.Statement {
	return pg.Statement{Name: "attempts", Args: []any{pg.UUIDOf(id)}, Each: func(r pg.Row) error {
		var (
			a                    store.Attempt
			number, outcome      int32
			claimedAt, endedAt   int64
			startedAt            *int64
			reason, words, trace *string
		)
		err := r.Scan(&number, &a.LeaseNumber, &a.Node, &claimedAt, &startedAt, &endedAt, &outcome, &reason, &words, &trace)
		a.Number, a.Outcome, a.Reason = int(number), store.State(outcome), store.Reason(pg.TextOf(reason))
		a.Error, a.Trace = pg.TextOf(words), pg.TextOf(trace)
		a.ClaimedAt, a.StartedAt, a.EndedAt = pg.TimeOf(claimedAt), pg.OptTime(startedAt), pg.TimeOf(endedAt)
		*attempts = append(*attempts, a)
		return err
	}}
}

// actionsOf reads what people did to a job, newest first.
func actionsOf(id store.ID, actions *[]store.Action) pg.Statement {
	return pg.Statement{Name: "actions", Args: []any{pg.UUIDOf(id), int32(store.ActionBound)}, Each: func(r pg.Row) error {
		var a store.Action
		var at int64
		var reason *string
		err := r.Scan(&at, &a.Kind, &a.Actor, &reason)
		a.At, a.Reason = pg.TimeOf(at), pg.TextOf(reason)
		*actions = append(*actions, a)
		return err
	}}
}

// Ended is that of store.Reader, without the class of its error.
func (s *Store) Ended(ctx context.Context, namespace string, ids []store.ID) ([]store.Ended, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var ended []store.Ended
	others, err := s.LookIn(ctx, namespace, ids, pg.Statement{Name: "ended", Args: []any{pg.UUIDsOf(ids)}, Each: func(r pg.Row) error {
		var (
			place         int64
			there         *bool
			codec, state  *int32
			reason, words *string
			e             store.Ended
		)
		if err := r.Scan(&place, &there, &state, &reason, &words, &e.Result, &codec); err != nil {
			return err
		}
		if e.ID = ids[place-1]; state != nil && there != nil {
			e.State, e.Codec, e.Reason, e.Error = store.State(*state), int(pg.OptInt(codec)), store.Reason(pg.TextOf(reason)), pg.TextOf(words)
		}
		ended = append(ended, e)
		return nil
	}})
	if len(others) > 0 { // of which nothing is told, not even that they have not finished
		ended = slices.DeleteFunc(ended, func(e store.Ended) bool { return others[e.ID] })
		for _, id := range ids {
			if others[id] {
				ended = append(ended, store.Ended{ID: id})
			}
		}
	}
	return ended, err
}
