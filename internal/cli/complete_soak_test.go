//go:build soak

package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
)

// fileFlags are the flags whose values are files.
var fileFlags = []string{
	app.FlagDatabase, app.FlagCodecKeys, app.FlagTokenFile, app.FlagTLSCA, app.FlagConfig, "tls-cert", "tls-key", "file", "archive",
}

// TestNoFilesWhereNoneAreMeant completes all flags and arguments of all verbs, with and without a
// database.
func TestNoFilesWhereNoneAreMeant(t *testing.T) {
	t.Parallel()
	with := migrated(t)
	with.enqueue("mail", "--queue", "bulk")
	for _, s := range []*shell{newShell(t), with} {
		seen := map[*pflag.Flag]bool{} // a flag that verbs inherit is completed alike in all of them
		commands(func(cmd *cobra.Command) {
			verb := strings.Fields(cmd.CommandPath())[1:]
			check := func(f *pflag.Flag) {
				if f.NoOptDefVal != "" || seen[f] {
					return // it takes no value, or has been looked at
				}
				seen[f] = true
				_, files := s.complete(slices.Concat(verb, []string{"--" + f.Name, ""})...)
				if want := slices.Contains(fileFlags, f.Name); files != want {
					t.Errorf("%s --%s: files %t, want %t", cmd.CommandPath(), f.Name, files, want)
				}
			}
			cmd.LocalFlags().VisitAll(check)
			cmd.InheritedFlags().VisitAll(check)
			for n := range 4 {
				args := verb
				for range n {
					args = append(slices.Clip(args), arg.ExampleID)
				}
				if cmd.HasSubCommands() && n > 0 {
					return
				}
				_, files := s.complete(append(slices.Clip(args), "")...)
				want := cmd.Name() == "vet" || cmd.Name() == "cat" || cmd.CommandPath() == "holdfast config check" && n == 0 ||
					cmd.CommandPath() == "holdfast archive find" && n > 0
				if files != want {
					t.Errorf("%s, argument %d: files %t, want %t", cmd.CommandPath(), n, files, want)
				}
			}
		})
	}
}
