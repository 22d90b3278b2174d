package layers_test

import "slices"

// layer says which packages of ours the packages of a pattern may import. A pattern is the path of
// a package below the module, or such a path with "/..." for the package and all under it; "." is
// the root package. The longest pattern that matches a package is its layer. Packages of one layer
// may import each other.
type layer struct {
	pattern string
	imports []string
	tests   []string // besides, in test files
}

// support is what the tests of everything above the stores may import.
var support = []string{
	"holdfasttest/...", "internal/crashtest/process", "internal/pgtest/...", "internal/saidonce", "internal/sqlitetest",
	"store/...", "why",
}

// words are what the stories of the conformance suite are told with.
var words = []string{"store", "store/storetest/env", "store/storetest/faults"}

// anywhere is what the tests of every package may import.
var anywhere = []string{"internal/benchsize", "internal/binaries", "internal/seed"}

// onPostgres are what the verbs of store/postgres stand on.
var onPostgres = []string{
	"store", "store/internal/audited", "store/internal/refusal", "store/postgres/internal/keys", "store/postgres/internal/local",
	"store/postgres/internal/pg",
}

// onSQLite is what the verbs of the SQLite store stand on.
var onSQLite = []string{
	"store", "store/internal/audited", "store/internal/refusal", "store/sqlite/internal/core", "store/sqlite/internal/db",
}

