package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// TestANodeThatAsksIsNotDead: while a call for slots waits for a limit its node is not declared
// dead by whoever believes so, and its beats do not wait. Afterwards it is, and holds nothing.
func TestANodeThatAsksIsNotDead(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s, conn, watcher := open(t, config), connect(t, config.URL), connect(t, config.URL)
	l := store.Limit{Namespace: "default", Name: "partner", LimitSettings: store.LimitSettings{Capacity: 5}}
	l, err := s.SaveLimit(t.Context(), l, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	node := join(t, s)
	nodes, err := s.Nodes(t.Context())
	if err != nil || len(nodes) != 1 {
		t.Fatal(nodes, err)
	}
	dead := store.RescueParams{Dead: []store.NodeBeat{{Node: node, At: nodes[0].BeatAt}}}
	tx, err := conn.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), "SELECT 1 FROM "+config.SchemaName+".limit_rule FOR UPDATE")
	}
	if err != nil {
		t.Fatal(err)
	}
	granted := make(chan []store.Grant, 1)
	go func() {
		asks := []store.LimitAsk{{Limit: l.ID, Version: l.Version, Want: 3}}
		got, err := s.Grant(t.Context(), store.GrantParams{Node: node, Call: 1, Asks: asks})
		if err != nil {
			t.Error(err)
		}
		granted <- got
	}()
	eventually(t, "the call waits for the limit", func() bool {
		return value[bool](t, watcher, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid)))", conn.PgConn().PID())
	})
	if rescued, err := s.Rescue(t.Context(), dead); err != nil || len(rescued.Died) != 0 {
		t.Errorf("while the node asks: %+v, %v", rescued, err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-granted; len(got) != 1 || got[0].Slots != 3 {
		t.Errorf("granted %+v", got)
	}
	rescued, err := s.Rescue(t.Context(), dead)
	if err != nil || len(rescued.Died) != 1 || len(rescued.Wakes) != 1 || rescued.Wakes[0].Kind != store.WakeSlotsFree {
		t.Errorf("afterwards: %+v, %v", rescued, err)
	}
	if n := value[int](t, watcher, "SELECT count(*)::int FROM "+config.SchemaName+".limit_grant"); n != 0 {
		t.Errorf("%d grants are left", n)
	}
}

// TestBeatsPassCallsForSlots: a call for slots holds its node's row so that beats and claims go on.
func TestBeatsPassCallsForSlots(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s, conn := open(t, config), connect(t, config.URL)
	node := join(t, s)
	tx, err := conn.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), "SELECT 1 FROM "+config.SchemaName+".node WHERE id = $1 FOR KEY SHARE", node)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	enqueue(t, s, newJob())
	if _, err := s.Beat(t.Context(), store.BeatParams{Node: node}); err != nil {
		t.Errorf("a beat: %v", err)
	}
	if runs, err := s.Claim(t.Context(), demand(node, 1, 10)); err != nil || len(runs) != 1 {
		t.Errorf("a claim: %v, %v", runs, err)
	}
}

// TestOnlyLimitsPerKeyAskForASweep: a change of another limit does not have the gates looked at,
// however many they are.
func TestOnlyLimitsPerKeyAskForASweep(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s, conn := open(t, config), connect(t, config.URL)
	asked := func() int {
		return value[int](t, conn, "SELECT coalesce(max(at) FILTER (WHERE id = 2), 0)::int FROM "+config.SchemaName+".gate_sweep")
	}
	version := int64(0)
	save := func(perKey bool) {
		l := store.Limit{Namespace: "default", Name: "partner", LimitSettings: store.LimitSettings{Capacity: 5, PerKey: perKey}}
		saved, err := s.SaveLimit(t.Context(), l, version, "")
		if err != nil {
			t.Fatal(err)
		}
		version = saved.Version
	}
	remove := func() {
		if err := s.DeleteLimit(t.Context(), "default", "partner", false, ""); err != nil {
			t.Fatal(err)
		}
		version = 0
	}
	for i, c := range []struct {
		do   func()
		asks bool
	}{
		{func() { save(false) }, false},
		{func() { save(false) }, false},
		{remove, false},
		{func() { save(true) }, true},
		{func() { save(true) }, true},
		{func() { save(false) }, true},
		{func() { save(true) }, true},
		{remove, true},
	} {
		before := asked()
		if c.do(); asked() > before != c.asks {
			t.Errorf("step %d: it was asked for %d times, and then %d", i, before, asked())
		}
	}
}

// trips counts round trips: statements alone, and batches.
type trips struct{ asked }

func (a *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	a.n.Add(1)
	return ctx
}
func (*trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TestAReservationIsFourRoundTrips: the limit is held for all of them, and others wait for it.
func TestAReservationIsFourRoundTrips(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s, count := tripping(t, config)
	rate := store.LimitSettings{Uncapped: true, Rate: &store.Rate{Count: 10, Per: time.Second, Burst: 5}}
	if _, err := s.SaveLimit(t.Context(), store.Limit{Namespace: "default", Name: "partner", LimitSettings: rate}, 0, ""); err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, newJob())
	runs, err := s.Claim(t.Context(), demand(join(t, s), 1, 1))
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	for seq := range int64(3) {
		entry := store.Entry{Seq: seq + 1, Kind: store.EntryStep, Name: "s"}
		r := &store.Reservation{
			Namespace: "default", Name: "partner", Append: &store.Append{Lease: runs[0].Lease, Entries: []store.Entry{entry}},
			Say: func(*store.Reservation) {},
		}
		count.n.Store(0)
		if err := s.Reserve(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if n := count.n.Load(); seq > 0 && n != 4 { // at first the statements are prepared
			t.Errorf("it was %d round trips, want 4", n)
		}
	}
}

// tripping opens a store whose round trips are counted.
func tripping(t *testing.T, config postgres.Config) (store.Store, *trips) {
	t.Helper()
	count := &trips{}
	return traced(t, config, count), count
}

// TestSlotsAreGivenBackWithoutRoomForNotifications: a session that has listened for long and reads
// none fills their queue, which is gigabytes: here the server says so at once.
func TestSlotsAreGivenBackWithoutRoomForNotifications(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	conn, full := connect(t, config.URL), config.SchemaName+"_full"
	for _, sql := range []string{
		"CREATE SCHEMA " + full,
		"CREATE FUNCTION " + full + `.pg_notify(text, text) RETURNS void LANGUAGE plpgsql AS
			$$ BEGIN RAISE 'too many notifications in the NOTIFY queue' USING ERRCODE = '54000'; END $$`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	settings, err := pgxpool.ParseConfig(config.URL)
	if err != nil {
		t.Fatal(err)
	}
	settings.ConnConfig.RuntimeParams["search_path"] = full + ", pg_catalog"
	pool, err := pgxpool.NewWithConfig(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s := open(t, postgres.Config{Pool: pool, SchemaName: config.SchemaName})
	l, err := s.SaveLimit(t.Context(), store.Limit{Namespace: "n", Name: "l", LimitSettings: store.LimitSettings{Capacity: 3}}, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	node := join(t, s)
	for call, want := range []int{3, 1} {
		params := store.GrantParams{
			Node: node, Call: int64(call) + 1, Asks: []store.LimitAsk{{Limit: l.ID, Version: l.Version, Want: want}}, Tell: true,
		}
		if answer, err := s.Grant(t.Context(), params); err != nil || len(answer) != 1 || answer[0].Slots != want || answer[0].Told {
			t.Fatalf("call %d: %+v, %v", call, answer, err)
		}
	}
}
