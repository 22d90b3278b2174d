package after_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/after"
	"github.com/holdfastdev/holdfast/store"
)

// TestKeepTurn: the jobs behind one that has failed wait, and say so, until it is skipped.
func TestKeepTurn(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), open(t)
	err := first.Handle(c, func(_ *holdfast.Run, in string) (string, error) {
		if in == "fail" {
			return "", holdfast.Fail(errors.New("it is broken"))
		}
		return in, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	go c.Run(ctx) //nolint:errcheck // it ends with the test
	inTurn := holdfast.Options(holdfast.OrderingKey("k"), after.KeepTurn())
	one := get[*holdfast.Job[string]](t)(first.Enqueue(ctx, c, "fail", inTurn))
	if _, err := one.Wait(ctx); err == nil {
		t.Fatal("it has not failed")
	}
	two := get[*holdfast.Job[string]](t)(first.Enqueue(ctx, c, "go", inTurn))
	e, err := c.Why(ctx, two.ID)
	if err != nil || e.Causes[0].Job != one.ID || !strings.Contains(e.Causes[0].Text, "has failed and keeps the turn") {
		t.Fatalf("why it waits: %+v, %v", e, err)
	}
	if results, err := after.Skip(ctx, c, "", two.ID); err != nil || !errors.Is(results[0].Err, store.ErrConflict) {
		t.Errorf("one that waits: %+v, %v", results, err)
	}
	if results, err := after.Skip(ctx, c, "settled", one.ID); err != nil || results[0].Err != nil {
		t.Errorf("the one that has failed: %+v, %v", results, err)
	}
	if got, err := two.Wait(ctx); err != nil || got != "go" {
		t.Errorf("the one behind: %q, %v", got, err)
	}
	if _, err := first.Enqueue(ctx, c, "", after.KeepTurn()); !errors.Is(err, holdfast.ErrInvalid) {
		t.Errorf("without a key: %v", err)
	}
}
