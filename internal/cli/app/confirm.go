package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/arg"
)

// Confirmation is the flag of a verb that asks before it does what cannot be undone.
type Confirmation struct{ yes bool }

// Add adds the flag to a verb. when says when the verb asks.
func (c *Confirmation) Add(cmd *cobra.Command, when string) {
	cmd.Flags().BoolVarP(&c.yes, FlagYes, "y", false, "do not ask "+when)
}

// Given reports whether the user has confirmed beforehand.
func (c *Confirmation) Given() bool { return c.yes }

// Confirm asks the user to type a word before a verb goes on. what is a sentence without its end,
// about what will happen. Without a terminal it is an error that --yes is not there.
func (a *App) Confirm(ctx context.Context, c *Confirmation, what, word string) error {
	if c.yes {
		return nil
	}
	if !a.Env.Terminal(a.Env.Stdin) || !a.Env.Terminal(a.Env.Stderr) {
		return arg.Usagef("%s; to go on without being asked, use --%s", what, FlagYes)
	}
	fmt.Fprintf(a.Env.Stderr, "%s.\nType %s to go on: ", what, word)
	typed, err := arg.UnlessInterrupted(ctx, func() (string, error) { return bufio.NewReader(a.Env.Stdin).ReadString('\n') })
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(a.Env.Stderr)
		return err
	case strings.TrimSpace(typed) != word:
		if !strings.HasSuffix(typed, "\n") {
			fmt.Fprintln(a.Env.Stderr) // Ctrl-D
		}
		return errors.New("not confirmed; nothing was changed")
	}
	return nil
}
