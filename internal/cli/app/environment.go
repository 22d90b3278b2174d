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

// The variables of the global flags, and what is used without both.
const (
	EnvDatabase      = "HOLDFAST_DATABASE"
	EnvNamespace     = "HOLDFAST_NAMESPACE"
	EnvCodecKeys     = "HOLDFAST_CODEC_KEYS"
	EnvRedact        = "HOLDFAST_REDACT"
	EnvServer        = "HOLDFAST_SERVER"
	EnvToken         = "HOLDFAST_TOKEN" // of the server: other users of the machine can read command lines
	EnvTLSCA         = "HOLDFAST_TLS_CA"
	DefaultDatabase  = "holdfast.db"
	DefaultNamespace = "default"
)

// variableKey is the annotation that names the variable of a flag.
const variableKey = "variable"

// Variable lets a variable of the environment set a flag that is not on the command line, and says
// so in the help of the flag.
func Variable(flags *pflag.FlagSet, flag, variable string) {
	f := flags.Lookup(flag)
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[variableKey] = []string{variable}
	if !strings.Contains(f.Usage, "$"+variable) {
		f.Usage += " [$" + variable + "]"
	}
}

// VariableOf returns the variable of a flag, "" if there is none.
func VariableOf(f *pflag.Flag) string {
	if names := f.Annotations[variableKey]; len(names) > 0 {
		return names[0]
	}
	return ""
}

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
		err = a.checkServer(cmd)
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

func (a *App) readVariable(f *pflag.Flag) error {
	variable := VariableOf(f)
	if variable == "" {
		return nil
	}
	text, set := a.Env.LookupEnv(variable)
	if !set {
		return nil
	}
	if strings.TrimSpace(text) == "" {
		return arg.Usagef("%s is set but empty; unset it or give it a value", variable)
	}
	if err := f.Value.Set(text); err != nil {
		return arg.ValueError(variable, f, text, err)
	}
	if a.variables == nil {
		a.variables = map[string]string{}
	}
	a.variables[f.Name] = variable
	return nil
}

// NameOf names where the value of a flag comes from, for errors: the flag or its variable.
func (a *App) NameOf(flag string) string {
	if variable := a.variables[flag]; variable != "" {
		return variable
	}
	return "--" + flag
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
		return cmd.Flags().Changed(FlagServer)
	case FlagServer:
		return cmd.Flags().Changed(FlagDatabase)
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
			if server, _ := a.Env.LookupEnv(EnvServer); server == "" || a.Database != "" {
				return nil
			}
			name = EnvServer
		}
		return arg.Usagef("%s cannot do with a server (%s): %s; name the database with --database",
			strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), name, why)
	}
	switch {
	case a.Server == "" && a.TokenFile != "" && cmd.Flags().Changed(FlagTokenFile):
		return arg.Usagef("--%s is for --%s, and no server is named", FlagTokenFile, FlagServer)
	case !strings.HasPrefix(a.Server, "https:") && a.TLSCA != "" && cmd.Flags().Changed(FlagTLSCA):
		return arg.Usagef("--%s is for --%s with https://…, and no such server is named", FlagTLSCA, FlagServer)
	case a.Server == "" || a.Database == "":
		return nil
	case cmd.Flags().Changed(FlagDatabase):
		return arg.Usagef("--%s and --%s cannot be used together", FlagDatabase, FlagServer)
	}
	return arg.Usagef("%s and %s are both set; unset one, or name what is meant with --%s or --%s",
		EnvDatabase, EnvServer, FlagDatabase, FlagServer)
}
