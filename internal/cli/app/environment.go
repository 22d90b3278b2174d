package app

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/redact"
)

// ReadEnvironment sets the flags that are not on the command line from their variables. An empty
// variable is a mistake, like an empty flag. What a verb does not use is not looked at.
func (a *App) ReadEnvironment(cmd *cobra.Command) (err error) {
	a.ByFlag = a.Database != ""
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if err == nil && !f.Changed && !isGlobalUnused(cmd, f.Name) && !skipsVariable(cmd, f.Name) {
			err = a.readVariable(f)
		}
	})
	if err == nil {
		err = a.readConfig(cmd)
	}
	if err == nil {
		err = a.checkServer(cmd)
	}
	if err == nil {
		err = a.readContext(cmd)
	}
	if err == nil {
		err = a.checkOfServer(cmd)
	}
	if a.Database == "" {
		a.Database = DefaultDatabase
	}
	if a.Namespace == "" {
		a.Namespace = DefaultNamespace
	}
	if err == nil {
		err = a.splitNamespaces(cmd)
	}
	if err == nil {
		err = a.readRedaction()
	}
	return err
}

// splitNamespaces reads the list of --namespace. Most verbs work in one namespace: no list is taken
// for a name, which would be that of an empty one.
func (a *App) splitNamespaces(cmd *cobra.Command) error {
	a.Namespaces = nil
	if isGlobalUnused(cmd, FlagNamespace) {
		a.Namespace = DefaultNamespace
	}
	for name := range strings.SplitSeq(a.Namespace, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
			return arg.Usagef("%s: a name is empty in %q", a.NameOf(FlagNamespace), a.Namespace)
		case slices.Contains(a.Namespaces, name):
			return arg.Usagef("%s names %s twice", a.NameOf(FlagNamespace), name)
		}
		a.Namespaces = append(a.Namespaces, name)
	}
	if len(a.Namespaces) > 1 && !TakesNamespaces(cmd) {
		return arg.Usagef("%s names %d namespaces; choose one with --namespace %s",
			a.NameOf(FlagNamespace), len(a.Namespaces), output.Quote(a.Namespaces[0]))
	}
	a.Namespace = a.Namespaces[0]
	return nil
}

// ours is how the variables of Holdfast begin. A job of the kind exec has some, and may start a
// node.
const ours = "HOLDFAST_"

var ofJobs = []string{ours + "JOB_ID", ours + "ATTEMPT", ours + "LEASE"}

// NoteUnknownVariables tells of variables that look like those of a verb's flags and are none of
// them.
func (a *App) NoteUnknownVariables(cmd *cobra.Command) {
	known := append(slices.Clone(ofJobs), strings.Fields(cmd.Annotations[readsKey])...)
	if UsesFlag(cmd, FlagServer) {
		known = append(known, EnvToken)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, VariableOf(f)) })
	var unknown []string
	for _, variable := range a.Env.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, ours) && !slices.Contains(known, name) {
			unknown = append(unknown, output.OneLine(name))
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		a.Notef("Not a variable of %s, and ignored: %s.", cmd.CommandPath(), strings.Join(unknown, ", "))
	}
}

// readRedaction reads --redact, and hides what it says in all that is printed.
func (a *App) readRedaction() error {
	if a.RedactRule == "" {
		a.rules = redact.Default()
	} else {
		rules, err := redact.Parse(a.RedactRule)
		if err != nil {
			return arg.Usagef("%s: %w", a.NameOf(FlagRedact), err)
		}
		a.rules = rules
	}
	if !a.rules.IsEmpty() {
		a.Redact = a.rules.JSON
	}
	return nil
}

// AddPayloadFlags adds the global flags about payloads.
func (a *App) AddPayloadFlags(flags *pflag.FlagSet) {
	flags.StringVar(&a.CodecKeys, FlagCodecKeys, "",
		"`FILE` with the keys by which payloads are encrypted, NAME:SECRET in each line; the first one encrypts")
	flags.StringVar(&a.RedactRule, FlagRedact, "",
		"hide the fields of payloads that these `RULES` name, separated by commas: default, password, card.number …; or none "+
			"(default: default)")
	Variable(flags, FlagCodecKeys, EnvCodecKeys)
	Variable(flags, FlagRedact, EnvRedact)
}

// AddServerFlags adds the global flags of a server.
func (a *App) AddServerFlags(flags *pflag.FlagSet) {
	flags.StringVar(&a.Server, FlagServer, "",
		"`URL` of a \"holdfast server\" to use in the place of a database, such as http://127.0.0.1:8233; its token is in $"+EnvToken)
	flags.StringVar(&a.TokenFile, FlagTokenFile, "", "`FILE` with the token for --server (default: the token is in $"+EnvToken+")")
	flags.StringVar(&a.TLSCA, FlagTLSCA, "",
		"`FILE` with the certificates of the authorities that vouch for --server, in PEM (default: those of the system)")
	Variable(flags, FlagServer, EnvServer)
	Variable(flags, FlagTLSCA, EnvTLSCA)
}

// skipsVariable reports whether the variable of a flag does not count, since what it names was
// named by a flag in another way.
func skipsVariable(cmd *cobra.Command, flag string) bool {
	switch flag {
	case FlagDatabase:
		return cmd.Flags().Changed(FlagServer) || cmd.Flags().Changed(FlagContext)
	case FlagServer:
		return cmd.Flags().Changed(FlagDatabase) || cmd.Flags().Changed(FlagContext)
	case FlagContext:
		return cmd.Flags().Changed(FlagDatabase) || cmd.Flags().Changed(FlagServer)
	}
	return false
}

// checkServer finds out whether a database or a server is meant. It is called when flags and
// variables have been read.
func (a *App) checkServer(cmd *cobra.Command) error {
	if cmd.HasSubCommands() || !UsesFlag(cmd, FlagDatabase) {
		return nil
	}
	if why := WhyDatabase(cmd); why != "" {
		name := "--" + FlagServer
		if !cmd.Flags().Changed(FlagServer) {
			if server, _ := a.Env.LookupEnv(EnvServer); server == "" || a.Database != "" || cmd.Flags().Changed(FlagContext) {
				return nil
			}
			name = EnvServer
		}
		return arg.Usagef("%s cannot do with a server (%s): %s; name the database with --database",
			strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), name, why)
	}
	switch {
	case a.Context != "" || a.Server == "" || a.Database == "": // a context says where, and is looked at next
		return nil
	case cmd.Flags().Changed(FlagDatabase):
		return arg.Usagef("--%s and --%s cannot be used together", FlagDatabase, FlagServer)
	}
	return arg.Usagef("%s and %s are both set; unset one, or name what is meant with --%s or --%s",
		a.NameOf(FlagDatabase), a.NameOf(FlagServer), FlagDatabase, FlagServer)
}

// checkOfServer refuses flags that are for a server, and there is none.
func (a *App) checkOfServer(cmd *cobra.Command) error {
	switch {
	case !UsesFlag(cmd, FlagServer):
		return nil
	case a.Server == "" && cmd.Flags().Changed(FlagTokenFile):
		return arg.Usagef("--%s is for --%s, and no server is named", FlagTokenFile, FlagServer)
	case !strings.HasPrefix(a.Server, "https:") && cmd.Flags().Changed(FlagTLSCA):
		return arg.Usagef("--%s is for --%s with https://…, and no such server is named", FlagTLSCA, FlagServer)
	}
	return nil
}
