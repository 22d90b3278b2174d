package app

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/config"
)

// FlagConfig names a file with settings, of verbs that have it.
const (
	FlagConfig = "config"
	EnvConfig  = "HOLDFAST_CONFIG"
)

// ConfigTable is the name of the table with the settings of one verb.
func ConfigTable(cmd *cobra.Command) string { return strings.ReplaceAll(arg.Verb(cmd), " ", "-") }

// Configured returns the verbs that read settings from a file, by the names of their tables.
func Configured(root *cobra.Command) map[string]*cobra.Command {
	found := map[string]*cobra.Command{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() && cmd.Annotations[configKey] != "" {
			found[ConfigTable(cmd)] = cmd
		}
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(root)
	return found
}

// configKey is the annotation of a verb that reads settings from a file.
const configKey = "config"

// AddConfigFlag lets a verb read settings from a file. All of its flags that have a variable are
// settings, under their own names; so one that is added is a flag, a variable and a setting. The
// rules are those by which the verb refuses settings at its start, as arg.SettingsError; they look
// at these alone.
func (a *App) AddConfigFlag(cmd *cobra.Command, rules func() []func() error) {
	cmd.Annotations[configKey] = "yes"
	if a.rulesOf == nil {
		a.rulesOf = map[*cobra.Command]func() []func() error{}
	}
	a.rulesOf[cmd] = rules
	cmd.Flags().StringVar(&a.configFile, FlagConfig, "", "read settings from `FILE`, see \"holdfast config\"; flags and variables count more")
	Variable(cmd.Flags(), FlagConfig, EnvConfig)
}

// Setting returns the flag of a verb that is the setting of a name in files; nil: there is none.
func Setting(cmd *cobra.Command, name string) (found *pflag.Flag) {
	VisitSettings(cmd, func(f *pflag.Flag) {
		if f.Name == name {
			found = f
		}
	})
	return found
}

// VisitSettings visits the flags of a verb that are settings in files, by name.
func VisitSettings(cmd *cobra.Command, visit func(*pflag.Flag)) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.AddFlagSet(cmd.LocalFlags())
	all.AddFlagSet(cmd.InheritedFlags())
	all.VisitAll(func(f *pflag.Flag) {
		if VariableOf(f) != "" && f.Name != FlagConfig && f.Name != FlagContext && !isGlobalUnused(cmd, f.Name) {
			visit(f)
		}
	})
}

// CheckConfig returns what is wrong with the tables and the names of settings in a file, by line.
func CheckConfig(root *cobra.Command, f *config.File) (wrong []*config.Error) {
	verbs := Configured(root)
	for _, t := range f.Tables {
		if verbs[t.Name] == nil {
			wrong = append(wrong, &config.Error{Line: t.Line, Text: fmt.Sprintf("[%s] is no verb with settings", t.Name)})
		}
	}
	for i := range f.Entries {
		e := &f.Entries[i]
		known := verbs[e.Table] != nil && Setting(verbs[e.Table], e.Key) != nil
		for _, cmd := range verbs {
			known = known || e.Table == "" && Setting(cmd, e.Key) != nil
		}
		switch {
		case known || e.Table != "" && verbs[e.Table] == nil: // which was told of its table
		case e.Table == "":
			wrong = append(wrong, &config.Error{Line: e.Line, Text: "no verb has a setting " + e.Key})
		default:
			wrong = append(wrong, &config.Error{Line: e.Line, Text: fmt.Sprintf("%s has no setting %s", e.Table, e.Key)})
		}
	}
	return wrong
}

// TakeSetting sets a flag to what a file says. name is where it says so, for errors.
func TakeSetting(f *pflag.Flag, e *config.Entry, name string) error {
	want := map[string]config.Kind{"bool": config.Bool, "int": config.Integer}[f.Value.Type()]
	list, isList := f.Value.(pflag.SliceValue)
	switch {
	case isList && e.Kind == config.List:
	case e.Kind == config.List:
		return arg.Usagef("%s takes one value, not a list", name)
	case e.Kind != want:
		return arg.Usagef("%s must be %s", name, map[config.Kind]string{
			config.Text: "a text in quotes", config.Integer: "a number, without quotes", config.Bool: "true or false, without quotes",
		}[want])
	}
	for _, text := range e.Values {
		if strings.TrimSpace(text) == "" {
			return arg.Usagef("%s is empty", name)
		}
	}
	if isList {
		return list.Replace(e.Values)
	}
	if err := f.Value.Set(e.Values[0]); err != nil {
		return arg.ValueError(name, f, e.Values[0], err)
	}
	return nil
}

// readConfig sets the flags that neither the command line nor a variable has set from the file of
// --config. What is said for a verb counts more than what is said for all.
func (a *App) readConfig(cmd *cobra.Command) error {
	if a.configFile == "" || cmd.Annotations[configKey] == "" {
		return nil
	}
	data, err := os.ReadFile(a.configFile)
	if err != nil {
		return arg.Usagef("%s: %w", a.NameOf(FlagConfig), err)
	}
	f, err := config.Parse(string(data))
	if err != nil {
		return arg.Usagef("%s: %w", a.configFile, err)
	}
	if wrong := CheckConfig(cmd.Root(), f); len(wrong) > 0 {
		return arg.Usagef("%s: %w; \"holdfast config check\" tells all", a.configFile, wrong[0])
	}
	placed := a.Database != "" || a.Server != "" || a.Context != ""
	var errs []error
	VisitSettings(cmd, func(flag *pflag.Flag) {
		e := settingOf(cmd, f, flag.Name)
		isPlace := flag.Name == FlagDatabase || flag.Name == FlagServer || flag.Name == FlagNamespace && a.Context != ""
		if e == nil || flag.Changed || a.variables[flag.Name] != "" || placed && isPlace {
			return
		}
		name := fmt.Sprintf("%s in %s:%d", flag.Name, a.configFile, e.Line)
		errs = append(errs, TakeSetting(flag, e, name))
		a.setBy(flag.Name, name)
	})
	return errors.Join(errs...)
}

// Origin is where the value of a flag comes from, for people.
func (a *App) Origin(f *pflag.Flag) string {
	switch {
	case f.Changed:
		return "--" + f.Name
	case a.variables[f.Name] != "":
		return a.variables[f.Name]
	}
	return "default"
}
