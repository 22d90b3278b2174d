package app

import (
	"errors"
	"testing"

	"github.com/spf13/cobra"
)

// TestLogSettings: flags override --quiet, which overrides the environment, which overrides the
// defaults.
func TestLogSettings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args          []string
		level, format string // of the environment
		want          string
	}{
		{want: "INFO text"},
		{level: "debug", format: "json", want: "DEBUG json"},
		{args: []string{"--quiet"}, want: "WARN text"},
		{args: []string{"--quiet"}, level: "debug", want: "WARN text"},
		{args: []string{"--log-level", "error", "--quiet"}, level: "debug", want: "ERROR text"},
		{args: []string{"--log-level", "info", "--log-format", "short"}, level: "debug", format: "json", want: "INFO short"},
	} {
		given := map[string]string{}
		for name, value := range map[string]string{EnvLogLevel: test.level, EnvLogFormat: test.format} {
			if value != "" {
				given[name] = value
			}
		}
		a := New(Env{
			LookupEnv: func(name string) (string, bool) { value, set := given[name]; return value, set },
			Terminal:  func(any) bool { return false },
		})
		var f LogFlags
		cmd := &cobra.Command{Annotations: Uses(FlagQuiet)}
		flags := cmd.Flags()
		f.Add(flags, "info", LogText)
		flags.BoolVarP(&a.Quiet, FlagQuiet, "q", false, "")
		if err := errors.Join(flags.Parse(test.args), a.ReadEnvironment(cmd)); err != nil {
			t.Fatal(err)
		}
		settings, err := a.LogSettings(&f)
		if got := settings.level.String() + " " + settings.Format; err != nil || got != test.want {
			t.Errorf("%v: %s, %v, want %s", test, got, err, test.want)
		}
	}
}
