package nodes

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/store"
)

// kept are the flags that say how long finished jobs are kept. What no flag says is kept: this
// program does not know what the others were told.
type kept store.Retention

func (k *kept) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.DurationVar(&k.Completed, "completed", 0, "remove completed jobs after this `DURATION`, such as 24h or 30d (default: never)")
	flags.DurationVar(&k.Failed, "failed", 0, "remove failed jobs after this `DURATION` (default: never)")
	flags.DurationVar(&k.Cancelled, "cancelled", 0, "remove cancelled jobs after this `DURATION` (default: never)")
	flags.DurationVar(&k.Audit, "audit", 0, "forget after this `DURATION` what people did (default: never)")
	for _, flag := range []string{"completed", "failed", "cancelled", "audit"} {
		app.Variable(flags, flag, "HOLDFAST_"+strings.ToUpper(flag))
	}
}

// isEmpty reports whether no flag was given.
func (k *kept) isEmpty() bool { return *k == kept{Stubs: k.Stubs} }

// check is why the flags cannot be.
func (k *kept) check(a verbs) error {
	for _, f := range []struct {
		name string
		keep time.Duration
	}{{"completed", k.Completed}, {"failed", k.Failed}, {"cancelled", k.Cancelled}, {"audit", k.Audit}} {
		if f.keep < 0 {
			return arg.About(arg.Usagef("%s must be positive, not %v", a.NameOf(f.name), f.keep), f.name)
		}
	}
	return nil
}

// option is what the flags say, for Open.
func (k *kept) option() holdfast.Option {
	r := store.Retention(*k)
	for _, keep := range []*time.Duration{&r.Completed, &r.Failed, &r.Cancelled, &r.Audit} {
		if *keep == 0 {
			*keep = -1 // for ever
		}
	}
	return holdfast.WithRetention(r)
}
