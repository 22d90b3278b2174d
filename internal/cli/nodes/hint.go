package nodes

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/output"
)

// hint prints commands to try. Each works as printed, in another terminal.
func (a verbs) hint(database string, f *settings) {
	kinds := "exec and http"
	job := `exec '{"command":["echo","hello"]}'`
	if !f.allowExec {
		kinds = "http"
		job = `http '{"url":"https://example.com/"}'`
	}
	if queue := servedQueue(f.queues); queue != defaultQueue {
		job += " --queue " + output.Quote(queue)
	}
	way := a.wayTo(strings.HasPrefix(database, "sqlite:"))
	lines := way.before
	node := way.flags // nodes are listed for all namespaces
	if _, set := a.Env.LookupEnv(app.EnvNamespace); set || a.Namespace != app.DefaultNamespace {
		way.flags += " --namespace " + output.Quote(a.Namespace)
	}
	for _, verb := range []string{"job enqueue " + job + " --wait", "job enqueue " + job + " --in 10s", "job list", "queue list"} {
		lines = append(lines, a.Program()+" "+verb+way.flags)
	}
	lines = append(lines, a.Program()+" node list"+node)
	a.Notef("This node runs %s jobs from %s. Press Ctrl-C to stop it. Try in another terminal%s:\n\n  %s\n",
		kinds, database, way.where, strings.Join(lines, "\n  "))
}

// defaultQueue is where a job is enqueued if nothing else is said.
const defaultQueue = "default"

// servedQueue is a queue that a node serves, of those that it was given: the default one if it can
// be.
func servedQueue(lists []string) string {
	first := ""
	for _, list := range lists {
		for item := range strings.SplitSeq(list, ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(item), "=")
			if first = cmp.Or(first, name); name == defaultQueue {
				return name
			}
		}
	}
	return cmp.Or(first, defaultQueue)
}

// wayTo is how commands in another terminal find this database.
type wayTo struct {
	flags  string   // flags of each command
	before []string // lines to run first
	where  string   // further conditions, in words
}

// wayTo keeps passwords off the screen, and off command lines, which other users of the machine can
// read.
func (a verbs) wayTo(isFile bool) wayTo {
	named := a.Database
	var way wayTo
	if isRelativeFile(named) && isFile || isRelativeCommand(a.Program()) {
		way.where = ", in this directory"
	}
	secret := holdsPassword(named)
	_, set := a.Env.LookupEnv(app.EnvDatabase) // it may be set in the other terminal as well
	switch export := "export " + app.EnvDatabase + "="; {
	case a.UsedContext() != "":
		way.flags = " --context " + a.UsedContext()
	case a.ByFlag && secret:
		way.before = []string{export + output.Quote(withoutPassword(named))}
		way.where += ", with the password in place of " + passwordMark
	case a.ByFlag && (set || named != app.DefaultDatabase):
		way.flags = " --database " + output.Quote(named)
	case secret:
		way.where += ", where " + app.EnvDatabase + " is set as it is here"
	case !a.ByFlag && named != app.DefaultDatabase:
		way.before = []string{export + output.Quote(named)}
	case a.NeedsPlace():
		way.flags = " --database " + output.Quote(named)
	}
	return way
}

// isRelativeFile reports whether a database is a file with a relative path.
func isRelativeFile(named string) bool {
	return !strings.Contains(named, "://") && !filepath.IsAbs(strings.TrimPrefix(named, "sqlite:"))
}

// isRelativeCommand reports whether a program can only be called from this directory, like a
// package without a version.
func isRelativeCommand(program string) bool {
	called, byGo := strings.CutPrefix(program, app.GoRun)
	called = strings.TrimPrefix(called, "'")
	if byGo {
		return !strings.Contains(called, "@")
	}
	return strings.Contains(called, "/") && !filepath.IsAbs(called)
}

// passwordMark replaces a password.
const passwordMark = "PASSWORD"

// passwordPlaces are where a URL may contain a password: after the user, even if unquoted, and in
// the parameters; and where a keyword string may.
var passwordPlaces = []*regexp.Regexp{
	regexp.MustCompile(`^([^:/?#]+://[^:@]*:)[^/?#]*(@)`),
	regexp.MustCompile(`^([^:/?#]+://[^:@]*:).*(@)`),
	regexp.MustCompile(`([?&][a-z]*password=)[^&#]*()`),
	regexp.MustCompile(`((?:^|\s)[a-z]*password\s*=\s*)(?:'(?:[^'\\]|\\.)*'?|[^\s']\S*)()`),
}

// holdsPassword reports whether the name of a database may contain a password. False positives are
// better than showing one.
func holdsPassword(named string) bool {
	return slices.ContainsFunc(passwordPlaces, func(r *regexp.Regexp) bool { return r.MatchString(named) })
}

// withoutPassword is a database's URL with a mark in place of each possible password.
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
