package app

import (
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/shortlog"
)

// The flags of the log, and the variables used without them.
const (
	FlagLogLevel  = "log-level"
	FlagLogFormat = "log-format"

	EnvLogLevel  = "HOLDFAST_LOG_LEVEL"
	EnvLogFormat = "HOLDFAST_LOG_FORMAT"
)

// The formats of --log-format.
const (
	LogShort = "short"
	LogText  = "text"
	LogJSON  = "json"
)

// LogFlags are the log flags of a command that runs a node. The defaults are the command's.
type LogFlags struct {
	level, format string
	flags         *pflag.FlagSet
}

// Add adds the flags to a command, with its defaults.
func (f *LogFlags) Add(flags *pflag.FlagSet, level, format string) {
	f.flags = flags
	flags.StringVar(&f.level, FlagLogLevel, level, "lowest `LEVEL` to log: debug, info, warn or error")
	flags.StringVar(&f.format, FlagLogFormat, format, "log `FORMAT`: short (for people), text or json")
	Variable(flags, FlagLogLevel, EnvLogLevel)
	Variable(flags, FlagLogFormat, EnvLogFormat)
}

// LogSettings are the resulting settings.
type LogSettings struct {
	level  slog.Level
	Format string
}

// LogSettings applies the flags, then --quiet, then the environment, then the defaults.
func (a *App) LogSettings(f *LogFlags) (s LogSettings, err error) {
	level := f.level
	if a.Quiet && !f.flags.Changed(FlagLogLevel) {
		level = "warn"
	}
	switch level {
	case "debug":
		s.level = slog.LevelDebug
	case "info":
		s.level = slog.LevelInfo
	case "warn":
		s.level = slog.LevelWarn
	case "error":
		s.level = slog.LevelError
	default:
		return s, arg.About(arg.Usagef("%s %q: must be debug, info, warn or error", a.NameOf(FlagLogLevel), level), FlagLogLevel)
	}
	s.Format = f.format
	switch s.Format {
	case LogShort, LogText, LogJSON:
		return s, nil
	default:
		return s, arg.About(arg.Usagef("%s %q: must be short, text or json", a.NameOf(FlagLogFormat), s.Format), FlagLogFormat)
	}
}

// Logger returns a logger to standard error. end flushes what it has held back.
func (a *App) Logger(s LogSettings) (log *slog.Logger, end func()) {
	switch s.Format {
	case LogJSON:
		return slog.New(slog.NewJSONHandler(a.Env.Stderr, &slog.HandlerOptions{Level: s.level})), func() {}
	case LogText:
		return slog.New(slog.NewTextHandler(a.Env.Stderr, &slog.HandlerOptions{Level: s.level})), func() {}
	}
	short := shortlog.New(a.Env.Stderr, s.level)
	return slog.New(short), short.End
}

// Silent returns a logger for commands that report errors themselves.
func Silent() *slog.Logger { return slog.New(slog.DiscardHandler) }
