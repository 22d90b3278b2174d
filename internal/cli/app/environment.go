package app

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/arg"
)

// The variables for settings that have no flag on the command line.
const (
	EnvDatabase      = "HOLDFAST_DATABASE"
	EnvNamespace     = "HOLDFAST_NAMESPACE"
	DefaultDatabase  = "holdfast.db"
	DefaultNamespace = "default"
)

// ReadEnvironment reads settings without a flag from the environment. An empty variable is a
// mistake, like an empty flag.
func (a *App) ReadEnvironment(cmd *cobra.Command) error {
	a.ByFlag = a.Database != ""
	for _, v := range []struct {
		flag, env, otherwise string
		value                *string
	}{
		{FlagDatabase, EnvDatabase, DefaultDatabase, &a.Database},
		{FlagNamespace, EnvNamespace, DefaultNamespace, &a.Namespace},
	} {
		if *v.value != "" {
			continue
		}
		*v.value = v.otherwise
		if text, set := a.Env.LookupEnv(v.env); set && strings.TrimSpace(text) != "" {
			*v.value = text
		} else if set && UsesFlag(cmd, v.flag) {
			return arg.Usagef("%s is set but empty; unset it or give it a value", v.env)
		}
	}
	return nil
}
