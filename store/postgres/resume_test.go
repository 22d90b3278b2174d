package postgres_test

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestResumeIsOnRecord: who takes a drain back, and why, and no more if there is none.
func TestResumeIsOnRecord(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s, ctx := open(t, config), t.Context()
	l := store.Limit{Namespace: "default", Name: "slack"}
	l.Uncapped, l.Rate = true, &store.Rate{Count: 1, Per: time.Second}
	if _, err := s.SaveLimit(ctx, l, 0, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Drain(ctx, l.Namespace, l.Name, time.Now().Add(time.Hour), ""); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := s.ResumeLimit(ctx, store.ResumeLimitParams{Namespace: l.Namespace, Name: l.Name, Actor: "ada", Reason: "they are well"})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := value[string](t, connect(t, config.URL),
		"SELECT string_agg(actor || ' ' || action || ' ' || detail, ', ') FROM "+config.SchemaName+".audit")
	if got != "ada resume limit slack: they are well" {
		t.Errorf("on record is %q", got)
	}
}
