package jobs

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/store"
)

// filterFlags are the flags that select jobs.
type filterFlags struct {
	filter store.Filter
	states []string
	parent string
}

func (f *filterFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.states, "state", nil, "only jobs in `STATE`; repeatable")
	flags.StringArrayVar(&f.filter.Queues, "queue", nil, "only jobs in `QUEUE`; repeatable")
	flags.StringArrayVar(&f.filter.Kinds, "kind", nil, "only jobs of `KIND`; repeatable")
	flags.StringArrayVar(&f.filter.Tags, "tag", nil, "only jobs with `TAG`; repeatable")
	flags.StringVar(&f.parent, "parent", "", "only children of job `ID`")
	app.TakesID(flags, "parent")
}

var filterNames = []string{"state", "queue", "kind", "tag", "parent"}

// parse returns the filter of the flags.
func (f *filterFlags) parse() (store.Filter, error) {
	for _, name := range f.states {
		state, err := store.ParseState(name)
		if err != nil {
			return f.filter, arg.Usagef("--state %q: must be one of %s", name, strings.Join(arg.StateNames(arg.States), ", "))
		}
		f.filter.States = append(f.filter.States, state)
	}
	if f.parent != "" {
		var err error
		if f.filter.Parent, err = arg.ParseID(f.parent); err != nil {
			return f.filter, fmt.Errorf("--parent: %w", err)
		}
	}
	return f.filter, nil
}
