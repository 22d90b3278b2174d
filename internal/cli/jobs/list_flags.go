package jobs

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
)

// listFlags are the flags of "job list": which jobs, how many, and what is printed of each.
type listFlags struct {
	filterFlags

	watch   app.WatchFlags
	columns app.ColumnsFlag
	sort    string
	limit   int
	all     bool
}

func (f *listFlags) add(a *app.App, cmd *cobra.Command) {
	f.filterFlags.add(cmd)
	f.watch.Add(a, cmd)
	f.columns.Add(cmd, views.Job{}, views.JobHeader...)
	flags := cmd.Flags()
	flags.StringVar(&f.sort, "sort", store.SortNewest.String(),
		"list jobs in `ORDER`: newest or oldest, run_at (of unfinished jobs) or finished (of finished ones)")
	flags.IntVar(&f.limit, "limit", 50, "list at most `N` jobs")
	flags.BoolVar(&f.all, "all", false, "list all jobs")
	cmd.MarkFlagsMutuallyExclusive("limit", "all")
	cmd.MarkFlagsMutuallyExclusive("watch", "all")
}

// parse returns the filter and the order of the flags.
func (f *listFlags) parse(now time.Time) (store.Filter, store.Sort, error) {
	filter, err := f.filterFlags.parse(now)
	if err == nil && f.limit < 1 {
		err = arg.Usagef("--limit %d is not positive", f.limit)
	}
	if err != nil {
		return filter, 0, err
	}
	sort, err := store.ParseSort(f.sort)
	if err != nil {
		return filter, 0, arg.Usagef("--sort %q: must be newest, oldest, run_at or finished", f.sort)
	}
	for _, state := range filter.States {
		if !sort.States().Has(state) {
			return filter, 0, arg.Usagef("--sort %s: has no %s jobs; leave out --state %s", sort, state, state)
		}
	}
	return filter, sort, nil
}

// most is how many jobs to list, 0 for all.
func (f *listFlags) most() int {
	if f.all {
		return 0
	}
	return f.limit
}
