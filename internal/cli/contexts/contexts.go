package contexts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/config"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

type verbs struct{ *app.App }

// Command returns the verbs of contexts.
func Command(a *app.App) *cobra.Command {
	v := verbs{a}
	cmd := app.Group("context", "Name the places where commands go",
		`Name the places where commands go: databases and servers. --context NAME goes to one; without it,
commands that only read go to the current one. Where there are several, a command that may change
something has to be told which is meant. In a context of production it asks first.

The file of contexts is holdfast/config.toml in $XDG_CONFIG_HOME, or in ~/.config.`,
		`  holdfast context set prod --server https://jobs.example.com --token-file ~/.jobs-token --production
  holdfast context use prod
  holdfast job retry 01936d3e --context prod`)
	cmd.AddCommand(v.listCommand(), v.setCommand(), v.useCommand(), v.showCommand(), v.removeCommand())
	return cmd
}

// uses are the global flags of these verbs.
func uses() map[string]string { return app.Uses(app.FlagOutput, app.FlagQuiet) }

func (a verbs) listCommand() *cobra.Command {
	var columns app.ColumnsFlag
	cmd := &cobra.Command{
		Use: "list", Short: "List contexts", Long: "List contexts, by name. Passwords are not shown.",
		Example: "  holdfast context list", Args: arg.Takes(0, 0), Annotations: uses(),
		RunE: a.Do(func(context.Context, *cobra.Command, []string) error {
			all, err := a.Contexts()
			if err != nil {
				return err
			}
			out, err := a.List(&columns)
			if err != nil {
				return err
			}
			for _, name := range all.Names() {
				c := all.Find(name)
				v := newView(c, all.Current)
				if err := out.Add(v, func() []string { return row(&v, app.PlaceOf(c)) }); err != nil {
					return err
				}
			}
			return out.End()
		}),
	}
	columns.Add(cmd, view{}, header...)
	return cmd
}

// given are the flags of set.
type given struct{ config.Context }

func (a verbs) setCommand() *cobra.Command {
	var g given
	cmd := &cobra.Command{
		Use:   "set CONTEXT",
		Short: "Make a context, or change what is given",
		Long: `Make a context, or change what is given of one. It leads to a database or to a server. What has a
password in it is refused, as the file would show it: keep it in a variable, and name that.`,
		Example: `  holdfast context set local --database ~/jobs.db
  holdfast context set prod --database-variable PROD_DATABASE_URL --namespace shop --production`,
		Args: arg.Takes(1, 1), Annotations: uses(),
		RunE: a.Do(func(_ context.Context, cmd *cobra.Command, args []string) error {
			return a.change(func(all *config.Contexts) (any, string, error) {
				c, err := g.over(cmd, all, args[0])
				if err == nil {
					err = a.CheckPlace(c.Server, c.Database)
				}
				if err == nil {
					err = all.Put(c)
				}
				if err != nil {
					return nil, "", arg.Usage(err)
				}
				for _, file := range []string{c.TokenFile, c.TLSCA} {
					if _, err := os.Stat(file); file != "" && errors.Is(err, fs.ErrNotExist) {
						a.Notef("there is no file %s yet", output.OneLine(file))
					}
				}
				return newView(&c, all.Current), fmt.Sprintf("context %s: %s", c.Name, app.PlaceOf(&c)), nil
			})
		}),
	}
	flags := cmd.Flags()
	flags.StringVarP(&g.Database, "database", "d", "", "it leads to this `DATABASE`: a file, sqlite:PATH or postgres://… without a password")
	flags.StringVar(&g.DatabaseVariable, "database-variable", "", "it leads to the database that the environment has in this `VARIABLE`")
	flags.StringVar(&g.Server, "server", "", "it leads to the \"holdfast server\" of this `URL`")
	flags.StringVarP(&g.Namespace, "namespace", "n", "", "work in this `NAMESPACE` there")
	flags.StringVar(&g.TokenFile, "token-file", "", "`FILE` with the token for the server")
	flags.StringVar(&g.TokenVariable, "token-variable", "", "`VARIABLE` of the environment that has the token (default: "+app.EnvToken+")")
	flags.StringVar(&g.TLSCA, "tls-ca", "", "`FILE` with the certificates of the authorities that vouch for the server")
	flags.BoolVar(&g.Production, "production", false, "ask before something is changed there; =false: do not")
	return cmd
}

// over is a context with what is given.
func (g *given) over(cmd *cobra.Command, all *config.Contexts, name string) (config.Context, error) {
	c := config.Context{Name: name}
	if is := all.Find(name); is != nil {
		c = *is
	}
	changed := cmd.Flags().Changed
	if changed("database") || changed("database-variable") || changed("server") { // which replace one another
		if c.Server != g.Server { // what opens one server is not shown to another
			c.TokenFile, c.TokenVariable, c.TLSCA = "", "", ""
		}
		c.Database, c.DatabaseVariable, c.Server = g.Database, g.DatabaseVariable, g.Server
	}
	if changed("token-file") || changed("token-variable") {
		c.TokenFile, c.TokenVariable = g.TokenFile, g.TokenVariable
	}
	if changed("namespace") {
		c.Namespace = g.Namespace
	}
	if changed("tls-ca") {
		c.TLSCA = g.TLSCA
	}
	if changed("production") {
		c.Production = g.Production
	}
	for _, file := range []*string{&c.TokenFile, &c.TLSCA} {
		*file = absolute(*file)
	}
	if before, path, is := strings.Cut(c.Database, "sqlite:"); is && before == "" {
		c.Database = "sqlite:" + absolute(path)
	} else if path, _, _ := strings.Cut(c.Database, "?"); !strings.Contains(path, "://") && !strings.Contains(path, "=") {
		c.Database = absolute(c.Database)
	}
	for flag, text := range map[string]string{"database-variable": g.DatabaseVariable, "token-variable": g.TokenVariable} {
		if text != "" && !variableName.MatchString(text) {
			return c, fmt.Errorf("--%s takes the name of a variable, such as HOLDFAST_PROD, and this is none; "+
				"it is not its value, which the file would show", flag)
		}
	}
	for flag, text := range map[string]string{"database": g.Database, "server": g.Server} {
		if output.WithoutPasswords(text) != text || strings.Contains(text, "password=") || flag == "server" && hasUser(text) {
			return c, fmt.Errorf("--%s has a password in it, which the file would show; keep it in a variable, and give that with "+
				"--database-variable, or in ~/.pgpass", flag)
		}
	}
	return c, nil
}

