package cli

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

func (a verbs) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "version",
		Short:       "Print the version",
		Long:        "Print the version of holdfast, of Go, and the platform.",
		Example:     "  holdfast version\n  holdfast version --output json | jq -r .version",
		Args:        arg.Takes(0, 0),
		Annotations: app.Uses(app.FlagOutput),
		RunE:        a.Do(func(context.Context, *cobra.Command, []string) error { return a.printVersion() }),
	}
}

func (a verbs) printVersion() error {
	v := views.Version{Version: programVersion(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	return a.Object(v, func() { a.Printf("holdfast %s, %s, %s", v.Version, v.Go, v.Platform) })
}

// programVersion is the version of the module that the program was built from.
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