var layers = slices.Concat([]layer{
	{pattern: "store"},
	{pattern: "internal/gcra", imports: []string{"store"}},
	{pattern: "internal/backlog", imports: []string{"store"}},
	{pattern: "store/internal/...", imports: []string{"store"}},
	{pattern: "store/internal/lists", imports: []string{"store", "store/internal/refusal"}},
	{
		pattern: "store/storetest/model",
		imports: []string{
			"internal/gcra", "store", "store/internal/audited", "store/internal/edits", "store/internal/lists", "store/internal/refusal",
			"store/storetest/model/copyof", "store/storetest/model/known", "store/storetest/model/match", "store/storetest/turns",
		},
		tests: []string{"store/storetest"},
	},
	{pattern: "store/storetest/model/copyof", imports: []string{"store"}},
	{pattern: "store/storetest/model/known", imports: []string{"store"}},
	{pattern: "store/storetest/model/match", imports: []string{"store"}},
	{pattern: "store/storetest/faults", imports: []string{"store"}, tests: []string{"store/storetest", "store/storetest/model"}},
	{pattern: "store/storetest/env", imports: []string{"store"}},
	{pattern: "store/storetest/copies", imports: words},
	{pattern: "store/storetest/batches", imports: words},
	{pattern: "store/storetest/depend", imports: words},
	{pattern: "store/storetest/durable", imports: words},
	{pattern: "store/storetest/family", imports: words},
	{pattern: "store/storetest/jobs", imports: words},
	{pattern: "store/storetest/joblogs", imports: words},
	{pattern: "store/storetest/attributes", imports: words},
	{pattern: "store/storetest/access", imports: words},
	{pattern: "store/storetest/requests", imports: words},
	{pattern: "store/storetest/retention", imports: append([]string{"store/storetest/crowd"}, words...)},
	{pattern: "store/storetest/descriptors", imports: append([]string{"store/storetest/crowd"}, words...)},
	{pattern: "store/storetest/dead", imports: words},
	{pattern: "store/storetest/facts", imports: words},
	{pattern: "store/storetest/feed", imports: words},
	{pattern: "store/storetest/keys", imports: words},
	{pattern: "store/storetest/crowd", imports: words},
	{pattern: "store/storetest/lists", imports: slices.Concat(words, []string{"store/storetest/crowd"})},
	{pattern: "store/storetest/nodes", imports: words},
	{pattern: "store/storetest/operate", imports: words},
	{pattern: "store/storetest/outside", imports: words},
	{pattern: "store/storetest/fair", imports: words},
	{pattern: "store/storetest/turns", imports: []string{"store"}},
	{pattern: "store/storetest/schedules", imports: words},
	{pattern: "store/storetest/gates", imports: slices.Concat(words, []string{"store/storetest/crowd"})},
	{
		pattern: "store/storetest/limits", imports: slices.Concat(words, []string{"internal/gcra", "store/storetest/crowd"}),
		tests: []string{"store/storetest/model"},
	},
	{pattern: "store/storetest/race", imports: slices.Concat(words, []string{"store/storetest/crowd"})},
	{pattern: "store/storetest/starts", imports: words},
	{pattern: "store/storetest/tx", imports: words},
	{pattern: "store/storetest/updates", imports: words},
	{
		pattern: "store/storetest/machine",
		imports: slices.Concat(words, []string{"internal/seed", "store/internal/refusal", "store/storetest/model"}),
	},
	{pattern: "store/storetest", imports: []string{"internal/benchsize", "store", "store/storetest/..."}},
	{
		pattern: "store/storetest/simulate", imports: []string{"store", "store/storetest/..."},
		tests: []string{"store/internal/lists", "store/sqlite"},
	},
	{pattern: "store/storetest/simulate/play", imports: []string{"store/storetest/faults"}},
	{
		pattern: "store/storetest/simulate/rules",
		imports: []string{"internal/slots", "store", "store/storetest/faults", "store/storetest/simulate/play"},
		tests:   []string{"store/sqlite", "store/storetest/model"},
	},
	{pattern: "store/sqlite/internal/filewatch"},
	{pattern: "store/sqlite/internal/db", imports: []string{"store", "store/internal/refusal", "store/internal/sqltext"}},
	{pattern: "store/sqlite/internal/core", imports: []string{"store", "internal/gcra", "store/internal/...", "store/sqlite/internal/db"}},
	{
		pattern: "store/sqlite/internal/move",
		imports: slices.Concat(onSQLite, []string{
			"store/sqlite/internal/attributes", "store/sqlite/internal/batches", "store/sqlite/internal/classes",
			"store/sqlite/internal/edges", "store/sqlite/internal/generations", "store/sqlite/internal/joblog",
			"store/sqlite/internal/limits", "store/sqlite/internal/remains", "store/sqlite/internal/schedules",
			"store/sqlite/internal/work",
		}),
	},
	{pattern: "store/sqlite/internal/keys", imports: onSQLite},
	{pattern: "store/sqlite/internal/updates", imports: onSQLite},
	{pattern: "store/sqlite/internal/joblog", imports: onSQLite},
	{pattern: "store/sqlite/internal/attributes", imports: onSQLite},
	{pattern: "store/sqlite/internal/classes", imports: slices.Concat(onSQLite, []string{"store/internal/kept"})},
	{pattern: "store/sqlite/internal/remains", imports: slices.Concat(onSQLite, []string{"store/internal/kept"})},
	{pattern: "store/sqlite/internal/descriptors", imports: onSQLite},
	{pattern: "store/sqlite/internal/apikeys", imports: onSQLite},
	{pattern: "store/sqlite/internal/requests", imports: onSQLite},
	{pattern: "store/sqlite/internal/endpoints", imports: onSQLite},
	{pattern: "store/sqlite/internal/audits", imports: onSQLite},
	{pattern: "store/sqlite/internal/namespaces", imports: onSQLite},
	{pattern: "store/sqlite/internal/feed", imports: onSQLite},
	{pattern: "store/sqlite/internal/spans", imports: slices.Concat(onSQLite, []string{"store/internal/lists"})},
	{pattern: "store/sqlite/internal/facts", imports: onSQLite},
	{pattern: "store/sqlite/internal/schedules", imports: onSQLite},
	{pattern: "store/sqlite/internal/limits", imports: slices.Concat(onSQLite, []string{"internal/gcra"})},
	{pattern: "store/sqlite/internal/batches", imports: onSQLite},
	{pattern: "store/sqlite/internal/edges", imports: onSQLite},
	{pattern: "store/sqlite/internal/generations", imports: onSQLite},
	{pattern: "store/sqlite/internal/choosing", imports: []string{"store", "store/sqlite/internal/core", "store/sqlite/internal/db"}},
	{pattern: "store/sqlite/internal/gating", imports: slices.Concat(onSQLite, []string{"internal/gcra", "store/internal/gates"})},
	{
		pattern: "store/sqlite/internal/work",
		imports: slices.Concat(onSQLite, []string{
			"store/sqlite/internal/attributes", "store/sqlite/internal/batches", "store/sqlite/internal/choosing",
			"store/sqlite/internal/edges", "store/sqlite/internal/gating",
			"store/sqlite/internal/generations", "store/sqlite/internal/keys", "store/sqlite/internal/requests",
			"store/sqlite/internal/schedules", "store/sqlite/internal/updates",
		}),
	},
	{
		pattern: "store/sqlite/internal/tend",
		imports: slices.Concat(onSQLite, []string{
			"store/internal/edits", "store/internal/kept", "store/sqlite/internal/apikeys", "store/sqlite/internal/attributes",
			"store/sqlite/internal/batches", "store/sqlite/internal/classes",
			"store/sqlite/internal/edges", "store/sqlite/internal/generations", "store/sqlite/internal/feed",
			"store/sqlite/internal/keys", "store/sqlite/internal/limits", "store/sqlite/internal/remains",
			"store/sqlite/internal/requests", "store/sqlite/internal/spans", "store/sqlite/internal/updates", "store/sqlite/internal/work",
		}),
	},
	{
		pattern: "store/sqlite/internal/view",
		imports: slices.Concat(onSQLite, []string{
			"store/internal/lists", "store/sqlite/internal/attributes", "store/sqlite/internal/edges",
			"store/sqlite/internal/filewatch", "store/sqlite/internal/generations", "store/sqlite/internal/keys",
			"store/sqlite/internal/remains", "store/sqlite/internal/spans", "store/sqlite/internal/work",
		}),
	},
	{
		pattern: "store/sqlite/...",
		imports: []string{"store", "store/internal/refusal", "store/internal/sqltext", "store/sqlite/internal/..."},
		tests:   []string{"internal/crashtest/process", "internal/sqlitetest", "store/internal/lists", "store/storetest/..."},
	},
	{pattern: "store/postgres/internal/pg", imports: []string{"store", "store/internal/..."}},
	{pattern: "store/postgres/internal/schema", imports: []string{"store", "store/internal/...", "store/postgres/internal/pg"}},
	{pattern: "store/postgres/internal/local", imports: []string{"store", "store/postgres/internal/pg"}},
	{
		pattern: "store/postgres/internal/move",
		imports: slices.Concat(onPostgres, []string{
			"store/postgres/internal/attributes", "store/postgres/internal/batches",
			"store/postgres/internal/classes", "store/postgres/internal/limits",
			"store/postgres/internal/remains", "store/postgres/internal/schedules",
		}),
	},
	{pattern: "store/postgres/internal/keys", imports: []string{"store", "store/internal/refusal", "store/postgres/internal/pg"}},
	{pattern: "store/postgres/internal/examine", imports: []string{"store", "store/postgres/internal/pg"}},
	{
		pattern: "store/postgres/internal/read",
		imports: slices.Concat(onPostgres, []string{"store/internal/lists", "store/postgres/internal/remains"}),
	},
	{pattern: "store/postgres/internal/gating", imports: []string{"store", "store/postgres/internal/local", "store/postgres/internal/pg"}},
	{pattern: "store/postgres/internal/claims", imports: slices.Concat(onPostgres, []string{"internal/gcra", "store/internal/gates"})},
	{pattern: "store/postgres/internal/updates", imports: onPostgres},
	{pattern: "store/postgres/internal/joblog", imports: onPostgres},
	{pattern: "store/postgres/internal/attributes", imports: onPostgres},
	{pattern: "store/postgres/internal/classes", imports: slices.Concat(onPostgres, []string{"store/internal/kept"})},
	{pattern: "store/postgres/internal/remains", imports: onPostgres},
	{pattern: "store/postgres/internal/descriptors", imports: onPostgres},
	{pattern: "store/postgres/internal/apikeys", imports: onPostgres},
	{pattern: "store/postgres/internal/requests", imports: onPostgres},
	{pattern: "store/postgres/internal/endpoints", imports: onPostgres},
	{pattern: "store/postgres/internal/audits", imports: onPostgres},
	{pattern: "store/postgres/internal/namespaces", imports: onPostgres},
	{pattern: "store/postgres/internal/feed", imports: onPostgres},
	{pattern: "store/postgres/internal/spans", imports: slices.Concat(onPostgres, []string{"store/internal/lists"})},
	{pattern: "store/postgres/internal/facts", imports: onPostgres},
	{pattern: "store/postgres/internal/schedules", imports: onPostgres},
	{
		pattern: "store/postgres/internal/limits",
		imports: slices.Concat(onPostgres, []string{"internal/gcra", "store/postgres/internal/classes"}),
	},
	{pattern: "store/postgres/internal/batches", imports: onPostgres},
	{pattern: "store/postgres/internal/edges", imports: onPostgres},
	{pattern: "store/postgres/internal/locks", imports: onPostgres},
	{
		pattern: "store/postgres/internal/write",
		imports: slices.Concat(onPostgres, []string{
			"store/postgres/internal/batches", "store/postgres/internal/claims", "store/postgres/internal/edges", "store/postgres/internal/gating",
			"store/postgres/internal/locks", "store/postgres/internal/requests", "store/postgres/internal/schedules",
			"store/postgres/internal/updates",
		}),
	},
	{
		pattern: "store/postgres/internal/operate",
		imports: slices.Concat(onPostgres, []string{
			"store/internal/edits", "store/internal/kept", "store/postgres/internal/apikeys", "store/postgres/internal/attributes",
			"store/postgres/internal/batches",
			"store/postgres/internal/classes",
			"store/postgres/internal/edges", "store/postgres/internal/feed", "store/postgres/internal/joblog",
			"store/postgres/internal/limits", "store/postgres/internal/locks", "store/postgres/internal/read", "store/postgres/internal/remains",
			"store/postgres/internal/requests", "store/postgres/internal/schema",
			"store/postgres/internal/spans", "store/postgres/internal/updates", "store/postgres/internal/write",
		}),
	},
	{
		pattern: "store/postgres",
		imports: slices.Concat(onPostgres, []string{
			"store/postgres/internal/apikeys", "store/postgres/internal/attributes", "store/postgres/internal/audits",
			"store/postgres/internal/batches",
			"store/postgres/internal/claims", "store/postgres/internal/classes",
			"store/postgres/internal/namespaces",
			"store/postgres/internal/descriptors", "store/postgres/internal/endpoints", "store/postgres/internal/examine",
			"store/postgres/internal/facts", "store/postgres/internal/feed", "store/postgres/internal/joblog",
			"store/postgres/internal/limits", "store/postgres/internal/move",
			"store/postgres/internal/operate", "store/postgres/internal/read", "store/postgres/internal/schedules",
			"store/postgres/internal/schema", "store/postgres/internal/updates",
			"store/postgres/internal/write",
		}),
		tests: []string{
			"internal/crashtest/process", "internal/pgtest/...", "store/internal/gates", "store/internal/lists", "store/storetest/...",
		},
	},
	{pattern: "store/dsn", imports: []string{"store", "store/postgres", "store/sqlite"}, tests: append([]string{"internal/wire"}, support...)},

	{pattern: "internal/benchsize"},
	{pattern: "internal/binaries"},
	{pattern: "internal/seed"},
	{pattern: "internal/suite", imports: []string{"internal/binaries", "internal/pgtest", "internal/seed"}},
	{pattern: "internal/layers"},
	{pattern: "internal/terms"},
	{pattern: "internal/vet/..."},
	{pattern: "internal/vet/program", imports: []string{"internal/vet", "internal/cli/output"}},
	{pattern: "internal/heard"},
	{pattern: "internal/pgtest"},
	{pattern: "internal/pgtest/ready", imports: []string{"internal/pgtest", "store/postgres"}},
	{pattern: "internal/sqlitetest", imports: []string{"store/sqlite"}},
	{pattern: "internal/crashtest/process"},
	{pattern: "internal/saidonce"},
	{
		pattern: "internal/crashtest",
		tests:   slices.Concat(support, []string{".", "batch", "events", "joblog", "operation", "server", "server/access", "store/remote"}),
	},
	{pattern: "internal/faulttest", tests: slices.Concat(support, []string{".", "hooks", "internal/access", "limit", "schedule"})},

	{pattern: "hooks", imports: []string{"store"}, tests: slices.Concat(support, []string{"."})},
	{
		pattern: "internal/hookqueue",
		imports: []string{"hooks", "internal/logs", "internal/usercode", "store"},
		tests:   []string{"store/storetest/model"},
	},
	{pattern: "internal/metrics"},
	{pattern: "internal/wire", imports: []string{"store"}},
	{pattern: "internal/relay", imports: []string{"store"}},
	{
		pattern: "store/remote", imports: []string{"internal/wire", "store"},
		tests: slices.Concat(support, []string{".", "internal/heard", "server", "server/access"}),
	},
	{pattern: "internal/observer", imports: []string{"store"}},
	{pattern: "internal/valid", imports: []string{"store"}},
	{pattern: "internal/heartbeat"},
	{pattern: "internal/unsaid", imports: []string{"store"}},
	{pattern: "internal/asked", imports: []string{"store"}},
	{pattern: "internal/turns"},
	{pattern: "internal/builds"},
	{pattern: "internal/jsonschema"},
	{pattern: "internal/duty"},
	{pattern: "internal/stopwatch"},
	{pattern: "internal/tally"},
	{pattern: "internal/gauges", imports: []string{"store"}},
	{pattern: "internal/timed", imports: []string{"store"}, tests: []string{"store/..."}},
	{
		pattern: "internal/facts", imports: []string{"internal/gauges", "internal/tally", "store"},
		tests: []string{"store/storetest/model"},
	},
	{pattern: "internal/around", imports: []string{"internal/usercode", "store"}},
	{pattern: "internal/alike"},
	{pattern: "internal/usercode", imports: []string{"internal/alike", "store"}},
	{pattern: "internal/logs", imports: []string{"internal/duty", "store"}, tests: []string{"internal/logs/logstest"}},
	{pattern: "internal/logs/logstest", imports: []string{"store"}},
	{pattern: "why", imports: []string{"store"}},
	{pattern: "internal/explain", imports: []string{"store", "why"}},
	{pattern: "internal/copier", imports: []string{"store"}, tests: slices.Concat(support, []string{"."})},
	{pattern: "internal/portion", imports: []string{"store"}},
	{pattern: "internal/supervise", imports: []string{"internal/logs", "store"}},
	{pattern: "internal/news", imports: []string{"internal/logs", "internal/supervise", "store"}},
	{
		pattern: "internal/commit",
		imports: []string{"internal/logs", "internal/portion", "internal/supervise", "store"},
		tests:   []string{"store/storetest/..."},
	},
	{pattern: "internal/pulse", imports: []string{"store"}},
	{pattern: "internal/ping", imports: []string{"internal/logs", "store"}},
	{pattern: "internal/holdings", imports: []string{"internal/slots", "store"}},
	{pattern: "internal/slots", imports: []string{"internal/supervise", "store"}, tests: []string{"internal/gcra"}},
	{
		pattern: "internal/grants", imports: []string{"internal/logs", "internal/slots", "internal/supervise", "store"},
		tests: []string{"store/..."},
	},
	{
		pattern: "internal/tuning", imports: []string{"internal/logs", "internal/supervise", "store"},
		tests: []string{"store/..."},
	},
	{pattern: "internal/batching", imports: []string{"store"}},
	{pattern: "internal/searched", imports: []string{"store"}, tests: []string{"store/storetest/faults", "store/storetest/model"}},
	{pattern: "internal/gather", imports: []string{"store"}},
	{pattern: "internal/journal", imports: []string{"internal/usercode", "store"}},
	{pattern: "internal/blocked", imports: []string{"store"}},
	{pattern: "internal/crowd"},
	{pattern: "internal/cron"},
	{pattern: "internal/declared"},
	{pattern: "internal/keyhash"},
	{pattern: "internal/firing", imports: []string{"internal/cron", "internal/keyhash", "store"}},
	{pattern: "internal/promoter", imports: []string{"internal/logs", "internal/observer", "internal/supervise", "store"}},
	{
		pattern: "internal/scheduler", imports: []string{"internal/firing", "internal/logs", "internal/observer", "internal/supervise", "store"},
		tests: []string{"store/..."},
	},
	{pattern: "internal/memory", imports: []string{"internal/journal", "store"}},
	{pattern: "internal/await", imports: []string{"internal/blocked", "internal/journal", "internal/memory", "internal/usercode", "store"}},
	{pattern: "internal/outcome", imports: []string{"internal/blocked", "internal/usercode", "store"}},
	{pattern: "internal/lifetime"},
	{pattern: "internal/misuse", imports: []string{"store"}},
	{pattern: "internal/host", imports: []string{"store"}},
	{pattern: "internal/tries", imports: []string{"internal/heartbeat", "internal/journal", "internal/usercode", "store"}},
	{
		pattern: "internal/replay",
		imports: []string{
			"internal/await", "internal/blocked", "internal/crowd", "internal/heartbeat", "internal/host", "internal/journal",
			"internal/lifetime", "internal/logs", "internal/memory", "internal/misuse", "internal/outcome", "internal/supervise",
			"internal/stopwatch", "internal/tries", "internal/unsaid", "internal/usercode", "store",
		},
		tests: []string{"internal/logs/logstest"},
	},
	{
		pattern: "internal/loader",
		imports: []string{"internal/commit", "internal/logs", "internal/portion", "internal/supervise", "store"},
		tests:   []string{"internal/logs/logstest", "store/..."},
	},
	{pattern: "internal/tail", imports: []string{"store"}, tests: []string{"store/sqlite", "store/storetest/model"}},
	{pattern: "internal/runlog", imports: []string{"internal/commit", "internal/logs", "internal/supervise", "store"}},
	{
		pattern: "internal/engine/...",
		imports: []string{
			"hooks", "internal/batching", "internal/commit", "internal/duty", "internal/facts",
			"internal/gauges", "internal/grants", "internal/holdings", "internal/hookqueue",
			"internal/loader", "internal/logs", "internal/news", "internal/observer", "internal/outcome", "internal/ping", "internal/portion",
			"internal/promoter", "internal/pulse", "internal/replay", "internal/runlog", "internal/searched", "internal/scheduler",
			"internal/slots", "internal/stopwatch",
			"internal/supervise", "internal/tail", "internal/tuning", "internal/turns", "internal/usercode", "store",
		},
		tests: []string{"internal/await", "internal/journal", "internal/lifetime", "internal/logs/logstest", "internal/tally", "store/..."},
	},

	{pattern: "internal/again", imports: []string{"internal/engine", "internal/journal", "store"}},
	{pattern: "internal/ask", imports: []string{"internal/engine", "store"}},
	{pattern: "internal/bulk", imports: []string{"internal/engine", "internal/usercode", "internal/valid", "store"}},
	{
		pattern: "internal/sealed", imports: []string{"store"},
		tests: slices.Concat(support, []string{".", "codec"}),
	},
	{
		pattern: "internal/access",
		imports: []string{
			"hooks", "internal/bulk", "internal/engine", "internal/journal", "internal/observer", "internal/relay", "internal/runlog",
			"internal/timed", "store",
		},
	},
	{
		pattern: ".",
		imports: []string{
			"hooks", "internal/access", "internal/again", "internal/around", "internal/ask", "internal/asked", "internal/await",
			"internal/builds", "internal/bulk",
			"internal/engine/...", "internal/explain", "internal/journal", "internal/keyhash", "internal/relay", "internal/replay",
			"internal/runlog", "internal/sealed", "internal/timed",
			"internal/usercode", "internal/valid", "store", "why",
		},
		tests: support,
	},
	{
		pattern: "holdfasttest/...",
		imports: []string{
			".", "internal/access", "internal/engine", "internal/journal", "internal/replay", "store", "store/storetest/model",
		},
		tests: append([]string{"limit"}, support...),
	},
	{pattern: "health", imports: []string{".", "internal/access"}, tests: support},
	{
		pattern: "telemetry",
		imports: []string{".", "hooks", "internal/access", "internal/metrics", "internal/observer", "internal/timed", "store"},
		tests:   append([]string{"after", "schedule"}, support...),
	},
	{pattern: "doctor", imports: []string{"store"}, tests: support},
	{pattern: "events", imports: []string{".", "internal/access", "store"}, tests: support},
	{
		pattern: "dead", imports: []string{".", "internal/access", "internal/engine", "internal/journal", "internal/valid", "store"},
		tests: append([]string{"events"}, support...),
	},
	{pattern: "search", imports: []string{".", "internal/access", "store"}, tests: append([]string{"schedule"}, support...)},
	{pattern: "joblog", imports: []string{".", "internal/access", "internal/runlog", "store"}, tests: support},
	{
		pattern: "stats", imports: []string{".", "internal/access", "internal/gauges", "internal/tally", "store"},
		tests: append([]string{"internal/facts"}, support...),
	},
	{pattern: "redact", imports: []string{".", "internal/access", "store"}, tests: append([]string{"joblog"}, support...)},
	{
		pattern: "codec", imports: []string{".", "internal/access", "store"},
		tests: slices.Concat(support, []string{"after", "batch", "joblog", "schedule"}),
	},
	{pattern: "archive", imports: []string{".", "internal/access", "store"}, tests: append([]string{"codec", "maintain"}, support...)},
	{
		pattern: "describe", imports: []string{".", "internal/access", "internal/jsonschema", "internal/valid", "store"},
		tests: append([]string{"build"}, support...),
	},
	{pattern: "build", imports: []string{".", "internal/access", "internal/builds", "store"}, tests: support},
	{pattern: "audit", imports: []string{".", "internal/access", "store"}, tests: support},
	{pattern: "apikey", imports: []string{".", "internal/access", "store"}, tests: support},
	{pattern: "endpoint", imports: []string{".", "internal/access", "internal/valid", "limit", "store"}, tests: support},
	{pattern: "internal/outbound"},
	{pattern: "namespace", imports: []string{".", "internal/access", "store"}, tests: support},
	{pattern: "retention", imports: []string{".", "internal/access", "internal/valid", "store"}, tests: support},
	{pattern: "after", imports: []string{".", "internal/access", "store"}, tests: support},
	{pattern: "operation", imports: []string{".", "internal/access", "internal/bulk", "store"}, tests: append([]string{"joblog"}, support...)},
	{
		pattern: "maintain",
		imports: []string{".", "internal/access", "internal/duty", "internal/engine"},
		tests:   append([]string{"schedule"}, support...),
	},
	{pattern: "rules", imports: []string{".", "internal/access", "internal/expr", "internal/journal", "store"}, tests: support},
	{pattern: "fair", imports: []string{".", "internal/access"}, tests: support},
	{pattern: "batch", imports: []string{".", "internal/access", "internal/valid", "store"}, tests: slices.Concat(support, []string{"after"})},
	{
		pattern: "schedule",
		imports: []string{
			".", "internal/access", "internal/cron", "internal/declared", "internal/engine", "internal/firing", "internal/valid", "store",
		},
		tests: support,
	},
	{
		pattern: "limit",
		imports: []string{
			".", "internal/access", "internal/backlog", "internal/declared", "internal/engine", "internal/gcra", "internal/usercode",
			"internal/valid", "store",
		},
		tests: support,
	},
	{
		pattern: "many",
		imports: []string{".", "internal/access", "internal/gather", "internal/usercode", "store"},
		tests:   support,
	},
	{
		pattern: "internal/builtin/...",
		imports: []string{".", "internal/access", "internal/outbound", "internal/procgroup"},
		tests:   slices.Concat(support, []string{"internal/engine/...", "internal/usercode"}),
	},
	{pattern: "internal/procgroup"},
	{
		pattern: "internal/subprocess",
		imports: []string{".", "internal/access", "internal/logs", "internal/procgroup", "internal/valid", "store"},
		tests:   slices.Concat(support, []string{"joblog"}),
	},

	{pattern: "internal/query", imports: []string{"store"}},
	{pattern: "internal/expr", imports: []string{"store"}},
	{pattern: "clients", tests: []string{"internal/pgtest"}},
}, above)

