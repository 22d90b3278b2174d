package databases

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// backer is a database in a file, which can be copied into another one.
type backer interface {
	Backup(ctx context.Context, path string) (bytes, jobs int64, err error)
}

func (a verbs) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy a SQLite database in use into a new file",
		Long: `Copy a SQLite database, which nodes and other programs may be using, into a new file. The file has
everything that was committed when the command began, is checked, and then gets its name. A file
that exists is not touched.

For PostgreSQL use pg_dump.`,
		Example: `  holdfast backup holdfast-monday.db
  holdfast backup /mnt/backups/shop.db --database shop.db`,
		Args:        arg.Takes(1, 1),
		Annotations: app.NeedsDatabase(app.Uses(app.FlagDatabase, app.FlagOutput, app.FlagQuiet), "it copies the file of the database"),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			source, err := a.Source(dsn.NoMigrate())
			if err != nil {
				return err
			}
			file, ok := source.(backer)
			if !ok {
				return arg.Usagef("%s is no file; back it up with pg_dump, or as the rest of your PostgreSQL", source)
			}
			schema, err := source.Schema(ctx)
			if err != nil {
				return err
			}
			if schema.Version == 0 {
				return app.SchemaError(ctx, source, err)
			}
			bytes, jobs, err := file.Backup(ctx, args[0])
			if err != nil {
				return err
			}
			return a.Object(views.Backup{Database: source.String(), File: args[0], Bytes: bytes, Jobs: jobs}, func() {
				a.Printf("backed up %s to %s: %d jobs, %d bytes", source, output.OneLine(args[0]), jobs, bytes)
			})
		}),
	}
}
