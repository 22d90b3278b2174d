//go:build soak

package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// TestEmptyValues: empty values are refused in every flag and argument of every verb, and in the
// environment.
func TestEmptyValues(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	flags := 0
	commands(func(cmd *cobra.Command) {
		if cmd.HasSubCommands() {
			return
		}
		verb := strings.Fields(cmd.CommandPath())[1:]
		check := func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			flags++
			blanks := []string{"", " ", "\t"}
			if cmd.LocalFlags().Lookup(f.Name) == nil {
				blanks = blanks[:1] // it is the same flag in all verbs
			}
			for _, empty := range blanks {
				if empty != "" && f.Value.Type() != "string" && f.Value.Type() != "stringArray" {
					continue
				}
				args := slices.Concat(verb, enough(cmd), []string{"--" + f.Name + "=" + empty})
				s.expect(s.run(args...), app.ExitUsage, "--"+f.Name+" is empty; see: "+cmd.CommandPath()+" --help")
			}
		}
		cmd.LocalFlags().VisitAll(check)
		cmd.InheritedFlags().VisitAll(check)
		for i := range enough(cmd) {
			args := enough(cmd)
			args[i] = ""
			s.expect(s.run(append(verb, args...)...), app.ExitUsage, strings.Trim(strings.Fields(cmd.Use)[i+1], ".")+" is empty")
		}
		for _, v := range []struct{ flag, env string }{{app.FlagDatabase, app.EnvDatabase}, {app.FlagNamespace, app.EnvNamespace}} {
			if app.UsesFlag(cmd, v.flag) {
				s := newShell(t)
				s.env[v.env] = ""
				s.expect(s.run(append(verb, enough(cmd)...)...), app.ExitUsage, v.env+" is set but empty")
			}
		}
	})
	if flags < 100 {
		t.Errorf("%d flags were tried", flags)
	}
	if found, _ := filepath.Glob(filepath.Join(s.dir, "*")); found != nil {
		t.Errorf("they made %v", found)
	}
}
