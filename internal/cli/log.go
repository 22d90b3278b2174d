package cli

import (
	"log/slog"

	"github.com/spf13/pflag"
)

const (
	flagLogLevel  = "log-level"
	flagLogFormat = "log-format"

	envLogLevel  = "HOLDFAST_LOG_LEVEL"
	envLogFormat = "HOLDFAST_LOG_FORMAT"
)

// The formats of --log-format.
const (
	logShort = "short"
	logText  = "text"
	logJSON  = "json"
)

// logFlags is what a command that runs a node was told of its log. The defaults are the command's.
type logFlags struct {
	level, format string
	flags         *pflag.FlagSet
}

func (f *logFlags) add(flags *pflag.FlagSet, level, format string) {
	f.flags = flags
	flags.StringVar(&f.level, flagLogLevel, level, "lowest `LEVEL` to log: debug, info, warn or error; or set $"+envLogLevel)
	flags.StringVar(&f.format, flagLogFormat, format, "log `FORMAT`: short (for people), text or json; or set $"+envLogFormat)
}

// logSettings is what becomes of the flags.
type logSettings struct {
	level  slog.Level
	format string
}

// logSettings goes by the flags, then by --quiet, then by the environment, then by the defaults.
func (a *app) logSettings(f *logFlags) (s logSettings, err error) {
	text, from := a.logText(f, flagLogLevel, f.level, envLogLevel)
	if a.quiet && !f.flags.Changed(flagLogLevel) {
		text = "warn"
	}
	switch text {
	case "debug":
		s.level = slog.LevelDebug
	case "info":
		s.level = slog.LevelInfo
	case "warn":
		s.level = slog.LevelWarn
	case "error":
		s.level = slog.LevelError
	default:
		return s, usagef("%s %q: must be debug, info, warn or error", from, text)
	}
	s.format, from = a.logText(f, flagLogFormat, f.format, envLogFormat)
	switch s.format {
	case logShort, logText, logJSON:
		return s, nil
	default:
		return s, usagef("%s %q: must be short, text or json", from, s.format)
	}
}

// logText is the value of a setting, and where it is from.
func (a *app) logText(f *logFlags, flag, value, env string) (text, from string) {
	if set, ok := a.env.LookupEnv(env); ok && !f.flags.Changed(flag) {
		return set, "$" + env
	}
	return value, "--" + flag
}

// logger makes a logger to standard error. What is to be said of what it has kept back is said by
// end.
func (a *app) logger(s logSettings) (log *slog.Logger, end func()) {
	switch s.format {
	case logJSON:
		return slog.New(slog.NewJSONHandler(a.env.Stderr, &slog.HandlerOptions{Level: s.level})), func() {}
	case logText:
		return slog.New(slog.NewTextHandler(a.env.Stderr, &slog.HandlerOptions{Level: s.level})), func() {}
	}
	short := newShortLog(a.env.Stderr, s.level)
	return slog.New(short), short.end
}

// silent is the log of commands that say by themselves what went wrong.
func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }
