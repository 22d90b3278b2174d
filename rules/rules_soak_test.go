//go:build soak

package rules_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/rules"
)

// TestKilled: the node that has made a callback dies, and code with other rules goes on: those with
// which it was made decide.
func TestKilled(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, database string) {
		client := open(t.Context(), t, database)
		kill := killable(t, database)
		job, token := begin(t, client)
		kill()
		if err := errors.Join(handle(client, rules.Callback{OnComplete: `payload.second == true`}, nil), client.Start(t.Context())); err != nil {
			t.Fatal(err)
		}
		for sent, want := range map[string]string{`{"second":true}`: "no such key: first", `{"first":false,"second":true}`: "ignored"} {
			got, err := rules.Answer(t.Context(), client, token, []byte(sent))
			if err == nil && string(got) != want || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q, %v; want %s", sent, got, err, want)
			}
		}
		if got, err := rules.Answer(t.Context(), client, token, []byte(`{"first":true}`)); got != rules.Completed || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if result, err := job.Wait(t.Context()); result != `{"first":true}` || err != nil {
			t.Errorf("the job has ended with %s, %v", result, err)
		}
	})
}
