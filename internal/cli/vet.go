package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/vet"
)

func (a *app) vetCommand() *cobra.Command {
	var tests bool
	cmd := &cobra.Command{
		Use:   "vet [PACKAGE...]",
		Short: "Find what durable functions must not do",
		Long: `Find what durable functions must not do, in the source of Go packages: read the clock, make random
numbers, start goroutines, go through maps, drop the errors of durable operations. Without packages
it looks at ./... and needs the go command.

It prints a line FILE:LINE:COLUMN: MESSAGE for each finding, on a terminal and elsewhere, or what
--output says. The exit code is 1 if there are any. A comment on the line, or on the line before,
silences one:

  //holdfast:vet ignore REASON`,
		Example: `  holdfast vet
  holdfast vet ./internal/flows/... --tests
  holdfast vet --output json | jq -r '.[].file' | sort -u`,
		Args:        takes(0, -1),
		Annotations: uses(flagOutput),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, patterns []string) error {
			return a.vet(ctx, patterns, tests)
		}),
	}
	cmd.Flags().BoolVar(&tests, "tests", false, "look at test files too")
	return cmd
}

func (a *app) vet(ctx context.Context, patterns []string, tests bool) error {
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
	out := a.newList()
	if a.output == "" {
		out.format = formatTable // what editors and continuous integration read
	}
	for _, f := range findings {
		if err := out.add(findingView(f), func() []string {
			return []string{fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)}
		}); err != nil {
			return err
		}
	}
	if err := out.end(); err != nil {
		return err
	}
	if len(findings) > 0 {
		return &statusError{code: exitError}
	}
	return nil
}
