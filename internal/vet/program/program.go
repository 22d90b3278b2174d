// Package program is the program holdfast-vet, which "holdfast vet" runs.
//
// It is a program of its own because it reads and type-checks Go: what does that would be a
// twentieth of the command, which most machines have for other things.
//
// # How it fails
//
// The exit code is 1 if there are findings, and if packages cannot be checked: then there is one
// line on standard error. It is 64 if the command line is wrong.
//
// # Imports
//
// internal/vet, and of the command line what writes lists: the output is that of its other verbs.
package program

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/vet"
)

// The exit codes other than 0, as the whole command line has them.
const (
	exitError = 1
	exitUsage = 64
)

// formats are those of --output: findings have no ids.
var formats = []string{output.FormatTable, output.FormatJSON, output.FormatLines, output.FormatYAML}

// invocation is one run of the program.
type invocation struct {
	out      output.Printer
	tests    bool
	checking bool // the command line was right
	found    bool
}

// Run runs the program with the arguments that follow its name, and returns its exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	i := &invocation{out: output.NewPrinter(stdout, false)}
	i.out.Asked = output.FormatTable // editors and CI parse it
	cmd := i.command()
	cmd.SetArgs(args)
	cmd.SetOut(&i.out)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if flushed := i.out.Flush(); err == nil {
		err = flushed
	}
	switch {
	case err == nil && !i.found:
		return 0
	case err == nil:
		return exitError
	case i.checking:
		fmt.Fprintln(stderr, "holdfast-vet: "+output.OneLine(err.Error()))
		return exitError
	default:
		fmt.Fprintln(stderr, "holdfast-vet: "+output.OneLine(err.Error())+"; see: holdfast-vet --help")
		return exitUsage
	}
}

func (i *invocation) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "holdfast-vet [PACKAGE...]",
		Short: "Find mistakes in durable functions",
		Long: `Find mistakes in the durable functions of Go packages. It is what "holdfast vet" runs. The default
package pattern is ./...; the go command must be installed. The exit code is 1 if there are findings.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			if !slices.Contains(formats, i.out.Asked) {
				return fmt.Errorf("--output %q: the formats are %s", i.out.Asked, strings.Join(formats, ", "))
			}
			i.checking = true
			return i.check(cmd.Context(), patterns)
		},
	}
	cmd.Flags().BoolVar(&i.tests, "tests", false, "include test files")
	cmd.Flags().StringVarP(&i.out.Asked, "output", "o", output.FormatTable, "output `FORMAT`: "+strings.Join(formats, ", "))
	return cmd
}

func (i *invocation) check(ctx context.Context, patterns []string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	findings, err := vet.Packages(ctx, vet.Params{Dir: dir, Patterns: patterns, Tests: i.tests})
	if err != nil {
		return err
	}
	i.found = len(findings) > 0
	list := i.out.NewList()
	for _, f := range findings {
		row := func() []string { return []string{fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)} }
		if err := list.Add(f, row); err != nil {
			return err
		}
	}
	return list.End()
}
