package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/internal/vet"
)

func (a verbs) vetCommand() *cobra.Command {
	var tests bool
	cmd := &cobra.Command{
		Use:   "vet [PACKAGE...]",
		Short: "Find mistakes in durable functions",
		Long: `Find mistakes in the durable functions of Go packages: reading the clock, random numbers,
goroutines, iteration over maps, ignored errors of durable operations, writes by a client outside of
a step. The default package pattern is ./...; the go command must be installed.

Each finding is a line FILE:LINE:COLUMN: MESSAGE, unless --output says otherwise. The exit code is 1
if there are findings. To silence one, put a comment on its line or the line before:

  //holdfast:vet ignore REASON`,
		Example: `  holdfast vet
  holdfast vet ./internal/flows/... --tests
  holdfast vet --output json | jq -r '.[].file' | sort -u`,
		Args:        arg.Takes(0, -1),
		Annotations: app.Uses(app.FlagOutput),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, patterns []string) error {
			return a.vet(ctx, patterns, tests)
		}),
	}
	cmd.Flags().BoolVar(&tests, "tests", false, "include test files")
	return cmd
}

func (a verbs) vet(ctx context.Context, patterns []string, tests bool) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	findings, err := vet.Packages(ctx, vet.Params{Dir: dir, Patterns: patterns, Tests: tests})
	if err != nil {
		return err
	}
	out := a.NewList()
	if a.Asked == "" {
		out.Format = output.FormatTable // editors and CI parse it
	}
	for _, f := range findings {
		row := func() []string { return []string{fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)} }
		if err := out.Add(views.Finding(f), row); err != nil {
			return err
		}
	}
	if err := out.End(); err != nil {
		return err
	}
	if len(findings) > 0 {
		return app.ExitWith(app.ExitError, "")
	}
	return nil
}
