package dead

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
)

// filterFlags are the flags that select dead letters.
type filterFlags struct {
	filter        store.Filter
	since, before string
	attributes    []string
	all           bool
}

// addGroups adds the flags that groups are selected by.
func (f *filterFlags) addGroups(cmd *cobra.Command) {
	arg.TextsVar(cmd.Flags(), &f.filter.Queues, "queue", nil, "only dead letters of `QUEUE`; repeatable")
	arg.TextsVar(cmd.Flags(), &f.filter.Kinds, "kind", nil, "only dead letters of `KIND`; repeatable")
}

// addAttributes adds the flag for search attributes, by which jobs are selected, and no groups.
func (f *filterFlags) addAttributes(cmd *cobra.Command) {
	arg.TextsVar(cmd.Flags(), &f.attributes, "attr", nil,
		"only dead letters whose search attribute has a value, as `NAME=VALUE`, or is compared, or is there, as in \"job list\"; repeatable")
}

func (f *filterFlags) add(cmd *cobra.Command) {
	f.addGroups(cmd)
	f.addAttributes(cmd)
	arg.TextsVar(cmd.Flags(), &f.filter.Tags, "tag", nil, "only dead letters with `TAG`; repeatable")
	cmd.Flags().StringVar(&f.since, "since", "", "only jobs that failed at `TIME` or later; a duration is how long ago, such as 24h")
	cmd.Flags().StringVar(&f.before, "before", "", "only jobs that failed before `TIME`, or longer ago")
	cmd.Flags().BoolVar(&f.all, "all", false, "all dead letters of the namespace")
}

// parse returns the filter, with the fingerprints that are given. What it selects must be said.
func (f *filterFlags) parse(cmd *cobra.Command, fingerprints []string, now time.Time) (filter store.Filter, err error) {
	for _, text := range fingerprints {
		n, err := parseFingerprint(text)
		if err != nil {
			return filter, err
		}
		f.filter.Fingerprints = append(f.filter.Fingerprints, n)
	}
	for _, t := range []struct {
		flag, text string
		to         *time.Time
	}{{"since", f.since, &f.filter.FinishedAfter}, {"before", f.before, &f.filter.FinishedBefore}} {
		if t.text == "" {
			continue
		}
		if *t.to, err = arg.ParseAgo(t.text, now); err != nil {
			return filter, fmt.Errorf("--%s: %w", t.flag, err)
		}
	}
	if f.filter.Attributes, err = arg.ParseAttributes(f.attributes); err != nil {
		return filter, err
	}
	narrowed := len(f.attributes)+len(f.filter.Fingerprints)+len(f.filter.Queues)+len(f.filter.Kinds)+len(f.filter.Tags) > 0 ||
		f.since != "" || f.before != ""
	switch {
	case narrowed && f.all:
		return filter, arg.Usagef("--all takes no fingerprints and no other filter")
	case !narrowed && !f.all:
		return filter, arg.Usagef(
			"%s needs fingerprints, as \"dead list\" shows them, or filters such as --kind mail; --all selects all", arg.Verb(cmd))
	}
	return f.filter, nil
}

// parseFingerprint reads one as it is shown; "none" is that of jobs that have none.
func parseFingerprint(text string) (int64, error) {
	if text == none {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 16, 64)
	if err != nil || store.FingerprintText(int64(n)) != text {
		return 0, arg.Usagef("%q is no fingerprint: these are 16 hexadecimal digits, or %q", text, none)
	}
	return int64(n), nil
}

// none stands for the fingerprint of jobs that have none.
const none = "none"

func fingerprint(n int64) string {
	if n == 0 {
		return none
	}
	return store.FingerprintText(n)
}

// mostUnasked is how many dead letters are changed without the user being asked.
const mostUnasked = 100

// confirmed counts what the filter selects, and asks if that is much. With --dry-run it says how
// many there are, and that nothing is to happen.
func (a verbs) confirmed(ctx context.Context, client *holdfast.Client, filter store.Filter, c *change) (goOn bool, err error) {
	if c.confirm.Given() && !c.dryRun {
		return true, nil
	}
	filter.States = []store.State{store.Failed}
	count, err := client.Count(ctx, filter)
	if err != nil {
		return false, err
	}
	number := strconv.Itoa(count.N)
	if count.More {
		number += "+"
	}
	switch {
	case c.dryRun && count.More:
		return false, a.Object(views.NewCount(count), func() { a.Printf("%s dead letters would be %s", number, c.done) })
	case c.dryRun:
		return false, a.Object(views.NewCount(count), func() { a.Printf("%s would be %s", output.Plural(count.N, "dead letter"), c.done) })
	case count.N <= mostUnasked:
		return true, nil
	}
	source, err := a.Source()
	if err != nil {
		return false, err
	}
	what := fmt.Sprintf("this %s %s dead letters of namespace %s in %s", c.doing, number, output.OneLine(client.Namespace()), source)
	return true, a.Confirm(ctx, &c.confirm, what, number)
}
