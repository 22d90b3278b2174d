package nodes

import (
	"net/http"
	"slices"

	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
)

// CheckSetting is why a verb would refuse the value that a flag has, as far as the value alone
// tells.
func CheckSetting(f *pflag.Flag) error {
	text := f.Value.String()
	oneOf := func(words ...string) error {
		if slices.Contains(words, text) {
			return nil
		}
		return arg.Usagef("%q is none of %v", text, words)
	}
	switch f.Name {
	case flagAuth:
		_, err := waysOf(text)
		return err
	case flagOIDCRole:
		_, err := rulesOf(arg.ValuesOf(f))
		return err
	case app.FlagLogLevel:
		return oneOf("debug", "info", "warn", "error")
	case app.FlagLogFormat:
		return oneOf(app.LogShort, app.LogText, app.LogJSON)
	case flagListen:
		if text == noListen {
			return nil // of dev
		}
		return checkAddress(text)
	case flagRate:
		if _, ok := parseRate(text); !ok {
			return arg.Usagef("%q is no number of requests in a time, such as 100/s", text)
		}
	case flagNodeName:
		_, err := expand(text, placeholders())
		return err
	case flagQueue:
		_, err := queuesOf(arg.ValuesOf(f))
		return err
	case flagOrigin:
		for _, origin := range split(arg.ValuesOf(f)) {
			if err := http.NewCrossOriginProtection().AddTrustedOrigin(origin); err != nil {
				return err
			}
		}
	case flagSlots:
		if text == "0" || text[0] == '-' {
			return arg.Usagef("%s is not positive", text)
		}
	}
	if d, err := arg.ParseDuration(text); f.Value.Type() == "duration" && err == nil && (d < 0 || d == 0 && isInterval(f.Name)) {
		return arg.Usagef("%v is too short", d)
	}
	return nil
}

// isInterval reports whether a duration must be positive.
func isInterval(flag string) bool { return flag == flagBeat || flag == flagDeadAfter }
