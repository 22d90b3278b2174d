package databases

import (
	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// Commands are the verbs on databases.
func Commands(a *app.App) []*cobra.Command {
	v := verbs{a}
	return []*cobra.Command{v.copyCommand(), v.backupCommand(), v.healthCommand(), v.doctorCommand()}
}
