package holdfast_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestArgsAreLimitedEverywhere: a job that continues as new, or is forked, with other args can have
// what an enqueue can have, and nothing else.
func TestArgsAreLimitedEverywhere(t *testing.T) {
	t.Parallel()
	large := func(bytes int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", bytes-2) + `"`) }
	onDatabases(t, func(t *testing.T, source store.Source) {
		const limit = holdfast.MaxPayload + 1000
		hf := openOn(t, source, holdfast.WithMaxPayload(limit))
		kind := holdfast.NewKind[json.RawMessage, int]("limited")
		next := map[string]json.RawMessage{
			"as much as it may": large(limit), "too much": large(limit + 1), "a NUL": json.RawMessage(`"\u0000"`), "no JSON": json.RawMessage(`{`),
		}
		var m counts
		err := kind.Handle(hf, func(_ *holdfast.Run, in json.RawMessage) (int, error) {
			var name string
			if err := json.Unmarshal(in, &name); err != nil {
				return 0, err
			}
			if args := next[name]; args != nil {
				return 0, kind.ContinueAsNew(args)
			}
			return len(in), nil
		}, holdfast.MaxAttempts(1), holdfast.WithMiddleware(m.measure))
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		fits := func(name string) bool { return name == "as much as it may" }
		for name, args := range next {
			job, err := kind.Enqueue(t.Context(), hf, json.RawMessage(`"`+name+`"`))
			if err != nil {
				t.Fatal(err)
			}
			n, err := job.Wait(t.Context())
			var failed *holdfast.JobError
			switch errors.As(err, &failed); {
			case fits(name) && (err != nil || n != limit):
				t.Errorf("continues with %s: %d, %v", name, n, err)
			case !fits(name) && (failed == nil || failed.Reason != store.ReasonTerminal || !strings.Contains(failed.Message, "args")):
				t.Errorf("continues with %s: %v", name, err)
			}
			if _, err := hf.Fork(t.Context(), "", job.ID, holdfast.Fork{Args: args}); fits(name) != (err == nil) ||
				err != nil && !errors.Is(err, holdfast.ErrInvalid) {
				t.Errorf("a fork with %s: %v", name, err)
			}
		}
		if got := m.String(); !strings.Contains(got, "error 3") {
			t.Errorf("the middleware counts %s", got)
		}
	})
}
