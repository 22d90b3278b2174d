package nodes

import (
	"context"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// rules are why a verb does not start with its settings, as far as these alone tell: each returns
// what it refuses, as an arg.SettingsError. A start looks at them first, and a file of settings is
// checked by them. They ask nothing outside, such as whether a file is there. Some keep what they
// have read.
func (a verbs) rules(f *settings) []func() error {
	rules := []func() error{
		func() error { return a.checkSlots(f) },
		func() error { return a.checkTimes(f) },
		func() error { return a.checkLeases(f) },
		a.checkNamespaces,
		func() error { return a.readName(f) },
		func() error { return f.archive.check(a) },
		func() error { return a.readQueues(f) },
		func() error {
			_, err := a.LogSettings(&f.log)
			return err
		},
		func() error { return a.checkListen(f) },
	}
	if f.keeps != nil {
		rules = append(rules, func() error { return f.keeps.check(a) })
	}
	if f.works {
		rules = append(rules, a.checkWorks, func() error { return f.outside.read(a) })
	}
	if f.api != nil {
		rules = append(rules, f.api.rules(a, &f.listen)...)
	}
	return rules
}

// check returns what the first rule refuses.
func (a verbs) check(f *settings) error {
	for _, rule := range a.rules(f) {
		if err := rule(); err != nil {
			return err
		}
	}
	return nil
}

func (a verbs) checkSlots(f *settings) error {
	if f.slots < 1 {
		return arg.About(arg.Usagef("%s %d is not positive", a.NameOf(flagSlots), f.slots), flagSlots)
	}
	return nil
}

func (a verbs) checkTimes(f *settings) error {
	if f.stopTimeout < 0 {
		return arg.About(arg.Usagef("%s %v is negative", a.NameOf(flagStopTimeout), f.stopTimeout), flagStopTimeout)
	}
	return nil
}

func (a verbs) checkLeases(f *settings) error {
	switch {
	case f.beat <= 0:
		return arg.About(arg.Usagef("%s %v is not positive", a.NameOf(flagBeat), f.beat), flagBeat)
	case f.deadAfter <= 0:
		return arg.About(arg.Usagef("%s %v is not positive", a.NameOf(flagDeadAfter), f.deadAfter), flagDeadAfter)
	case f.deadAfter/3 < f.beat:
		return arg.About(arg.Usagef("%s %v is less than three times %s %v",
			a.NameOf(flagDeadAfter), f.deadAfter, a.NameOf(flagBeat), f.beat), flagDeadAfter, flagBeat)
	}
	return nil
}

func (a verbs) checkNamespaces() error {
	for _, namespace := range a.Namespaces {
		if err := a.TryOptions(context.Background(), holdfast.WithNamespace(namespace)); err != nil {
			return arg.About(arg.Usagef("%s: %w", a.NameOf(app.FlagNamespace), err), app.FlagNamespace)
		}
	}
	return nil
}

// readName reads the name of the node.
func (a verbs) readName(f *settings) (err error) {
	if f.name, err = expand(f.nodeName, placeholders()); err == nil {
		err = a.TryOptions(context.Background(), holdfast.WithNodeName(f.name))
	}
	if err != nil {
		return arg.About(arg.Usagef("%s: %w", a.NameOf(flagNodeName), err), flagNodeName)
	}
	return nil
}

// readQueues reads which queues the node serves.
func (a verbs) readQueues(f *settings) (err error) {
	if f.served, err = queuesOf(f.queues); err == nil {
		err = a.TryOptions(context.Background(), f.served...)
	}
	if err != nil {
		return arg.About(arg.Usagef("%s: %w", a.NameOf(flagQueue), err), flagQueue)
	}
	return nil
}

// checkListen checks the address; whether it can be listened at, only a start tells.
func (a verbs) checkListen(f *settings) error {
	if f.listen == "" || f.listen == noListen && f.api != nil && f.api.dev {
		return nil
	}
	if err := checkAddress(f.listen); err != nil {
		return arg.About(arg.Usagef("%s %w", a.NameOf(flagListen), err), flagListen)
	}
	return nil
}

// checkWorks checks what is said of nodes that run jobs.
func (a verbs) checkWorks() error {
	if a.Database == dsn.Memory {
		return arg.About(arg.Usagef("no other process can see a database in memory; name a file"), app.FlagDatabase)
	}
	return nil
}
