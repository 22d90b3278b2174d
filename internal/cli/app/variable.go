package app

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/arg"
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
	EnvContext       = "HOLDFAST_CONTEXT"
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
	a.setBy(f.Name, variable)
	return nil
}

// NameOf names where the value of a flag comes from, for errors: the flag or its variable.
func (a *App) NameOf(flag string) string {
	if variable := a.variables[flag]; variable != "" {
		return variable
	}
	return "--" + flag
}

// setBy notes what has set a flag that is not on the command line.
func (a *App) setBy(flag, name string) {
	if a.variables == nil {
		a.variables = map[string]string{}
	}
	a.variables[flag] = name
}

// ofVariable names the variable that has set a flag in an error about its value.
func (a *App) ofVariable(flag string, err error) error {
	variable := a.variables[flag]
	var usage *arg.UsageError
	switch {
	case err == nil || variable == "":
		return err
	case errors.As(err, &usage):
		return arg.Usagef("%s: %w", variable, err)
	}
	return fmt.Errorf("%s: %w", variable, err)
}
