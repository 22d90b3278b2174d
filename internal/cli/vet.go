package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
)

func (a verbs) vetCommand() *cobra.Command {
	var tests bool
	cmd := &cobra.Command{
		Use:   "vet [PACKAGE...]",
		Short: "Find mistakes in durable functions",
		Long: `Find mistakes in the durable functions of Go packages: reading the clock, random numbers,
goroutines, iteration over maps, ignored errors of durable operations, writes by a client outside of
a step. The default package pattern is ./...; the go command must be installed.

The program holdfast-vet does it: the one beside this program, or in the PATH, or else the go
command builds it.

Each finding is a line FILE:LINE:COLUMN: MESSAGE, unless --output says otherwise. The exit code is 1
if there are findings. To silence one, put a comment on its line or the line before:

  //holdfast:vet ignore REASON`,
		Example: `  holdfast vet
  holdfast vet ./internal/flows/... --tests
  holdfast vet --output json | jq -r '.[].file' | sort -u`,
		Args:        arg.Takes(0, -1),
		Annotations: app.Uses(app.FlagOutput),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, patterns []string) error {
			var args []string
			if a.Asked != "" {
				args = append(args, "--output="+a.Asked)
			}
			if tests {
				args = append(args, "--tests")
			}
			return a.vet(ctx, vetProgram(), append(append(args, "--"), patterns...))
		}),
	}
	cmd.Flags().BoolVar(&tests, "tests", false, "include test files")
	return cmd
}

const (
	vetName    = "holdfast-vet"
	vetPackage = "github.com/holdfastdev/holdfast/cmd/" + vetName
)

// vetProgram is what starts the program that vets.
func vetProgram() []string {
	own, err := os.Executable()
	if err != nil {
		own = ""
	}
	return vetProgramOf(own, programVersion(), exec.LookPath)
}

// vetProgramOf finds the program that vets: beside an executable, or in the PATH, for which look is
// exec.LookPath. If it is in neither, the go command builds that of a version.
func vetProgramOf(own, version string, look func(string) (string, error)) []string {
	if own != "" {
		if beside, err := look(filepath.Join(filepath.Dir(own), vetName)); err == nil {
			return []string{beside}
		}
	}
	if found, err := look(vetName); err == nil {
		return []string{found}
	}
	if strings.HasPrefix(version, "v") && !strings.Contains(version, "+") {
		return []string{"go", "run", vetPackage + "@" + version}
	}
	return []string{"go", "run", vetPackage}
}

// hasExited is what the go command says last of a program that it has run.
var hasExited = regexp.MustCompile(`(^|\n)exit status [0-9]+\n$`)

// vet runs the program that vets. What it writes passes through, and its exit code.
func (a verbs) vet(ctx context.Context, program, args []string) error {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, program[0], append(program[1:len(program):len(program)], args...)...) //nolint:gosec // it is our own
	cmd.Stdout, cmd.Stderr = &a.Printer, &said
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	text := said.String()
	if byGo := len(program) > 1; byGo && err != nil {
		if !hasExited.MatchString(text) {
			return noVet(err, text)
		}
		text = hasExited.ReplaceAllString(text, "$1")
	}
	if _, printed := a.Env.Stderr.Write([]byte(text)); printed != nil && err == nil {
		return printed
	}
	exited, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return nil
	case !ended:
		return noVet(err, text)
	case exited.ExitCode() < 0: // by a signal
		return fmt.Errorf("%s: %w", program[0], err)
	}
	return app.ExitWith(exited.ExitCode(), "")
}

// noVet is the error of a program that did not start.
func noVet(err error, said string) error {
	if line, _, _ := strings.Cut(strings.TrimSpace(said), "\n"); line != "" {
		err = errors.New(line)
	}
	return fmt.Errorf("%s is neither beside this program nor in the PATH, and could not be built: %w; try: go install %s@latest",
		vetName, err, vetPackage)
}
