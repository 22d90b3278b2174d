package layers_test

import "slices"

// ofVerbs is what the verbs of the command line are made of.
var ofVerbs = []string{"internal/cli/app", "internal/cli/arg", "internal/cli/output", "internal/cli/views"}

// ofServer is what the resources of the API are made of.
var ofServer = []string{".", "internal/cli/views", "server/access", "server/internal/api", "server/internal/problem", "store"}

// servers is what tests of the API may import.
var servers = slices.Concat(support, []string{".", "server/access", "server/internal/apitest"})

// above are the layers of the server and of the command line.
var above = []layer{
	{pattern: "server/access", imports: []string{"apikey"}, tests: support},
	{pattern: "web", tests: []string{"internal/pgtest"}},
	{pattern: "web/e2e/shop", imports: []string{".", "describe", "limit", "schedule", "store/dsn"}},
	{pattern: "web/e2e/fill", imports: []string{".", "store/dsn"}},
	{pattern: "server/oidc", imports: []string{"apikey", "server/access", "store"}, tests: support},
	{pattern: "server/internal/problem", imports: []string{"store"}},
	{pattern: "server/internal/guard", imports: []string{"internal/gcra", "internal/logs", "server/access", "server/internal/problem"}},
	{
		pattern: "server/internal/api",
		imports: []string{
			".", "internal/access", "internal/asked", "internal/cli/views", "server/access", "server/internal/guard", "server/internal/problem",
			"store",
		},
		tests: slices.Concat(servers, []string{"internal/pgtest", "server", "store/postgres", "store/sqlite"}),
	},
	{
		pattern: "server/internal/jobs",
		imports: slices.Concat(ofServer, []string{
			"after", "batch", "fair", "internal/journal", "internal/query", "internal/valid", "joblog", "limit", "search",
		}),
		tests: servers,
	},
	{
		pattern: "server/internal/events", imports: slices.Concat(ofServer, []string{"events", "server/internal/jobs"}),
		tests: append([]string{"server"}, servers...),
	},
	{
		pattern: "server/internal/gateway",
		imports: []string{
			".", "internal/access", "internal/relay", "internal/wire", "server/access", "server/internal/problem", "store",
		},
		tests: servers,
	},
	{pattern: "server/internal/blackbox", tests: []string{"internal/heard", "internal/pgtest", "server/internal/api"}},
	{pattern: "server/internal/nodes", imports: ofServer, tests: append([]string{"maintain"}, servers...)},
	{
		pattern: "server/internal/dead", imports: slices.Concat(ofServer, []string{"dead", "internal/query", "server/internal/jobs"}),
		tests: servers,
	},
	{pattern: "server/internal/operations", imports: slices.Concat(ofServer, []string{"operation", "server/internal/jobs"}), tests: servers},
	{pattern: "server/internal/stats", imports: slices.Concat(ofServer, []string{"stats"}), tests: servers},
	{pattern: "server/internal/attributes", imports: slices.Concat(ofServer, []string{"search"}), tests: servers},
	{
		pattern: "server/internal/endpoints", imports: slices.Concat(ofServer, []string{"endpoint", "rules"}),
		tests: append([]string{"events"}, servers...),
	},
	{pattern: "server/internal/audit", imports: slices.Concat(ofServer, []string{"audit"}), tests: servers},
	{pattern: "server/internal/self", imports: ofServer, tests: servers},
	{pattern: "server/internal/keys", imports: slices.Concat(ofServer, []string{"apikey"}), tests: servers},
	{
		pattern: "server/internal/namespaces", imports: slices.Concat(ofServer, []string{"namespace"}),
		tests: append([]string{"apikey"}, servers...),
	},
	{pattern: "server/internal/retention", imports: slices.Concat(ofServer, []string{"retention"}), tests: servers},
	{
		pattern: "server/internal/queues",
		imports: slices.Concat(ofServer, []string{"after", "describe", "limit", "operation"}),
		tests:   servers,
	},
	{
		pattern: "server/internal/schedules",
		imports: slices.Concat(ofServer, []string{"schedule", "server/internal/jobs"}),
		tests:   servers,
	},
	{pattern: "server/internal/batches", imports: slices.Concat(ofServer, []string{"batch", "server/internal/jobs"}), tests: servers},
	{pattern: "server/internal/messages", imports: append([]string{"rules"}, ofServer...), tests: slices.Concat(servers, []string{"server"})},
	{
		pattern: "server/internal/entries",
		imports: slices.Concat(ofServer, []string{
			"internal/access", "internal/journal", "internal/usercode", "internal/valid", "rules", "server/internal/jobs",
		}),
		tests: servers,
	},
	{pattern: "server/internal/tokens", imports: []string{"store"}},
	{
		pattern: "server/internal/workers",
		imports: slices.Concat(ofServer, []string{
			"internal/access", "internal/asked", "internal/blocked", "internal/commit", "internal/engine", "internal/journal",
			"internal/outcome", "internal/usercode", "internal/valid", "server/internal/entries", "server/internal/tokens",
		}),
		tests: slices.Concat(servers, []string{"maintain", "server", "store/sqlite", "store/postgres"}),
	},
	{pattern: "server/internal/limits", imports: slices.Concat(ofServer, []string{"limit"}), tests: servers},
	{
		pattern: "server/internal/apitest",
		imports: []string{
			".", "internal/heard", "internal/pgtest", "internal/pgtest/ready", "server", "server/access", "store",
			"store/postgres", "store/sqlite",
		},
	},
	{
		pattern: "server/internal/push",
		imports: []string{
			".", "endpoint", "internal/access", "internal/engine", "internal/expr", "internal/outbound", "internal/relay", "internal/supervise",
			"internal/valid", "limit", "rules", "store",
		},
		tests: slices.Concat(servers, []string{"events", "internal/pgtest", "store/sqlite", "store/postgres"}),
	},
	{
		pattern: "server",
		imports: []string{".", "apikey", "internal/access", "internal/outbound", "server/access", "server/internal/...", "store"}, tests: servers,
	},

	{pattern: "internal/cli/output"},
	{pattern: "internal/cli/config"},
	{pattern: "internal/cli/systemd"},
	{pattern: "internal/cli/arg", imports: []string{".", "internal/cli/output", "search", "store"}},
	{pattern: "internal/cli/shortlog", imports: []string{"internal/cli/output"}, tests: []string{"."}},
	{
		pattern: "internal/cli/views",
		imports: []string{
			".", "describe", "endpoint", "internal/cli/output", "joblog", "limit", "maintain", "namespace", "operation", "schedule", "stats",
			"store", "why",
		},
	},
	{
		pattern: "internal/cli/app",
		imports: []string{
			".", "codec", "internal/access", "internal/cli/arg", "internal/cli/config", "internal/cli/output", "internal/cli/shortlog",
			"redact", "store", "store/dsn", "store/remote",
		},
	},
	{
		pattern: "internal/cli/jobs",
		imports: slices.Concat(ofVerbs, []string{
			".", "after", "batch", "events", "fair", "internal/builtin", "internal/cli/joblogs", "internal/cli/operations",
			"internal/query", "limit", "operation", "rules", "store", "why",
		}),
		tests: support,
	},
	{pattern: "internal/cli/listen", imports: []string{".", "internal/access", "telemetry"}, tests: support},
	{
		pattern: "internal/cli/nodes",
		imports: append([]string{
			".", "apikey", "archive", "events", "internal/builtin", "internal/cli/listen", "internal/cli/systemd", "internal/subprocess",
			"internal/supervise", "maintain", "server", "server/access", "server/oidc", "store", "store/dsn", "web",
		}, ofVerbs...),
		tests: support,
	},
	{pattern: "internal/cli/mcp", imports: append([]string{".", "server", "server/access"}, ofVerbs...), tests: support},
	{pattern: "internal/cli/audits", imports: append([]string{".", "audit", "store"}, ofVerbs...), tests: support},
	{pattern: "internal/cli/access", imports: append([]string{".", "apikey", "namespace", "store"}, ofVerbs...), tests: support},
	{pattern: "internal/cli/contexts", imports: append([]string{"internal/cli/config"}, ofVerbs...)},
	{pattern: "internal/cli/feed", imports: append([]string{".", "events", "store"}, ofVerbs...), tests: support},
	{pattern: "internal/cli/dead", imports: append([]string{".", "dead", "internal/valid", "store"}, ofVerbs...), tests: support},
	{pattern: "internal/cli/joblogs", imports: append([]string{".", "joblog"}, ofVerbs...), tests: support},
	{pattern: "internal/cli/counts", imports: append([]string{".", "stats"}, ofVerbs...), tests: support},
	{pattern: "internal/cli/archives", imports: append([]string{"archive", "store"}, ofVerbs...), tests: support},
	{pattern: "internal/cli/attributes", imports: append([]string{".", "search", "store"}, ofVerbs...), tests: support},
	{pattern: "internal/cli/retentions", imports: append([]string{".", "retention", "store"}, ofVerbs...), tests: support},
	{pattern: "internal/cli/queues", imports: append([]string{".", "after", "describe", "limit", "store"}, ofVerbs...), tests: support},
	{
		pattern: "internal/cli/schedules",
		imports: append([]string{".", "internal/access", "internal/builtin", "schedule", "store"}, ofVerbs...),
		tests:   support,
	},
	{pattern: "internal/cli/batches", imports: append([]string{".", "batch", "store"}, ofVerbs...), tests: support},
	{pattern: "internal/cli/operations", imports: append([]string{".", "operation", "store"}, ofVerbs...), tests: support},
	{pattern: "internal/cli/endpoints", imports: append([]string{".", "endpoint", "rules"}, ofVerbs...), tests: support},
	{pattern: "internal/cli/limits", imports: append([]string{".", "limit", "store"}, ofVerbs...), tests: support},
	{
		pattern: "internal/cli/databases",
		imports: append([]string{".", "doctor", "internal/copier", "store", "store/dsn"}, ofVerbs...),
		tests:   support,
	},
	{pattern: "internal/cli/bench", imports: append([]string{".", "store/dsn"}, ofVerbs...), tests: support},
	{
		pattern: "internal/cli",
		imports: []string{".", "codec", "internal/cli/...", "store", "store/dsn"},
		tests: slices.Concat(support, []string{
			"after", "archive", "describe", "internal/metrics", "internal/vet/...", "limit", "rules", "schedule",
		}),
	},
	{pattern: "cmd/...", imports: []string{"internal/cli"}, tests: support},
	{pattern: "cmd/holdfast-vet", imports: []string{"internal/vet/program"}},
	{
		pattern: "examples/...",
		imports: []string{".", "holdfasttest/...", "store", "store/dsn", "store/postgres", "store/sqlite", "why"},
		tests:   support,
	},
}
