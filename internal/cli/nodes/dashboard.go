package nodes

import (
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/web"
)

// The flags of the dashboard.
const (
	flagDashboard = "dashboard"
	flagTitle     = "title"
	flagAccent    = "accent"
	flagLogo      = "logo"
)

// The variables of these flags.
const (
	EnvDashboard = "HOLDFAST_DASHBOARD"
	EnvTitle     = "HOLDFAST_TITLE"
	EnvAccent    = "HOLDFAST_ACCENT"
	EnvLogo      = "HOLDFAST_LOGO"
)

// dashboardFlags are the flags of the dashboard.
type dashboardFlags struct {
	dashboard bool
	look      web.Options
	logo      string
}

func (f *dashboardFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.dashboard, flagDashboard, true, "serve the dashboard at /; =false: do not")
	flags.StringVar(&f.look.Title, flagTitle, "", "call the dashboard `TITLE`, such as the name of what is run here (default: Holdfast)")
	flags.StringVar(&f.look.Accent, flagAccent, "",
		"give the dashboard the `COLOUR`, such as #0a7, by which people tell servers apart (default: that of the design)")
	flags.StringVar(&f.logo, flagLogo, "", "show the picture of `FILE` beside the title: SVG or PNG, at most 64 KiB (default: that of Holdfast)")
	for flag, variable := range map[string]string{
		flagDashboard: EnvDashboard, flagTitle: EnvTitle, flagAccent: EnvAccent, flagLogo: EnvLogo,
	} {
		app.Variable(flags, flag, variable)
	}
}

// readDashboard reads what the flags say.
func (a verbs) readDashboard(f *dashboardFlags, o *server.Options) error {
	if !f.dashboard {
		return nil
	}
	if f.logo != "" {
		logo, err := os.ReadFile(f.logo)
		if err != nil {
			return arg.Usagef("%s: %w", a.NameOf(flagLogo), err)
		}
		f.look.Logo = logo
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		f.look.Version = info.Main.Version
	}
	pages, err := web.Handler(f.look)
	if err != nil {
		return arg.Usagef("%w", err)
	}
	o.Dashboard = pages
	return nil
}
