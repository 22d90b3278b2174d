package scenario

import (
	"fmt"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// The names of the peers.
const (
	River        = "river"         // at its fastest documented settings
	RiverDefault = "river-default" // at its defaults
	Raw          = "raw"           // jobs claimed row by row in batches; single writes and durable functions by group commit
	RawOwner     = "raw-owner"     // a lane with one owner: no write for the claim
	HTTP         = "http"          // Holdfast through its server, with workers and producers that speak JSON
)

// The sets of peers.
var (
	workers = map[string][]string{
		system.Postgres: {River, Raw, RawOwner, RiverDefault},
		system.SQLite:   {River, Raw, RawOwner, RiverDefault},
	}
	inserters = map[string][]string{system.Postgres: {River, Raw}, system.SQLite: {River, Raw}}
	rivers    = map[string][]string{system.Postgres: {River, RiverDefault}, system.SQLite: {River, RiverDefault}}
	onlyRiver = map[string][]string{system.Postgres: {River}, system.SQLite: {River}}
	onlyHTTP  = map[string][]string{system.Postgres: {HTTP}, system.SQLite: {HTTP}}
	onlyRaw   = map[string][]string{system.Postgres: {Raw}, system.SQLite: {Raw}}
)

func jobsPerSecond() map[string]figures.Measure {
	return map[string]figures.Measure{"": {Figure: figures.Rate, Unit: "jobs/s"}}
}

func share(figure, unit string) map[string]figures.Measure {
	return map[string]figures.Measure{"": {Figure: figure, Unit: unit}}
}

func flowTitle(steps, atOnce int) string {
	title := fmt.Sprintf("durable functions of %d steps, %d at once, each waited for", steps, atOnce)
	if atOnce > defaultSlots {
		title += ", with as many slots"
	}
	return title
}

// variants are those that a quick run leaves out. A rescue takes as long as it takes.
var variants = map[string]bool{
	"insert-single-1": true, "pickup-10": true, "pickup-3000": true, "flow-1-1": true, "flow-1-1000": true, "flow-10-1": true,
	"flow-10-1000": true, "queues-20000": true, "storm-5000": true, "rescue": true, "rescue-leader": true, "limit-1": true,
	"limit-many": true, "limit-over": true, "shared-drain-half": true, "shared-drain-slots": true, "shared-steady": true,
	"shared-pickup": true, "fair-drain-few": true,
	"rate-steady": true, "rate-pickup": true,
}

// All lists the scenarios in the order in which they run.
func All() []Scenario {
	list := []Scenario{
		{Name: "drain", Title: "drain no-op jobs", Peers: workers, measure: jobsPerSecond(), run: drain},
		{Name: "steady", Title: "insert and drain at once", Peers: workers, measure: jobsPerSecond(), run: steady},
		insertScenario("insert-single-1", "insert one by one, 1 producer", 1, 1),
		insertScenario("insert-single-16", "insert one by one, 16 producers", 16, 1),
		insertScenario("insert-batch", "insert in batches of 1,000, 1 producer", 1, 1000),
	}
	for _, rate := range []int{10, 500, 3000} {
		list = append(list, Scenario{
			Name:    fmt.Sprintf("pickup-%d", rate),
			Title:   fmt.Sprintf("from the enqueue to the handler, %d jobs a second", rate),
			Peers:   rivers,
			measure: map[string]figures.Measure{"": {Figure: figures.P99, Unit: "p99 ms", Less: true}},
			run:     pickup(rate),
		})
	}
	for _, steps := range []int{1, 10} {
		for _, atOnce := range []int{1, 64, 1000} {
			list = append(list, Scenario{
				Name:    fmt.Sprintf("flow-%d-%d", steps, atOnce),
				Title:   flowTitle(steps, atOnce),
				Peers:   onlyRaw,
				measure: share(figures.Rate, "functions/s"),
				run:     flows(steps, atOnce),
			})
		}
	}
	list = append(list,
		Scenario{
			Name: "fan-out", Title: "one parent and its children", measure: share(figures.Rate, "children/s"), run: fanOut,
		},
		Scenario{
			Name: "update", Title: "from a request to a parked function to its answer",
			measure: map[string]figures.Measure{"": {Figure: figures.P50, Unit: "p50 ms", Less: true}}, run: updates,
		},
		Scenario{
			Name: "backlog", Title: "rate with a large backlog ÷ with a small one", Parts: 2, Peers: inserters,
			measure: share("large_over_small", "large ÷ small"), run: backlog,
		},
		Scenario{
			Name: "history", Title: "drain, list and count over finished jobs", Once: true, Peers: onlyRiver,
			measure: jobsPerSecond(), run: history,
		},
		Scenario{
			Name: "lists", Title: "pages of jobs over finished ones", Once: true,
			measure: map[string]figures.Measure{"": {Figure: "worst_p99_ms", Unit: "worst p99 ms", Less: true}}, run: lists,
		},
		Scenario{
			Name: "pinned", Title: "rate while another transaction pins vacuum ÷ before", Peers: inserters,
			measure: share("during_over_before", "during ÷ before"), run: pinned,
		},
		Scenario{
			Name: "nodes", Title: "drain by several nodes ÷ by one", Parts: 2, Peers: map[string][]string{system.Postgres: {River}},
			measure: share("many_over_one", "many ÷ one"), run: nodes,
		},
		Scenario{
			Name: "idle", Title: "an idle node", Once: true, Peers: onlyRiver,
			measure: map[string]figures.Measure{
				"":            {Figure: "statements_per_s", Unit: "statements/s", Less: true},
				system.SQLite: {Figure: "cpu_percent", Unit: "% of a core", Less: true},
			},
			run: idle,
		},
		Scenario{
			Name: "waiting", Title: "drain beside durable functions that wait", Once: true, Parts: 2, measure: jobsPerSecond(), run: waiting,
		},
	)
	list = append(list, limitScenarios()...)
	list = append(list, Scenario{
		Name: "keys", Title: "drain jobs of ordering keys, ten of each ÷ without keys", Parts: 2,
		measure: share("with_over_without", "with ÷ without"), run: keys,
	})
	list = append(list, sharedScenarios()...)
	list = append(list,
		Scenario{
			Name: "limit-move", Title: "the slot of a limit, from the end of a handler to one on another node",
			measure: map[string]figures.Measure{"": {Figure: figures.P99, Unit: "p99 ms", Less: true}}, run: moves,
		},
		Scenario{
			Name: "why", Title: "why a job does not run, of very many that wait",
			measure: map[string]figures.Measure{"": {Figure: figures.P99, Unit: "p99 ms", Less: true}}, run: why,
		},
	)
	list = append(list, watchingScenarios()...)
	list = append(list, throughServer()...)
	list = append(list, troubles()...)
	for i := range list {
		list[i].Parts = max(list[i].Parts, 1)
		list[i].Variant = variants[list[i].Name]
	}
	return list
}

// throughServer compares Holdfast with itself behind its server.
func throughServer() []Scenario {
	list := []Scenario{
		{Name: "http-single-64", Title: "insert one by one, 64 producers, without and over HTTP", measure: jobsPerSecond(), run: insert(64, 1)},
		{Name: "http-batch", Title: "insert in batches of 1,000, 4 producers, the same", measure: jobsPerSecond(), run: insert(4, 1000)},
		{Name: "http-drain", Title: "drain no-op jobs by nodes and by workers over HTTP", measure: jobsPerSecond(), run: drain},
		{Name: "http-steady", Title: "insert and drain at once, the same", measure: jobsPerSecond(), run: steady},
	}
	for _, rate := range []int{500, 5000} {
		list = append(list, Scenario{
			Name:    fmt.Sprintf("http-pickup-%d", rate),
			Title:   fmt.Sprintf("from the enqueue to the handler, %d jobs a second, the same", rate),
			measure: map[string]figures.Measure{"": {Figure: figures.P99, Unit: "p99 ms", Less: true}}, run: pickup(rate),
		})
	}
	list = append(list, Scenario{
		Name: "http-worker-5000", Title: "from the enqueue by the server's own program to the handler, 5000 jobs a second, the same",
		measure: map[string]figures.Measure{"": {Figure: figures.P99, Unit: "p99 ms", Less: true}},
		run:     pickupOf(5000, system.Options{Inside: true}),
	})
	for i := range list {
		list[i].Peers = onlyHTTP
	}
	return list
}

// troubles are about what others see of trouble, and how soon it is over.
func troubles() []Scenario {
	list := []Scenario{
		heldScenario("held-send", "a signal's transaction", holdSend),
		heldScenario("held-unique", "the transaction of a unique key", holdUnique),
		heldScenario("held-step", "the transaction of a step", holdStep),
	}
	for _, count := range []int{100, 20_000} {
		list = append(list, Scenario{
			Name:    fmt.Sprintf("queues-%d", count),
			Title:   fmt.Sprintf("drain a hundred queues where %d have had jobs", count),
			measure: map[string]figures.Measure{"": {Figure: "drain_s", Unit: "s", Less: true}},
			run:     queues(count),
		})
	}
	return append(list,
		Scenario{
			Name: "storm", Title: "insert with unique keys, most of which are taken",
			measure: jobsPerSecond(), run: storm(0),
		},
		Scenario{
			Name: "storm-5000", Title: "the same, 5,000 a second",
			measure: map[string]figures.Measure{"": {Figure: figures.P99, Unit: "p99 ms", Less: true}}, run: storm(5000),
		},
		Scenario{
			Name: "late", Title: "from a late commit to the handler, on a busy node",
			Stores:  []string{system.Postgres},
			measure: map[string]figures.Measure{"": {Figure: figures.P99, Unit: "p99 ms", Less: true}}, run: late,
		},
		Scenario{
			Name: "turns", Title: "from one job to the next of its ordering key",
			measure: map[string]figures.Measure{"": {Figure: "turn_ms", Unit: "ms a turn", Less: true}}, run: turns,
		},
		Scenario{
			Name: "append", Title: "inserts of others while a function stores much at once",
			measure: map[string]figures.Measure{"": {Figure: "worst_insert_p99_ms", Unit: "p99 ms", Less: true}}, run: appends,
		},
		rescueScenario("rescue", "from the end of a node's process to its jobs elsewhere", false),
		rescueScenario("rescue-leader", "the same of the node that leads", true),
	)
}

func rescueScenario(name, title string, leads bool) Scenario {
	return Scenario{
		Name: name, Title: title, run: rescue(leads),
		measure: map[string]figures.Measure{"": {Figure: "rescue_s", Unit: "s", Less: true}},
	}
}
