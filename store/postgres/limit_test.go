package postgres_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestANodeThatAsksIsNotDead: while a call for slots waits for a limit its node is not declared
// dead by whoever believes so, and its beats do not wait. Afterwards it is, and holds nothing.
func TestANodeThatAsksIsNotDead(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s, conn, watcher := open(t, config), connect(t, config.URL), connect(t, config.URL)
	l, err := s.SaveLimit(t.Context(), store.Limit{Namespace: "default", Name: "partner", LimitSettings: store.LimitSettings{Capacity: 5}}, 0)
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