// hasUser reports whether the URL of a server has a name in it, which may be a token.
func hasUser(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.User != nil
}

// variableName is what variables of the environment are called.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)

// absolute is the path of a file from everywhere.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		return abs
	}
	return path
}

func (a verbs) useCommand() *cobra.Command {
	var none bool
	cmd := &cobra.Command{
		Use:   "use [CONTEXT]",
		Short: "Make a context the current one",
		Long: `Make a context the current one: commands go there that are told nothing else. Nodes (dev, worker,
server, maintain node) do not.`,
		Example: "  holdfast context use prod\n  holdfast context use --none", Args: arg.Takes(0, 1), Annotations: uses(),
		RunE: a.Do(func(_ context.Context, _ *cobra.Command, args []string) error {
			if none == (len(args) == 1) {
				return arg.Usagef("context use takes a context, or --none")
			}
			return a.change(func(all *config.Contexts) (any, string, error) {
				if none {
					return used{}, "no context is the current one", all.Use("")
				}
				c, err := find(all, args[0])
				if err != nil {
					return nil, "", err
				}
				name, place := c.Name, app.PlaceOf(c)
				return used{Context: views.Text(name)}, fmt.Sprintf("current context: %s, %s", name, place), all.Use(name)
			})
		}),
	}
	cmd.Flags().BoolVar(&none, "none", false, "let none be the current one")
	return cmd
}

func (a verbs) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show [CONTEXT]", Short: "Show a context", Long: "Show a context, or else the current one. Passwords are not shown.",
		Example: "  holdfast context show\n  holdfast context show prod", Args: arg.Takes(0, 1), Annotations: uses(),
		RunE: a.Do(func(_ context.Context, _ *cobra.Command, args []string) error {
			all, err := a.Contexts()
			if err != nil {
				return err
			}
			name := all.Current
			if len(args) == 1 {
				name = args[0]
			}
			if name == "" {
				return errors.New("no context is the current one; \"holdfast context use\" makes one that")
			}
			c, err := find(all, name)
			if err != nil {
				return err
			}
			v := newView(c, all.Current)
			return a.Object(v, func() {
				for _, line := range [][2]string{
					{"context", v.Context},
					{"place", app.PlaceOf(c)},
					{"namespace", c.Namespace},
					{"token file", c.TokenFile},
					{"token variable", c.TokenVariable},
					{"tls-ca", c.TLSCA},
					{"production", yes(c.Production)},
					{"current", yes(v.Current)},
					{"file", all.Path},
				} {
					if line[1] != "" {
						a.Printf("%-15s %s", line[0], output.OneLine(line[1]))
					}
				}
			})
		}),
	}
}

func (a verbs) removeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove CONTEXT", Short: "Remove a context", Long: "Remove a context. Nothing happens to the place where it leads.",
		Example: "  holdfast context remove prod", Args: arg.Takes(1, 1), Annotations: uses(),
		RunE: a.Do(func(_ context.Context, _ *cobra.Command, args []string) error {
			return a.change(func(all *config.Contexts) (any, string, error) {
				if _, err := find(all, args[0]); err != nil {
					return nil, "", err
				}
				return removed{Context: args[0], Removed: true}, "removed context " + args[0], all.Delete(args[0])
			})
		}),
	}
}

// change changes the file of contexts, and prints what has come of it.
func (a verbs) change(work func(*config.Contexts) (shown any, text string, err error)) error {
	all, err := a.Contexts()
	if err != nil {
		return err
	}
	if all.Path == "" {
		return errors.New("there is no place for the file of contexts; set HOME or XDG_CONFIG_HOME")
	}
	shown, text, err := work(all)
	if err != nil {
		return err
	}
	if err := all.Write(); err != nil {
		return fmt.Errorf("the contexts cannot be written: %w", err)
	}
	return a.Object(shown, func() { a.Printf("%s", text) })
}

// find returns a context.
func find(all *config.Contexts, name string) (*config.Context, error) {
	c := all.Find(name)
	switch {
	case c == nil && len(all.List) == 0:
		return nil, fmt.Errorf("there is no context %s, and no other; \"holdfast context set\" makes one", output.Quote(name))
	case c == nil:
		return nil, fmt.Errorf("there is no context %s; there are %s", output.Quote(name), strings.Join(all.Names(), ", "))
	}
	return c, nil
}

// Names completes the names of contexts.
func Names(a *app.App) []string {
	all, err := a.Contexts()
	if err != nil {
		return nil // a shell has no place for it
	}
	return all.Names()
}
