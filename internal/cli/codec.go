package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/codec"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
)

func (a verbs) codecCommand() *cobra.Command {
	group := app.Group("codec", "Make keys that encrypt payloads",
		`Make keys that encrypt payloads. The keys of a program are the lines of a file, of which the first
one encrypts and all decrypt: see docs/payloads.md.`, "  holdfast codec new-key k1 > codec.keys\n  holdfast worker --codec-keys codec.keys")
	group.AddCommand(&cobra.Command{
		Use:   "new-key NAME",
		Short: "Make a key",
		Long: `Make a key, and print it as a line of a file for --codec-keys: NAME:SECRET. It is stored nowhere
else. The name is stored with each payload, in plain; never give it to another key.`,
		Example:     "  holdfast codec new-key k1 > codec.keys",
		Args:        arg.Takes(1, 1),
		Annotations: app.Uses(),
		RunE: a.Do(func(_ context.Context, _ *cobra.Command, args []string) error {
			k, err := codec.NewKey(args[0])
			if err != nil {
				return arg.Usage(err)
			}
			a.Printf("%s", k.Line())
			return nil
		}),
	})
	return group
}
