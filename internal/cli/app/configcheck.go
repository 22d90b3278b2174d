package app

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/config"
)

// refusal is why a verb would not start with a file of settings.
type refusal struct {
	entry *config.Entry // that is to be changed
	text  string
}

// RefusedSettings returns what the verbs would refuse of the settings in a file at their start, by
// line. It takes the file for what it is to say alone: variables count only where it says nothing,
// and flags do not. fresh makes a command of the program, with its App.
//
// What is before the first table is for all verbs that have the setting, and one of them may refuse
// what another one is meant to have. So it is told if the file has a table of the verb that refuses
// it, or if each verb refuses it that has the setting.
func RefusedSettings(fresh func() (*App, *cobra.Command), f *config.File) (wrong []*config.Error) {
	refused := map[string][]refusal{} // by tables
	_, root := fresh()
	known := Configured(root)
	tables := slices.Sorted(maps.Keys(known))
	for _, table := range tables {
		a, root := fresh()
		refused[table] = a.refusals(Configured(root)[table], f)
	}
	told := map[int]bool{}
	for _, table := range tables {
		isNamed := slices.ContainsFunc(f.Tables, func(t config.Table) bool { return t.Name == table })
		for _, r := range refused[table] {
			byAll := !slices.ContainsFunc(tables, func(other string) bool {
				return settingOf(known[other], f, r.entry.Key) == r.entry &&
					!slices.ContainsFunc(refused[other], func(x refusal) bool { return x.entry == r.entry })
			})
			if told[r.entry.Line] || !isNamed && !byAll {
				continue
			}
			told[r.entry.Line] = true
			text := r.text
			if !byAll {
				text = "for " + table + ": " + text
			}
			wrong = append(wrong, &config.Error{Line: r.entry.Line, Text: text})
		}
	}
	return wrong
}

// settingOf is what a file says of a setting of a verb; nil: nothing. What it says for the verb
// counts more than what it says for all.
func settingOf(cmd *cobra.Command, f *config.File, name string) *config.Entry {
	if Setting(cmd, name) == nil {
		return nil
	}
	return cmp.Or(f.Find(ConfigTable(cmd), name), f.Find("", name))
}

// refusals are what a verb of a fresh App refuses of a file.
func (a *App) refusals(cmd *cobra.Command, f *config.File) (all []refusal) {
	wrong := map[string]bool{} // flags whose own values cannot be
	VisitSettings(cmd, func(flag *pflag.Flag) {
		e := settingOf(cmd, f, flag.Name)
		if e == nil {
			isPlace := flag.Name == FlagDatabase || flag.Name == FlagServer
			wrong[flag.Name] = !isPlace && a.readVariable(flag) != nil
			return
		}
		if err := TakeSetting(flag, e, e.Key); err != nil {
			wrong[flag.Name] = true
			all = append(all, refusal{e, err.Error()})
		}
		a.setBy(flag.Name, e.Key)
	})
	a.Namespace = cmp.Or(a.Namespace, DefaultNamespace)
	rules := append([]func() error{
		func() error { return arg.About(a.checkServer(cmd), FlagServer, FlagDatabase) },
		func() error { return arg.About(a.splitNamespaces(cmd), FlagNamespace) },
		func() error { return arg.About(a.readRedaction(), FlagRedact) },
	}, a.rulesOf[cmd]()...)
	for _, rule := range rules {
		found, is := errors.AsType[*arg.SettingsError](rule())
		if !is || slices.ContainsFunc(found.Flags, func(flag string) bool { return wrong[flag] }) {
			continue
		}
		for _, flag := range found.Flags {
			if e := settingOf(cmd, f, flag); e != nil {
				all = append(all, refusal{e, found.Error()})
				break
			}
		}
	}
	return all
}
