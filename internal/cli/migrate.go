package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/databases"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

func (a verbs) migrateCommand() *cobra.Command {
	migrate := app.Group("migrate", "Create, upgrade or reset the schema",
		"Create or upgrade the schema, show its version, print its SQL, or delete everything.",
		`  holdfast migrate status
  holdfast migrate up`)
	migrate.AddCommand(a.migrateUpCommand(), a.migrateStatusCommand(), a.migrateSQLCommand(), databases.ResetCommand(a.App))
	return migrate
}

func (a verbs) migrateUpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Create or upgrade the schema",
		Long: `Create the schema, and the file of a SQLite database, or upgrade it to the version that this
holdfast needs. Running it again, or several times at once, is safe.`,
		Example: `  holdfast migrate up
  holdfast migrate up --database postgres://localhost/app`,
		Args:        arg.Takes(0, 0),
		Annotations: app.NeedsDatabase(app.Uses(app.FlagDatabase, app.FlagOutput), ofSchema),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			source, err := a.Source()
			if err != nil {
				return err
			}
			before, err := source.Schema(ctx)
			if err != nil {
				return err
			}
			if before.Version > before.Latest && !before.IsServed() {
				return app.SchemaError(ctx, source, holdfast.ErrSchema)
			}
			after, err := source.Migrate(ctx)
			if err != nil {
				return err
			}
			return a.Object(views.NewSchema(source, after), func() {
				switch before.Version {
				case after.Version:
					a.Printf("%s is up to date: schema version %d", source, after.Version)
				case 0:
					a.Printf("created %s: schema version %d", source, after.Version)
				default:
					a.Printf("upgraded %s from schema version %d to %d", source, before.Version, after.Version)
				}
			})
		}),
	}
}

func (a verbs) migrateStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the version of the schema",
		Long: `Show the version of the schema in the database, and the version that this holdfast needs. The exit
code is 0 whatever the version.`,
		Example: `  holdfast migrate status
  holdfast migrate status --output json | jq -e .current`,
		Args:        arg.Takes(0, 0),
		Annotations: app.NeedsDatabase(app.Uses(app.FlagDatabase, app.FlagOutput), ofSchema),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			source, err := a.Source()
			if err != nil {
				return err
			}
			s, err := source.Schema(ctx)
			if err != nil {
				return err
			}
			return a.Object(views.NewSchema(source, s), func() {
				switch {
				case s.Version == 0:
					a.Printf("%s: no schema; \"holdfast migrate up\" creates version %d", source, s.Latest)
				case s.Version < s.Latest:
					a.Printf("%s: schema version %d; \"holdfast migrate up\" upgrades it to %d", source, s.Version, s.Latest)
				case s.Version > s.Latest && s.IsServed():
					a.Printf("%s: schema version %d, newer than this holdfast, which it serves: version %d", source, s.Version, s.Latest)
				case s.Version > s.Latest:
					a.Printf("%s: schema version %d is newer than this holdfast, which supports up to %d", source, s.Version, s.Latest)
				default:
					a.Printf("%s: schema version %d, up to date", source, s.Version)
				}
			})
		}),
	}
}

func (a verbs) migrateSQLCommand() *cobra.Command {
	var from int
	cmd := &cobra.Command{
		Use:   "sql",
		Short: "Print the SQL of the schema",
		Long: `Print the SQL of the schema, to review it or to run it with other tools. The command does not open
the database; --database only selects SQLite or PostgreSQL.`,
		Example: `  holdfast migrate sql --database postgres:// > holdfast.sql
  holdfast migrate sql --from 1`,
		Args:        arg.Takes(0, 0),
		Annotations: app.NeedsDatabase(app.Uses(app.FlagDatabase), ofSchema),
		RunE: a.Do(func(_ context.Context, _ *cobra.Command, _ []string) error {
			source, err := a.Source()
			if err != nil {
				return err
			}
			migrations := source.Migrations()
			if from < 0 || from > len(migrations) {
				return arg.Usagef("--from %d: must be 0 (no schema) to %d", from, len(migrations))
			}
			for _, m := range migrations {
				if m.Version > from {
					a.Printf("-- holdfast migration %d: %s\n\n%s\n", m.Version, m.Name, strings.TrimSpace(m.SQL))
				}
			}
			return nil
		}),
	}
	cmd.Flags().IntVar(&from, "from", 0, "print only migrations after version `N`")
	return cmd
}

// ofSchema is why the verbs of migrate need the database itself.
const ofSchema = "the schema is that of the database, to which its server has brought it"
