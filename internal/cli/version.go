package cli

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "version",
		Short:       "Print the version",
		Long:        "Print the version of holdfast, of Go, and the platform.",
		Example:     "  holdfast version\n  holdfast version --output json | jq -r .version",
		Args:        takes(0, 0),
		Annotations: uses(flagOutput),
		RunE:        a.do(func(context.Context, *cobra.Command, []string) error { return a.printVersion() }),
	}
}

func (a *app) printVersion() error {
	v := versionView{Version: programVersion(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	return a.object(v, func() { a.printf("holdfast %s, %s, %s", v.Version, v.Go, v.Platform) })
}

// programVersion is the version of the module that the program was built from.
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
