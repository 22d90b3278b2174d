package jobs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/query"
	"github.com/holdfastdev/holdfast/store"
)

// filterFlags are the flags that select jobs.
type filterFlags struct {
	filter         store.Filter
	query          string
	byQuery        *pflag.Flag
	states         []string
	ids            []string
	parent, root   string
	batch          string
	lostFrom       nodeNumber
	since, before  string
	finishedSince  string
	finishedBefore string
	metadata, args []string
	attributes     []string
}

func (f *filterFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.query, flagQuery, "",
		"only jobs that `QUERY` selects, such as \"state:failed tag:urgent\"; instead of the other filters")
	f.byQuery = flags.Lookup(flagQuery)
	arg.TextsVar(flags, &f.states, "state", nil, "only jobs in `STATE`; repeatable, or a list with commas")
	arg.TextsVar(flags, &f.filter.Queues, "queue", nil, "only jobs in `QUEUE`; repeatable")
	arg.TextsVar(flags, &f.filter.Kinds, "kind", nil, "only jobs of `KIND`; repeatable")
	arg.TextsVar(flags, &f.filter.Tags, "tag", nil, "only jobs with `TAG`; repeatable")
	flags.StringVar(&f.filter.Key, "key", "", "only the job that has the business `KEY`, or had it last; requires --kind")
	flags.StringVar(&f.parent, "parent", "", "only children of job `ID`")
	flags.StringVar(&f.root, "root", "", "only children of job `ID`, their children, and so on")
	flags.StringVar(&f.batch, "batch", "", "only members of batch `ID`")
	arg.TextsVar(flags, &f.ids, "id", nil, "only job `ID`; repeatable")
	flags.Var(&f.lostFrom, "lost-from", "only jobs of which a run was lost with node `ID`")
	flags.StringVar(&f.since, "since", "", "only jobs created at `TIME` or later; a duration is how long ago, such as 24h")
	flags.StringVar(&f.before, "before", "", "only jobs created before `TIME`, or longer ago")
	flags.StringVar(&f.finishedSince, "finished-since", "", "only jobs that finished at `TIME` or later; a duration is how long ago")
	flags.StringVar(&f.finishedBefore, "finished-before", "", "only jobs that finished before `TIME`, or longer ago")
	arg.TextsVar(flags, &f.metadata, "metadata", nil, "only jobs whose metadata have a value, as `PATH=VALUE`; repeatable")
	arg.TextsVar(flags, &f.args, "args", nil, "only jobs whose args have a value, as `PATH=VALUE`; repeatable")
	arg.TextsVar(flags, &f.attributes, "attr", nil,
		"only jobs whose search attribute has a value, as `NAME=VALUE`, or is compared by <, <=, > or >=, or, as NAME, is there; repeatable")
	for _, name := range []string{"parent", "root", "id"} {
		app.TakesID(flags, name)
	}
	for _, name := range filterNames {
		if name != flagQuery {
			cmd.MarkFlagsMutuallyExclusive(flagQuery, name)
		}
	}
}

const flagQuery = "query"

var filterNames = []string{
	flagQuery, "state", "queue", "kind", "tag", "key", "parent", "root", "batch", "id", "lost-from", "since", "before",
	"finished-since", "finished-before",
	"metadata", "args", "attr",
}

// parse returns the filter of the flags, as it is now.
func (f *filterFlags) parse(now time.Time) (store.Filter, error) {
	if f.byQuery.Changed {
		return parseQuery(f.query, now)
	}
	var err error
	if f.filter.States, err = arg.ParseStates("state", splitList(f.states)); err != nil {
		return f.filter, err
	}
	if f.filter.Key != "" && len(f.filter.Kinds) == 0 {
		return f.filter, arg.Usagef("--key requires --kind")
	}
	f.filter.LostFrom = int64(f.lostFrom)
	if err := f.parseIDs(); err != nil {
		return f.filter, err
	}
	if err := f.parseTimes(now); err != nil {
		return f.filter, err
	}
	if f.filter.Metadata, err = parseMatches("metadata", f.metadata); err != nil {
		return f.filter, err
	}
	if f.filter.Args, err = parseMatches("args", f.args); err != nil {
		return f.filter, err
	}
	f.filter.Attributes, err = arg.ParseAttributes(f.attributes)
	return f.filter, err
}

