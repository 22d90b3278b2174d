package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast/bench/internal/scenario"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// settings are those of the command line.
type settings struct {
	scenarios []scenario.Scenario
	stores    []string
	peers     []string // nil: those of each scenario
	rounds    int
	quick     bool
	json      string
	database  string
	dir       string
	sqlite    string // the program that measures River on SQLite
	commit    string
	sizes     scenario.Sizes
}

// fullSizes and quickSizes are the defaults. Quick runs show that everything works, not how fast it
// is.
var (
	fullSizes = scenario.Sizes{
		Jobs: 100_000, Seconds: 10, Steady: 30, Small: 1000, Large: 1_000_000, History: 1_000_000, Nodes: 4, Children: 10_000, Runs: 100_000,
		Phase: 20, Open: 10, IdleWarm: 15, IdleSeconds: 60, Looks: 200, Finished: 1_000_000,
	}
	quickSizes = scenario.Sizes{
		Jobs: 3000, Seconds: 0.25, Steady: 0.25, Small: 1000, Large: 5000, History: 3000, Nodes: 4, Children: 500, Runs: 1000,
		Phase: 0.25, Open: 0.2, IdleWarm: 0.3, IdleSeconds: 0.7, Looks: 20, Finished: 3000,
	}
)

func parse(args []string) (settings, error) {
	s := settings{}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	names := flags.String("scenario", "all", "scenarios, separated by commas; a name that ends with * stands for all that begin so")
	stores := flags.String("store", "sqlite,postgres", "sqlite, postgres or both")
	peers := flags.String("peer", "", "the peers to compare with, or none; default: those of each scenario, in quick runs fewer")
	flags.IntVar(&s.rounds, "rounds", 0, "how often each scenario runs with each system, alternately; default 3, in quick runs 1")
	flags.BoolVar(&s.quick, "quick", false,
		"one small round in about a minute, to see that it works; without variants and with one peer if you name none")
	flags.StringVar(&s.json, "json", "", "append JSON lines to this `file`; - is standard output, instead of the tables")
	flags.StringVar(&s.database, "database", "",
		"the `URL` of a PostgreSQL server on which databases may be created, instead of one of our own")
	flags.StringVar(&s.dir, "dir", "", "the `directory` for databases; it must be on a real disk; default that of temporary files")
	flags.StringVar(&s.sqlite, "river-sqlite", "", "the `program` that measures River on SQLite; ./bench/run builds it")
	flags.StringVar(&s.commit, "commit", "", "what the results call the version of Holdfast")
	list := flags.Bool("list", false, "list the scenarios and their peers")
	var given scenario.Sizes
	for _, f := range sizeFlags(&given) {
		f.define(flags)
	}
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("%q is not a flag", flags.Arg(0))
	}
	if *list {
		listScenarios()
		os.Exit(0)
	}
	s.sizes = fullSizes
	if s.quick {
		s.sizes = quickSizes
	}
	merge(&s.sizes, given, flags)
	if s.rounds == 0 {
		s.rounds = 3
		if s.quick {
			s.rounds = 1
		}
	}
	if *peers != "" {
		s.peers = strings.Split(*peers, ",")
	}
	s.stores = strings.Split(*stores, ",")
	for _, store := range s.stores {
		if store != system.SQLite && store != system.Postgres {
			return s, fmt.Errorf("--store %q: the stores are %s and %s", store, system.SQLite, system.Postgres)
		}
	}
	var err error
	s.scenarios, err = choose(*names, s.quick)
	return s, err
}

// choose returns the scenarios of a list of names, in their own order.
func choose(names string, quick bool) ([]scenario.Scenario, error) {
	chosen := map[string]bool{}
	for name := range strings.SplitSeq(names, ",") {
		prefix, open := strings.CutSuffix(name, "*")
		found := false
		for _, s := range scenario.All() {
			if s.Name == name || name == "all" && !(quick && s.Variant) || open && strings.HasPrefix(s.Name, prefix) {
				chosen[s.Name], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no scenario %q; --list shows them", name)
		}
	}
	return slices.DeleteFunc(scenario.All(), func(s scenario.Scenario) bool { return !chosen[s.Name] }), nil
}

func listScenarios() {
	for _, s := range scenario.All() {
		fmt.Printf("%-18s %s", s.Name, s.Title)
		if len(s.Stores) > 0 {
			fmt.Printf("; only on %s", strings.Join(s.Stores, ", "))
		}
		for _, store := range []string{system.Postgres, system.SQLite} {
			if peers := s.Peers[store]; len(peers) > 0 {
				fmt.Printf("; %s: %s", store, strings.Join(peers, ", "))
			}
		}
		fmt.Println()
	}
}

// sizeFlag is a flag that sets a size.
type sizeFlag struct {
	name, usage string
	whole       *int
	fraction    *float64
}

func (f sizeFlag) define(flags *flag.FlagSet) {
	if f.whole != nil {
		flags.IntVar(f.whole, f.name, 0, f.usage)
		return
	}
	flags.Float64Var(f.fraction, f.name, 0, f.usage)
}

func sizeFlags(s *scenario.Sizes) []sizeFlag {
	return []sizeFlag{
		{name: "jobs", usage: "how many jobs to drain", whole: &s.Jobs},
		{name: "seconds", usage: "how long a timed scenario lasts; default 10, steady 30", fraction: &s.Seconds},
		{name: "slots", usage: "slots of our nodes; default that of users", whole: &s.Slots},
		{name: "small", usage: "the small backlog", whole: &s.Small},
		{name: "large", usage: "the large backlog", whole: &s.Large},
		{name: "history", usage: "finished jobs in the scenario history; the whole measurement has 10000000", whole: &s.History},
		{name: "looks", usage: "how often each list and count is asked for in the scenarios history and lists", whole: &s.Looks},
		{name: "finished", usage: "finished jobs in the scenario lists; the whole measurement has 10000000", whole: &s.Finished},
		{name: "nodes", usage: "nodes in the scenario nodes", whole: &s.Nodes},
		{name: "children", usage: "children in the scenarios fan-out and append", whole: &s.Children},
		{name: "runs", usage: "runs in the scenario waiting; the whole measurement has 1000000", whole: &s.Runs},
		{name: "phase", usage: "seconds before and after what a scenario pins or holds; pinned for an hour in all has 1500", fraction: &s.Phase},
		{name: "pin", usage: "seconds for which it pins or holds; the whole of pinned has 600; default as long as a phase", fraction: &s.Pin},
		{name: "open", usage: "seconds for which the longer transactions of the scenario late stay open", fraction: &s.Open},
		{name: "idle-warm", usage: "seconds until an idle node is watched", fraction: &s.IdleWarm},
		{name: "idle", usage: "seconds for which an idle node is watched", fraction: &s.IdleSeconds},
	}
}

// merge puts the flags that were given over the defaults.
func merge(sizes *scenario.Sizes, given scenario.Sizes, flags *flag.FlagSet) {
	set := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
	from, to := sizeFlags(&given), sizeFlags(sizes)
	for i := range from {
		switch {
		case !set[from[i].name]:
		case from[i].whole != nil:
			*to[i].whole = *from[i].whole
		default:
			*to[i].fraction = *from[i].fraction
		}
	}
	if set["seconds"] {
		sizes.Steady = sizes.Seconds
	}
}
