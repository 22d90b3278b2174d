package cli

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/config"
	"github.com/holdfastdev/holdfast/internal/cli/output"
)

func (a verbs) configCommand() *cobra.Command {
	group := app.Group("config", "Check files of settings, and show which settings count",
		`Check files of settings, for --config of dev, worker, server and maintain node, and show which
settings count, and why. A setting is called as its flag: a line slots = 10 is --slots 10. What is
in a table [worker] is for that verb alone. Flags count more than variables, those more than the
file, and that more than defaults.`,
		`  holdfast config check holdfast.toml
  holdfast config show worker -- --config holdfast.toml`)
	group.AddCommand(a.checkConfigCommand(), a.showConfigCommand())
	return group
}

// checkedConfig is what was found in a file of settings.
type checkedConfig struct {
	File     string        `json:"file"`
	OK       bool          `json:"ok"`
	Problems []configError `json:"problems"`
}

// configError is what is wrong in a line.
type configError struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

func (a verbs) checkConfigCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check PATH",
		Short: "Check a file of settings",
		Long: `Check a file of settings: unknown settings, wrong values, and what a verb refuses together, by line.
With problems the exit code is 1. Variables count where the file says nothing, and flags do not.
What only the start of a verb can tell, such as whether an address is in use, is not looked at.`,
		Example: "  holdfast config check holdfast.toml", Args: arg.Takes(1, 1), Annotations: app.Uses(app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(_ context.Context, _ *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			v := checkedConfig{File: args[0], Problems: []configError{}}
			for _, wrong := range checkSettings(&a.Env, string(data)) {
				v.Problems = append(v.Problems, configError{wrong.Line, app.Explain(errors.New(wrong.Text))})
			}
			v.OK = len(v.Problems) == 0
			err = a.Object(v, func() {
				for _, wrong := range v.Problems {
					a.Printf("%s:%d: %s", output.OneLine(v.File), wrong.Line, wrong.Text)
				}
				if v.OK {
					a.Printf("%s: ok", output.OneLine(v.File))
				}
			})
			if err == nil && !v.OK {
				err = app.ExitWith(app.ExitError, "")
			}
			return err
		}),
	}
}

// checkSettings returns what is wrong with a file of settings, by line.
func checkSettings(env *app.Env, text string) []*config.Error {
	f, err := config.Parse(text)
	if wrong, ok := errors.AsType[*config.Error](err); ok {
		return []*config.Error{wrong}
	}
	fresh := func() (*app.App, *cobra.Command) {
		a := app.New(*env)
		return a, verbs{a}.rootCommand()
	}
	_, root := fresh()
	found := append(app.CheckConfig(root, f), app.RefusedSettings(fresh, f)...)
	slices.SortStableFunc(found, func(x, y *config.Error) int { return x.Line - y.Line })
	return found
}

// shownSetting is a setting that counts.
type shownSetting struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	From    string `json:"from"`

	said string // what people are told of a value that is none, such as 0s for never
}

// text is the value for people.
func (s *shownSetting) text() string {
	if s.said != "" {
		return s.said
	}
	return s.Value
}

// saidDefault is what the help of a setting says of its default, where that is no value.
var saidDefault = regexp.MustCompile(`\(default: ([^()]+)\)`)

func (a verbs) showConfigCommand() *cobra.Command {
	var columns app.ColumnsFlag
	cmd := &cobra.Command{
		Use:   "show VERB [FLAG...]",
		Short: "Show which settings of a verb count, and why",
		Long: `Show the settings that a verb (dev, worker, server or maintain-node) would have, and where each is
from: a flag, a variable, a line of the file, a context, or the default. Flags of the verb follow
behind --. Passwords are not shown. Nothing is started.`,
		Example: "  holdfast config show worker\n  holdfast config show server -- --config holdfast.toml --listen 0.0.0.0:443",
		Args:    arg.Takes(1, -1), Annotations: app.Uses(app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(_ context.Context, _ *cobra.Command, args []string) error {
			settings, err := a.settingsOf(args[0], args[1:])
			if err != nil {
				return err
			}
			out, err := a.List(&columns)
			if err != nil {
				return err
			}
			for _, s := range settings {
				if err := out.Add(s, func() []string { return []string{s.Setting, output.OneLine(s.text()), output.OneLine(s.From)} }); err != nil {
					return err
				}
			}
			return out.End()
		}),
	}
	columns.Add(cmd, shownSetting{}, "SETTING", "VALUE", "FROM")
	return cmd
}

// settingsOf returns the settings that a verb would have.
func (a verbs) settingsOf(table string, flags []string) (all []shownSetting, err error) {
	scratch := app.New(a.Env)
	known := app.Configured(verbs{scratch}.rootCommand())
	cmd := known[table]
	if cmd == nil {
		return nil, arg.Usagef("%s has no settings; there are dev, worker, server and maintain-node", output.Quote(table))
	}
	if err := cmd.ParseFlags(flags); err != nil {
		return nil, arg.FlagError(cmd, err)
	}
	if rest := cmd.Flags().Args(); len(rest) > 0 {
		return nil, arg.Usagef("%s takes no arguments, and %s is one", table, output.Quote(rest[0]))
	}
	if err := errors.Join(arg.CheckValues(cmd, nil), scratch.ReadEnvironment(cmd)); err != nil {
		return nil, err
	}
	app.VisitSettings(cmd, func(f *pflag.Flag) {
		value := strings.Join(arg.ValuesOf(f), ",")
		s := shownSetting{Setting: f.Name, Value: output.WithoutPasswords(value), From: scratch.Origin(f)}
		if said := saidDefault.FindStringSubmatch(f.Usage); said != nil && slices.Contains([]string{"", "0", "0s"}, value) {
			s.said = said[1]
		}
		all = append(all, s)
	})
	return all, nil
}
