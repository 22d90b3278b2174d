package nodes

import (
	"errors"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/subprocess"
)

// The flags of subprocesses, and their variables.
const (
	flagSubprocess = "subprocess"
	flagCount      = "subprocess-count"
	flagRuns       = "subprocess-runs"
	flagMemory     = "subprocess-memory"

	EnvSubprocess = "HOLDFAST_SUBPROCESS"
	EnvCount      = "HOLDFAST_SUBPROCESS_COUNT"
	EnvRuns       = "HOLDFAST_SUBPROCESS_RUNS"
	EnvMemory     = "HOLDFAST_SUBPROCESS_MEMORY"
)

// subprocesses are what the flags say of processes that run jobs, and these processes.
type subprocesses struct {
	commands []string
	count    int
	runs     int
	memory   int // in MiB

	configs []subprocess.Config
	pools   []*subprocess.Pool
}

func (s *subprocesses) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	arg.TextsVar(flags, &s.commands, flagSubprocess, nil,
		"run jobs of a kind in processes of a command that the node keeps, `KIND=COMMAND`; repeatable, or one a line")
	flags.IntVar(&s.count, flagCount, 1, "keep `N` processes of each such command, which run as many jobs at once")
	flags.IntVar(&s.runs, flagRuns, 0, "replace a process after `N` runs (default: never)")
	flags.IntVar(&s.memory, flagMemory, 0, "replace a process that has more than `MIB` of resident memory after a run (default: never)")
	for flag, variable := range map[string]string{
		flagSubprocess: EnvSubprocess, flagCount: EnvCount, flagRuns: EnvRuns, flagMemory: EnvMemory,
	} {
		app.Variable(flags, flag, variable)
	}
}

// read reads the flags.
func (s *subprocesses) read(a verbs) error {
	for flag, n := range map[string]int{flagRuns: s.runs, flagMemory: s.memory} {
		if n < 0 {
			return arg.About(arg.Usagef("%s %d is negative", a.NameOf(flag), n), flag)
		}
	}
	if s.count < 1 {
		return arg.About(arg.Usagef("%s %d is not positive", a.NameOf(flagCount), s.count), flagCount)
	}
	seen := map[string]bool{}
	for _, text := range s.commands {
		for line := range strings.Lines(text) {
			if strings.TrimSpace(line) == "" {
				continue
			}
			c, err := subprocess.Parse(line)
			if err == nil && seen[c.Kind] {
				err = errors.New("the kind " + c.Kind + " is given twice")
			}
			if err == nil {
				c.Count, c.MaxRuns, c.MaxMemory = s.count, s.runs, int64(s.memory)<<20
				err = c.Check()
			}
			if err != nil {
				return arg.About(arg.Usagef("%s: %w", a.NameOf(flagSubprocess), err), flagSubprocess)
			}
			seen[c.Kind] = true
			s.configs = append(s.configs, c)
		}
	}
	return nil
}

// start starts the processes. What it has started ends with end, also after an error.
func (s *subprocesses) start(log *slog.Logger) error {
	for _, c := range s.configs {
		pool, err := subprocess.Start(c, log)
		if err != nil {
			return err
		}
		s.pools = append(s.pools, pool)
	}
	return nil
}

// register lets the node of a client run their kinds.
func (s *subprocesses) register(client *holdfast.Client) error {
	for _, pool := range s.pools {
		if err := pool.Register(client); err != nil {
			return err
		}
	}
	return nil
}

// end ends the processes, all at once.
func (s *subprocesses) end() {
	closed := make(chan struct{})
	for _, pool := range s.pools {
		go func() {
			pool.Close()
			closed <- struct{}{}
		}()
	}
	for range s.pools {
		<-closed
	}
}
