package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// hint says what to try. Each of the commands works as it is written, in another terminal.
func (a *app) hint(database string, f *serveFlags) {
	kinds := "exec and http"
	job := `exec '{"command":["echo","hello"]}'`
	if !f.allowExec {
		kinds = "http"
		job = `http '{"url":"https://example.com/"}'`
	}
	way := a.wayTo(strings.HasPrefix(database, "sqlite:"))
	lines := way.before
	node := way.flags // nodes are of all namespaces
	if _, set := a.env.LookupEnv(envNamespace); set || a.namespace != defaultNamespace {
		way.flags += " --namespace " + quote(a.namespace)
	}
	for _, verb := range []string{"job enqueue " + job + " --wait", "job enqueue " + job + " --in 10s", "job list", "queue list"} {
		lines = append(lines, a.program()+" "+verb+way.flags)
	}
	lines = append(lines, a.program()+" node list"+node)
	a.notef("This node runs %s jobs from %s. Press Ctrl-C to stop it. Try in another terminal%s:\n\n  %s\n",
		kinds, database, way.where, strings.Join(lines, "\n  "))
}

// wayTo is how commands in another terminal find the database of this one.
type wayTo struct {
	flags  string   // for each of them
	before []string // lines to run first
	where  string   // what else it takes, in words
}

// wayTo keeps what may be a password off the screen, and off command lines, which other users of the machine can read.
func (a *app) wayTo(isFile bool) wayTo {
	named := a.dsn()
	var way wayTo
	if isRelativeFile(named) && isFile || isRelativeCommand(a.program()) {
		way.where = ", in this directory"
	}
	secret := holdsPassword(named)
	_, set := a.env.LookupEnv(envDatabase) // perhaps in the other terminal, too
	switch export := "export " + envDatabase + "="; {
	case a.byFlag && secret:
		way.before = []string{export + quote(withoutPassword(named))}
		way.where += ", with the password in place of " + passwordMark
	case a.byFlag && (set || named != defaultDatabase):
		way.flags = " --database " + quote(named)
	case secret:
		way.where += ", where " + envDatabase + " is set as it is here"
	case !a.byFlag && named != defaultDatabase:
		way.before = []string{export + quote(named)}
	}
	return way
}

// program is how this command is called.
func (a *app) program() string {
	if a.env.Program == "" {
		return "holdfast"
	}
	return a.env.Program
}

// isRelativeFile reports whether a database is a file that is found only from the directory that the command runs in.
func isRelativeFile(named string) bool {
	return !strings.Contains(named, "://") && !filepath.IsAbs(strings.TrimPrefix(named, "sqlite:"))
}

// isRelativeCommand reports the same of a command that is called: a package without its version is found in its module alone.
func isRelativeCommand(program string) bool {
	called, byGo := strings.CutPrefix(program, goRun)
	called = strings.TrimPrefix(called, "'")
	if byGo {
		return !strings.Contains(called, "@")
	}
	return strings.Contains(called, "/") && !filepath.IsAbs(called)
}

// passwordMark stands where a password was.
const passwordMark = "PASSWORD"

// passwordPlaces are where a URL may have one: after the user, also if it has signs in it that should be quoted, and among the
// parameters; and where a string of keywords may.
var passwordPlaces = []*regexp.Regexp{
	regexp.MustCompile(`^([^:/?#]+://[^:@]*:)[^/?#]*(@)`),
	regexp.MustCompile(`^([^:/?#]+://[^:@]*:).*(@)`),
	regexp.MustCompile(`([?&][a-z]*password=)[^&#]*()`),
	regexp.MustCompile(`((?:^|\s)[a-z]*password\s*=\s*)(?:'(?:[^'\\]|\\.)*'?|[^\s']\S*)()`),
}

// holdsPassword reports whether a database's name might hold a password. It is better to be wrong than to show one.
func holdsPassword(named string) bool {
	return slices.ContainsFunc(passwordPlaces, func(r *regexp.Regexp) bool { return r.MatchString(named) })
}

// withoutPassword is a database's URL with a mark in place of what may be a password.
func withoutPassword(named string) string {
	user, others := passwordPlaces[:2], passwordPlaces[2:]
	for _, r := range user {
		if r.MatchString(named) {
			named = r.ReplaceAllString(named, "${1}"+passwordMark+"${2}")
			break
		}
	}
	for _, r := range others {
		named = r.ReplaceAllString(named, "${1}"+passwordMark)
	}
	return named
}

const goRun = "go run "

// builtByRun is a directory in Go's build cache: where "go run" puts what it builds, if not into a go-build directory of its own.
var builtByRun = regexp.MustCompile(`^[0-9a-f]{64}-d$`)

// programOf is what to type to call a command that was called like this. look is exec.LookPath.
func programOf(called string, look func(string) (string, error)) string {
	dir := filepath.Dir(called)
	segments := strings.Split(filepath.ToSlash(dir), "/")
	switch {
	case builtByRun.MatchString(filepath.Base(dir)) || slices.ContainsFunc(segments, isBuildDir):
		if path := packageOf(); path != ofFiles {
			return goRun + quote(path)
		}
		return quote(called) // which is there as long as it runs
	case !strings.ContainsRune(called, filepath.Separator):
		return quote(called)
	}
	base := filepath.Base(called)
	if found, err := look(base); err == nil && isSameFile(found, called) {
		return quote(base)
	}
	return quote(called)
}

func isBuildDir(name string) bool { return strings.HasPrefix(name, "go-build") }

func isSameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b) //nolint:gosec // it is the program that runs
	return err == nil && os.SameFile(x, y)
}

// ofFiles is what Go calls a package that is given by its files.
const ofFiles = "command-line-arguments"

// packageOf is the package of this command for "go run": the directory in a copy of the source, or its path with its version.
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
