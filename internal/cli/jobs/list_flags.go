package jobs

import (
	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
)

// listFlags are the flags of "job list": which jobs, how many, and what is printed of each.
type listFlags struct {
	filterFlags

	columns app.ColumnsFlag
	limit   int
	all     bool
}

func (f *listFlags) add(cmd *cobra.Command) {
	f.filterFlags.add(cmd)
	f.columns.Add(cmd, views.Job{}, views.JobHeader...)
	flags := cmd.Flags()
	flags.IntVar(&f.limit, "limit", 50, "list at most `N` jobs")
	flags.BoolVar(&f.all, "all", false, "list all jobs")
	cmd.MarkFlagsMutuallyExclusive("limit", "all")
}

// parse returns the filter of the flags.
func (f *listFlags) parse() (store.Filter, error) {
	filter, err := f.filterFlags.parse()
	if err == nil && f.limit < 1 {
		err = arg.Usagef("--limit %d is not positive", f.limit)
	}
	return filter, err
}

// most is how many jobs to list, 0 for all.
func (f *listFlags) most() int {
	if f.all {
		return 0
	}
	return f.limit
}