// restriction says who may import something that is not ours. Test files may import all of it.
type restriction struct {
	prefix string // the path of a package, for it and all under it
	only   []string
	why    string
}

var restrictions = []restriction{
	{"database/sql", []string{"store/sqlite/...", "store/postgres/...", "examples/..."}, "only a store sees SQL"},
	{
		"github.com/jackc",
		[]string{"examples/...", "internal/pgtest/...", "store/postgres/..."},
		"a program links only the databases that it names",
	},
	{"github.com/lib/pq", nil, "PostgreSQL is spoken through pgx"},
	{"github.com/mattn/go-sqlite3", nil, "it needs cgo"},
	{"github.com/modelcontextprotocol", []string{"internal/cli/mcp"}, "only the command speaks with assistants"},
	{"go.opentelemetry.io/otel/sdk", []string{"internal/cli/listen"}, "a program chooses where its telemetry goes"},
	{"go.opentelemetry.io/otel/exporters", []string{"internal/cli/listen"}, "a program chooses where its telemetry goes"},
	{"github.com/prometheus", []string{"internal/cli/listen"}, "a program chooses where its telemetry goes"},
	{"go.opentelemetry.io", []string{"internal/cli/listen", "telemetry"}, "programs without telemetry do not link it"},
	{"cel.dev", []string{"internal/expr"}, "one package evaluates expressions"},
	{"github.com/danielgtaylor/huma", []string{"server/internal/api"}, "only the server has an HTTP API"},
	{"golang.org/x/tools", []string{"internal/vet/..."}, "only holdfast-vet looks at source"},
	{"modernc.org", []string{"examples/...", "store/sqlite/..."}, "a program links only the databases that it names"},
	{"zombiezen.com", []string{"store/sqlite/internal/db"}, "one package speaks to SQLite"},

	{
		"testing",
		[]string{
			"holdfasttest/...", "internal/logs/logstest", "internal/pgtest/...", "internal/benchsize", "internal/binaries",
			"internal/seed", "internal/sqlitetest",
			"server/internal/apitest", "store/storetest/...",
		},
		"it belongs to tests",
	},
	{"github.com/google/go-cmp", []string{"store/storetest/..."}, "it belongs to tests"},
	{"go.uber.org/goleak", []string{"server/internal/apitest", "store/storetest/..."}, "it belongs to tests"},
	{"pgregory.net/rapid", []string{"store/storetest/..."}, "it belongs to tests"},
}
