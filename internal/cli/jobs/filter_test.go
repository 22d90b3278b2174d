package jobs

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/store"
)

// TestFilterFlags: each flag sets what it is about, and nothing else.
func TestFilterFlags(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	id := holdfast.ID{}
	if parsed, err := arg.ParseID(arg.ExampleID); err == nil {
		id = parsed
	}
	hour, day := now.Add(-time.Hour), now.Add(-24*time.Hour)
	match := func(path, value string) []store.Match {
		return []store.Match{{Path: path, Value: json.RawMessage(value)}}
	}
	for _, test := range []struct {
		args []string
		want store.Filter
	}{
		{nil, store.Filter{}},
		{
			[]string{"--state", "failed,running", "--state", "waiting"},
			store.Filter{States: []store.State{store.Failed, store.Running, store.Waiting}},
		},
		{[]string{"--queue", "a,b", "--queue", "c"}, store.Filter{Queues: []string{"a,b", "c"}}},
		{[]string{"--kind", "a", "--kind", "b"}, store.Filter{Kinds: []string{"a", "b"}}},
		{[]string{"--tag", "a", "--tag", "b"}, store.Filter{Tags: []string{"a", "b"}}},
		{[]string{"--kind", "a", "--key", "k"}, store.Filter{Kinds: []string{"a"}, Key: "k"}},
		{[]string{"--parent", arg.ExampleID}, store.Filter{Parent: id}},
		{[]string{"--root", arg.ExampleID}, store.Filter{Root: id}},
		{[]string{"--id", arg.ExampleID}, store.Filter{IDs: []store.ID{id}}},
		{[]string{"--lost-from", "7"}, store.Filter{LostFrom: 7}},
		{[]string{"--since", "1d", "--before", "1h"}, store.Filter{CreatedAfter: day, CreatedBefore: hour}},
		{[]string{"--finished-since", "1d", "--finished-before", "1h"}, store.Filter{FinishedAfter: day, FinishedBefore: hour}},
		{[]string{"--metadata", "a.b=7"}, store.Filter{Metadata: match("a.b", "7")}},
		{[]string{"--args", "a.0=x y"}, store.Filter{Args: match("a.0", `"x y"`)}},
		{
			[]string{"--query", `state:failed,running queue:"a b" since:1d args.a.0:7`},
			store.Filter{States: []store.State{store.Failed, store.Running}, Queues: []string{"a b"}, CreatedAfter: day, Args: match("a.0", "7")},
		},
	} {
		var f filterFlags
		cmd := &cobra.Command{}
		f.add(cmd)
		if err := cmd.ParseFlags(test.args); err != nil {
			t.Fatal(err)
		}
		got, err := f.parse(now)
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%v: %v\n%s", test.args, err, diff)
		}
	}
}
