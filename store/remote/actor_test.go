package remote_test

import (
	"slices"
	"testing"

	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/store"
)

// TestActors: what a client of a server changes is recorded with the principal that the server has
// let in, and with whom the client says it is.
func TestActors(t *testing.T) {
	t.Parallel()
	a := newAddress(t)
	a.start(t, file(t), server.Options{Authenticate: access.Anyone("key K1 (ci)")})
	s, ctx := connect(t, a.URL), t.Context()
	l := store.Limit{Namespace: "default", Name: "partner", LimitSettings: store.LimitSettings{Capacity: 1}}
	if _, err := s.SaveLimit(ctx, l, 0, "ada"); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteLimit(ctx, "default", "partner", false, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Pause(ctx, store.PauseParams{Namespace: "default", Queue: "mail", Paused: true, Actor: "ada"}); err != nil {
		t.Fatal(err)
	}
	all, err := s.ListAudit(ctx, store.AuditParams{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	var is []string
	for _, e := range all {
		is = append(is, e.Action+" by "+e.Actor)
	}
	want := []string{"pause by ada via key K1 (ci)", "delete by key K1 (ci)", "create by ada via key K1 (ci)"}
	if !slices.Equal(is, want) {
		t.Errorf("recorded: %q", is)
	}
}
