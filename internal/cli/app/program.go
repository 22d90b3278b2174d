package app

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast/internal/cli/output"
)

// Program is the name under which this command was called.
func (a *App) Program() string {
	if a.Env.Program == "" {
		return "holdfast"
	}
	return a.Env.Program
}

// GoRun is the start of a command line that builds the program each time.
const GoRun = "go run "

// builtByRun is a directory in Go's build cache, where "go run" puts its builds if not into a
// go-build directory.
var builtByRun = regexp.MustCompile(`^[0-9a-f]{64}-d$`)

// ProgramOf returns what to type to call a program again that was called as called. look is
// exec.LookPath.
func ProgramOf(called string, look func(string) (string, error)) string {
	dir := filepath.Dir(called)
	segments := strings.Split(filepath.ToSlash(dir), "/")
	switch {
	case builtByRun.MatchString(filepath.Base(dir)) || slices.ContainsFunc(segments, isBuildDir):
		if path := packageOf(); path != ofFiles {
			return GoRun + output.Quote(path)
		}
		return output.Quote(called) // valid while it runs
	case !strings.ContainsRune(called, filepath.Separator):
		return output.Quote(called)
	}
	base := filepath.Base(called)
	if found, err := look(base); err == nil && isSameFile(found, called) {
		return output.Quote(base)
	}
	return output.Quote(called)
}

func isBuildDir(name string) bool { return strings.HasPrefix(name, "go-build") }

func isSameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// ofFiles is Go's name of a package given by its files.
const ofFiles = "command-line-arguments"

// packageOf is the package of this command for "go run": its directory in a copy of the source, or
// its path with its version.
func packageOf() string {
	const source = "./cmd/holdfast"
	if _, err := os.Stat(filepath.Join(source, "main.go")); err == nil {
		return source
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return source
	}
	if version := info.Main.Version; strings.HasPrefix(version, "v") && !strings.Contains(version, "+") {
		return info.Path + "@" + version
	}
	return info.Path
}
