package main

import (
	"context"
	"slices"
	"strings"
	"time"
)

// module is the path of this module.
const module = "github.com/holdfastdev/holdfast"

// stage is a part of the first tier.
type stage struct {
	name string
	// budget is what it may take on two quiet cores if nothing was built before; all of them
	// together have fifteen minutes then, and twelve if the build cache is warm.
	budget time.Duration
	// do does something other than to run tests.
	do func(context.Context) error
	// holds says which packages are tested here: each of these paths, seen from the module, and
	// what is below one that ends with "/...". No path: all that no other stage tests.
	holds []string
	command
}

// competing are the tests in which goroutines compete for a store.
const competing = "^TestRaces$"

// stages are the first tier, in its order: what fails in seconds comes before what takes minutes.
var stages = []stage{
	{name: "format", budget: 10 * time.Second, do: checkFormat},
	{name: "vet and build", budget: 200 * time.Second, do: vet},
	{name: "lint of what changed", budget: 60 * time.Second, do: lint},
	{ // which asks the go command about all of the tree: its cache does not know what that has read
		name: "shape and words", budget: 30 * time.Second, holds: []string{"internal/layers", "internal/terms"},
		command: command{flags: []string{"-count=1"}},
	},
	{
		name: "built pages", budget: 20 * time.Second,
		command: command{dir: "web/build", packages: []string{"./..."}},
	},
	{name: "units", budget: 150 * time.Second},
	{
		name: "stores", budget: 180 * time.Second, holds: []string{"store/...", "internal/sealed", "internal/timed", "internal/copier"},
		command: command{flags: []string{"-skip=" + competing}},
	},
	{
		name: "race detector", budget: 150 * time.Second, command: command{race: true},
		holds: []string{
			"internal/engine", "internal/replay", "internal/commit", "internal/slots", "internal/news", "internal/relay", "internal/tail",
		},
	},
	{
		name: "races of stores", budget: 60 * time.Second, command: command{race: true, flags: []string{"-run=" + competing}},
		holds: []string{"store/sqlite", "store/postgres"},
	},
	{name: "storms and faults", budget: 90 * time.Second, holds: []string{"internal/crashtest", "internal/faulttest"}},
	{
		name: "command, server, pages", budget: 120 * time.Second,
		holds: []string{"internal/cli/...", "cmd/...", "server/...", "web/...", "examples/...", "clients/..."},
	},
}

// has reports whether a stage names a package.
func (s stage) has(pkg string) bool {
	pkg = strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/")
	return slices.ContainsFunc(s.holds, func(held string) bool {
		below, all := strings.CutSuffix(held, "/...")
		return pkg == below || all && strings.HasPrefix(pkg, below+"/")
	})
}

// testsOf are the packages of a stage, among those that have tests.
func (s stage) testsOf(packages []string) []string {
	if s.dir != "" {
		return s.packages // of another module
	}
	return slices.DeleteFunc(slices.Clone(packages), func(pkg string) bool {
		if len(s.holds) > 0 {
			return !s.has(pkg)
		}
		return slices.ContainsFunc(stages, func(other stage) bool { return other.has(pkg) })
	})
}
