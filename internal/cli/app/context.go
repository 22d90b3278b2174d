package app

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/config"
	"github.com/holdfastdev/holdfast/internal/cli/output"
)

// AddContextFlags adds the global flags of contexts.
func (a *App) AddContextFlags(flags *pflag.FlagSet) {
	flags.StringVar(&a.Context, FlagContext, "",
		"go where the context `NAME` says, see \"holdfast context\"; not with --database or --server (default: the current one)")
	flags.BoolVar(&a.Yes, FlagYes, false, "do not ask before something is changed in a context of production")
	Variable(flags, FlagContext, EnvContext)
}

// Contexts are those of the user.
func (a *App) Contexts() (*config.Contexts, error) {
	c, err := config.Read(config.Path(a.Env.LookupEnv))
	if err != nil {
		return nil, arg.Usagef("the contexts cannot be read: %w", err)
	}
	return c, nil
}

// readContext finds out whether a context says where the command goes, when flags and variables
// have been read.
func (a *App) readContext(cmd *cobra.Command) error {
	if cmd.HasSubCommands() || !UsesFlag(cmd, FlagDatabase) {
		return nil
	}
	if err := a.checkContext(cmd); err != nil {
		return err
	}
	if a.Context == "" && (a.Database != "" || a.Server != "" || cmd.Annotations[ownPlaceKey] != "") {
		return nil
	}
	all, err := a.Contexts()
	if err != nil {
		return err
	}
	if name := cmp.Or(a.Context, all.Current); a.Context == "" && len(all.List) > 1 && changesNow(cmd) {
		return arg.Usagef("%s may change something, and there are %d contexts: say which is meant, with --%s %s or --%s",
			arg.Verb(cmd), len(all.List), FlagContext, cmp.Or(name, all.Names()[0]), FlagDatabase)
	} else if name != "" {
		return a.useContext(cmd, all, name)
	}
	return nil
}

// checkContext refuses a context beside another place.
func (a *App) checkContext(cmd *cobra.Command) error {
	if a.Context == "" {
		return nil
	}
	for _, other := range []struct{ flag, value string }{{FlagDatabase, a.Database}, {FlagServer, a.Server}} {
		switch {
		case other.value == "":
		case cmd.Flags().Changed(other.flag):
			return arg.Usagef("--%s and --%s cannot be used together", FlagContext, other.flag)
		default:
			return arg.Usagef("%s and %s are both set; unset one, or name what is meant with --%s, --%s or --%s",
				EnvContext, a.NameOf(other.flag), FlagContext, FlagDatabase, FlagServer)
		}
	}
	return nil
}

// useContext takes what a context says and no flag or variable does.
func (a *App) useContext(cmd *cobra.Command, all *config.Contexts, name string) error {
	c := all.Find(name)
	switch {
	case c == nil && len(all.List) == 0:
		return arg.Usagef("%s: there is no context %s, and no other; \"holdfast context set\" makes one",
			a.NameOf(FlagContext), output.Quote(name))
	case c == nil:
		return arg.Usagef("%s: there is no context %s; there are %s", a.NameOf(FlagContext), output.Quote(name), strings.Join(all.Names(), ", "))
	}
	if why := WhyDatabase(cmd); why != "" && c.Server != "" {
		return arg.Usagef("%s cannot do with a server, and the context %s is one: %s; name the database with --%s",
			arg.Verb(cmd), name, why, FlagDatabase)
	}
	if c.DatabaseVariable != "" {
		text, _ := a.Env.LookupEnv(c.DatabaseVariable)
		if strings.TrimSpace(text) == "" {
			return arg.Usagef("the context %s has its database in $%s, which is not set", name, c.DatabaseVariable)
		}
		a.Database = text
	}
	if c.TokenVariable != "" {
		if text, _ := a.Env.LookupEnv(c.TokenVariable); strings.TrimSpace(text) == "" {
			return arg.Usagef("the context %s has its token in $%s, which is not set", name, c.TokenVariable)
		}
		a.tokenVariable = c.TokenVariable
	}
	for _, s := range []struct {
		flag string
		to   *string
		text string
	}{
		{FlagDatabase, &a.Database, c.Database},
		{FlagServer, &a.Server, c.Server},
		{FlagNamespace, &a.Namespace, c.Namespace},
		{FlagTokenFile, &a.TokenFile, c.TokenFile},
		{FlagTLSCA, &a.TLSCA, c.TLSCA},
	} {
		if s.text != "" && *s.to == "" {
			*s.to = s.text
			a.setBy(s.flag, fmt.Sprintf("%s of the context %s", s.flag, name))
		}
	}
	a.used = c
	return nil
}

// UsedContext is the name of the context that says where the command goes; "": none does.
func (a *App) UsedContext() string {
	if a.used == nil {
		return ""
	}
	return a.used.Name
}

// NeedsPlace reports whether a command that changes something is refused, or goes to a context, if
// nothing says where it is to go. Contexts that cannot be read say nothing here.
func (a *App) NeedsPlace() bool {
	all, err := a.Contexts()
	return err == nil && (all.Current != "" || len(all.List) > 1)
}

// AskAboutContext tells a user who changes something in a context which it is, and asks in one of
// production.
func (a *App) AskAboutContext(cmd *cobra.Command) error {
	if a.used == nil || !changesNow(cmd) {
		return nil
	}
	target := PlaceOf(a.used)
	if a.Namespace != DefaultNamespace {
		target += ", namespace " + output.OneLine(a.Namespace)
	}
	if a.used.Production {
		if err := a.confirmProduction(cmd, target); err != nil {
			return err
		}
	}
	a.Notef("Context %s: %s.", a.used.Name, target)
	return nil
}

// confirmProduction asks before something is changed in production.
func (a *App) confirmProduction(cmd *cobra.Command, target string) error {
	ctx, stop := a.Interruptible(cmd.Context())
	defer stop()
	yes := Confirmation{yes: a.Yes || isTrue(cmd.Flags().Lookup(FlagYes))}
	err := a.Confirm(ctx, &yes, fmt.Sprintf("%s may change something in the context %s, which is one of production: %s",
		arg.Verb(cmd), a.used.Name, target), a.used.Name)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = fmt.Errorf("%w: %w", ErrInterrupted, err)
	}
	return WorkFailed(err)
}

// PlaceOf is where a context leads, without what might be a secret.
func PlaceOf(c *config.Context) string {
	switch {
	case c.Server != "":
		return "server " + output.OneLine(output.WithoutPasswords(c.Server))
	case c.DatabaseVariable != "":
		return "the database in $" + output.OneLine(c.DatabaseVariable)
	}
	return "database " + output.OneLine(output.WithoutPasswords(c.Database))
}