func parseQuery(text string, now time.Time) (store.Filter, error) {
	if strings.TrimSpace(text) == "" { // would select all jobs
		return store.Filter{}, arg.Usagef("--query is empty")
	}
	filter, err := query.Parse(text, now)
	if err != nil {
		return filter, arg.Usagef("--query: %v", err)
	}
	return filter, nil
}

func (f *filterFlags) parseIDs() (err error) {
	for _, of := range []struct {
		flag, what, text string
		to               *store.ID
	}{
		{"parent", "job", f.parent, &f.filter.Parent},
		{"root", "job", f.root, &f.filter.Root},
		{"batch", "batch", f.batch, &f.filter.Batch},
	} {
		if of.text == "" {
			continue
		}
		parse := arg.ParseID
		if of.what == "batch" {
			parse = arg.ParseBatchID
		}
		if *of.to, err = parse(of.text); err != nil {
			return fmt.Errorf("--%s: %w", of.flag, err)
		}
		if *of.to == (store.ID{}) { // would select all jobs
			return arg.Usagef("--%s: no %s has the id %s", of.flag, of.what, of.text)
		}
	}
	if len(f.ids) > 0 {
		if f.filter.IDs, err = arg.ParseIDs(f.ids); err != nil {
			return fmt.Errorf("--id: %w", err)
		}
	}
	return nil
}

func (f *filterFlags) parseTimes(now time.Time) (err error) {
	for _, t := range []struct {
		flag, text string
		to         *time.Time
	}{
		{"since", f.since, &f.filter.CreatedAfter},
		{"before", f.before, &f.filter.CreatedBefore},
		{"finished-since", f.finishedSince, &f.filter.FinishedAfter},
		{"finished-before", f.finishedBefore, &f.filter.FinishedBefore},
	} {
		if t.text == "" {
			continue
		}
		if *t.to, err = arg.ParseAgo(t.text, now); err != nil {
			return fmt.Errorf("--%s: %w", t.flag, err)
		}
	}
	for _, r := range []struct {
		since, before string
		from, to      time.Time
	}{
		{"since", "before", f.filter.CreatedAfter, f.filter.CreatedBefore},
		{"finished-since", "finished-before", f.filter.FinishedAfter, f.filter.FinishedBefore},
	} {
		if !r.from.IsZero() && !r.to.IsZero() && r.to.Before(r.from) {
			return arg.Usagef("--%s is earlier than --%s: no job fits both", r.before, r.since)
		}
	}
	return nil
}

// nodeNumber is the number of a node, in a flag. There is no node 0, which would select all jobs.
type nodeNumber int64

func (n *nodeNumber) String() string { return strconv.FormatInt(int64(*n), 10) }

func (*nodeNumber) Type() string { return "int64" }

func (n *nodeNumber) Set(text string) error {
	number, err := strconv.ParseInt(text, 10, 64)
	if err == nil && number < 1 {
		err = arg.Usagef("there is no node %d; \"holdfast node list\" shows their numbers", number)
	}
	*n = nodeNumber(number)
	return err
}

// parseMatches reads PATH=VALUE. A value that is no JSON is a text.
func parseMatches(flag string, texts []string) (matches []store.Match, err error) {
	for _, text := range texts {
		path, value, found := strings.Cut(text, "=")
		if !found || path == "" || value == "" {
			return nil, arg.Usagef("--%s %q: must be PATH=VALUE, such as customer.city=Oslo", flag, output.Clip(text, 60))
		}
		if !isPath(path) {
			return nil, arg.Usagef("--%s %q: a PATH is names with dots between them, or a JSON pointer, in which ~ is written ~0 and / in a name ~1",
				flag, output.Clip(text, 60))
		}
		m := store.Match{Path: path, Value: json.RawMessage(value)}
		if !json.Valid(m.Value) {
			if m.Value, err = json.Marshal(value); err != nil {
				return nil, err
			}
		}
		matches = append(matches, m)
	}
	return matches, nil
}

// isPath reports whether a store takes a path: all its names are there, or, as in a JSON pointer,
// all its escapes are known.
func isPath(path string) bool {
	if pointer, is := strings.CutPrefix(path, "/"); is {
		return !strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(pointer), "~")
	}
	return !slices.Contains(strings.Split(path, "."), "")
}
