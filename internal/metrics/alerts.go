package metrics

import (
	"fmt"
	"strconv"
	"strings"
)

// Alert is a rule for Prometheus.
type Alert struct {
	Name     string
	Expr     string
	For      string // how long it has to hold; "": not at all
	Severity string // page: to be looked at now; ticket: within a day
	Says     string // with what there is to do
}

// Alerts are the rules that are worth having in most places. Their bounds are meant to be changed.
var Alerts = []Alert{
	{
		"HoldfastNoNode", `absent(holdfast_slots)`, "5m", "page",
		"No node is scraped: no job runs. Start one, or look why it cannot be reached.",
	},
	{
		"HoldfastNoLeader", `sum(holdfast_leader) == 0`, "2m", "page",
		"No node leads: nothing is rescued, no schedule fires. Look whether the nodes reach the database.",
	},
	{
		"HoldfastDatabaseAway", `max(holdfast_database_away_seconds) > 30`, "", "page",
		"The database has not answered a node for half a minute.",
	},
	{
		"HoldfastHeartbeatOld", `max by (namespace) (holdfast_node_beat_age_seconds) > 15`, "1m", "page",
		"A node cannot send heartbeats: others will take its jobs.",
	},
	{
		"HoldfastQueueLate", `max by (namespace, queue) (holdfast_queue_oldest_due_seconds) > 300`, "5m", "page",
		"The oldest job of queue {{ $labels.queue }} has been due for {{ $value }} s. See `holdfast doctor`, and `holdfast job why` for a job.",
	},
	{
		"HoldfastSlotsFull", `sum by (namespace) (holdfast_slots_used) / sum by (namespace) (holdfast_slots) > 0.95`, "15m", "ticket",
		"The nodes of namespace {{ $labels.namespace }} are full. Add slots or nodes, if its queues are late.",
	},
	{
		"HoldfastFailures", `sum by (namespace, kind) (rate(holdfast_retries_total[10m])) / ` +
			`sum by (namespace, kind) (rate(holdfast_job_run_seconds_count[10m])) > 0.2`,
		"10m", "ticket", "More than a fifth of the runs of kind {{ $labels.kind }} fail and are tried again.",
	},
	{
		"HoldfastDeadLetters", `sum by (namespace, kind) (increase(holdfast_dead_letters_total[15m])) > 0`, "", "ticket",
		"Jobs of kind {{ $labels.kind }} have failed for good. See `holdfast dead list`.",
	},
	{
		"HoldfastRunsHeld", `sum by (namespace, kind) (increase(holdfast_workflow_nondeterminism_total[15m])) > 0`, "", "page",
		"The code of kind {{ $labels.kind }} contradicts the journals of its runs: roll it back, or resume or fork the jobs.",
	},
	{
		"HoldfastNodeDied", `sum(increase(holdfast_nodes_died_total[15m])) > 0`, "", "ticket",
		"A node was declared dead, and its jobs were taken from it. See `holdfast node list`.",
	},
	{
		"HoldfastLeasesLost", `sum by (namespace) (increase(holdfast_lease_lost_total[15m])) > 10`, "", "ticket",
		"Runs lose their leases: nodes pause for longer than their dead-after, or are cut off from the database.",
	},
	{
		"HoldfastEndsPending", `max by (namespace) (holdfast_outcomes_pending) > 1000`, "5m", "ticket",
		"Ends of runs wait to be stored: the database is slow, or transactions of callers stay open.",
	},
	{
		"HoldfastScheduleMissed", `sum by (namespace) (increase(holdfast_schedule_missed_total[15m])) > 0`, "", "ticket",
		"Times of schedules were missed. See `holdfast schedule list`.",
	},
	{
		"HoldfastScheduleLate", `histogram_quantile(0.99, sum by (le) (rate(holdfast_schedule_lag_seconds_bucket[15m]))) > 60`, "15m", "ticket",
		"Schedules fire more than a minute late.",
	},
	{
		"HoldfastClaimsSlow", `histogram_quantile(0.99, sum by (le) (rate(holdfast_claim_seconds_bucket[10m]))) > 1`, "10m", "ticket",
		"Claims take more than a second: the database is overloaded.",
	},
	{
		"HoldfastDutyFails", `sum by (duty) (increase(holdfast_duty_seconds_count{outcome="failed"}[15m])) > 3`, "", "ticket",
		"The duty {{ $labels.duty }} of a node fails again and again. See its log.",
	},
	{
		"HoldfastEventsDropped", `sum(increase(holdfast_hooks_dropped_total[15m])) > 0`, "", "ticket",
		"Hooks are too slow, and are not told of all events. Metrics that count jobs are too low.",
	},
	{
		"HoldfastPanics", `sum(increase(holdfast_panics_total[1h])) > 0`, "", "ticket",
		"A part of Holdfast has panicked. Please report what the log says.",
	},
}

// Rules are the alerts for Prometheus, as YAML whose texts are quoted as those of JSON.
func Rules() []byte {
	var b strings.Builder
	b.WriteString("# Made of internal/metrics/alerts.go by: go test ./internal/metrics -update\n" +
		"groups:\n  - name: holdfast\n    rules:\n")
	for i := range Alerts {
		a := &Alerts[i]
		fmt.Fprintf(&b, "      - alert: %s\n        expr: %s\n", a.Name, strconv.QuoteToASCII(a.Expr))
		if a.For != "" {
			fmt.Fprintf(&b, "        for: %s\n", a.For)
		}
		fmt.Fprintf(&b, "        labels:\n          severity: %s\n        annotations:\n          summary: %s\n",
			a.Severity, strconv.QuoteToASCII(a.Says))
	}
	return []byte(b.String())
}

// Table is the list of metrics, as a table of Markdown.
func Table() string {
	var b strings.Builder
	b.WriteString("| in Prometheus | type | labels | meaning |\n|---|---|---|---|\n")
	for _, m := range all {
		labels := strings.Join(m.Labels, "`, `")
		if labels != "" {
			labels = "`" + labels + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Prometheus(), m.Kind, labels, m.Help)
	}
	return b.String()
}
