package nodes

import (
	"fmt"
	"io"
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
	flags.StringVar(&f.logo, flagLogo, "",
		"show the picture of `FILE` beside the title: SVG or PNG, at most 64 KiB (default: that of Holdfast)")
	for flag, variable := range map[string]string{
		flagDashboard: EnvDashboard, flagTitle: EnvTitle, flagAccent: EnvAccent, flagLogo: EnvLogo,
	} {
		app.Variable(flags, flag, variable)
	}
}

// checkLook checks what the dashboard is to look like, but for the picture.
func (a verbs) checkLook(f *dashboardFlags) error {
	for _, part := range []struct {
		flag string
		look web.Options
	}{{flagTitle, web.Options{Title: f.look.Title}}, {flagAccent, web.Options{Accent: f.look.Accent}}} {
		if err := part.look.Check(); err != nil {
			return arg.About(arg.Usagef("%s: %w", a.NameOf(part.flag), err), part.flag)
		}
	}
	return nil
}

// readDashboard reads the picture, and makes the dashboard.
func (a verbs) readDashboard(f *dashboardFlags, o *server.Options) error {
	if !f.dashboard {
		return nil
	}
	var err error
	if f.logo != "" {
		if f.look.Logo, err = readLogo(f.logo); err != nil {
			return arg.About(arg.Usagef("%s: %w", a.NameOf(flagLogo), err), flagLogo)
		}
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		f.look.Version = info.Main.Version
	}
	if o.Dashboard, err = web.Handler(f.look); err != nil {
		return arg.About(arg.Usagef("%s: %w", a.NameOf(flagLogo), err), flagLogo)
	}
	return nil
}

// mostLogo is how large a picture may be, in bytes, as web.Options say.
const mostLogo = 64 << 10

// readLogo reads a picture, and never more than one may have and a byte, by which it is refused.
func readLogo(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > mostLogo && info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", name, info.Size(), mostLogo)
	}
	return io.ReadAll(io.LimitReader(file, mostLogo+1)) // what is no file says no size
}
