package metrics

import (
	"bytes"
	"encoding/json"
)

// Panel is one of the dashboard.
type Panel struct {
	Title   string
	Unit    string // of Grafana
	Queries []Query
}

// Query is what a panel shows.
type Query struct{ Expr, Legend string }

// What panels show is narrowed down to.
const (
	inSpace = `{namespace=~"$namespace"}`
	inQueue = `{namespace=~"$namespace", queue=~"$queue"}`
)

// quantile is below what so much of a histogram is.
func quantile(q, by, histogram, in string) string {
	return "histogram_quantile(" + q + ", sum by (" + by + ") (rate(" + histogram + "_bucket" + in + "[$__rate_interval])))"
}

func mean(histogram, in string) string {
	return "sum(rate(" + histogram + "_sum" + in + "[$__rate_interval])) / sum(rate(" + histogram + "_count" + in + "[$__rate_interval]))"
}

// Variables are what the dashboard may be narrowed down to, and where the values come from.
var Variables = []struct{ Name, Values string }{
	{Namespace, "label_values(holdfast_slots, namespace)"},
	{Queue, `label_values(holdfast_jobs_in_state{namespace=~"$namespace"}, queue)`},
}

// Panels are those of the dashboard, two in a row.
var Panels = []Panel{
	{"Jobs finished, per second", "ops", []Query{
		{`sum by (outcome) (rate(holdfast_jobs_finished_total` + inQueue + `[$__rate_interval]))`, "{{outcome}}"},
		{`sum(rate(holdfast_jobs_enqueued_total` + inQueue + `[$__rate_interval]))`, "enqueued"},
	}},
	{"Jobs that are not finished", "short", []Query{
		{`sum by (state) (max by (namespace, queue, state) (holdfast_jobs_in_state{namespace=~"$namespace", queue=~"$queue"}))`, "{{state}}"},
	}},
	{"Oldest due job", "s", []Query{
		{`max by (namespace, queue) (holdfast_queue_oldest_due_seconds{namespace=~"$namespace", queue=~"$queue"})`, "{{namespace}}/{{queue}}"},
	}},
	{"Wait for a start", "s", []Query{
		{quantile("0.5", "le", "holdfast_job_queue_wait_seconds", inQueue), "half"},
		{quantile("0.99", "le", "holdfast_job_queue_wait_seconds", inQueue), "99 %"},
	}},
	{"Runs, 99 % take at most", "s", []Query{
		{quantile("0.99", "le, kind", "holdfast_job_run_seconds", inQueue), "{{kind}}"},
	}},
	{"Steps, 99 % take at most", "s", []Query{
		{quantile("0.99", "le, kind", "holdfast_step_run_seconds", ""), "{{kind}}"},
	}},
	{"Attempts that failed, per second", "ops", []Query{
		{`sum by (kind, reason) (rate(holdfast_retries_total` + inQueue + `[$__rate_interval]))`, "{{kind}} {{reason}}"},
	}},
	{"Dead letters, in an hour", "short", []Query{
		{`sum by (kind) (increase(holdfast_dead_letters_total` + inQueue + `[1h]))`, "{{kind}}"},
	}},
	{"Slots", "short", []Query{
		{`sum(holdfast_slots{namespace=~"$namespace"})`, "slots"},
		{`sum(holdfast_slots_used{namespace=~"$namespace"})`, "used"},
	}},
	{"Claims", "s", []Query{
		{quantile("0.99", "le", "holdfast_claim_seconds", inSpace), "99 % take at most"},
		{mean("holdfast_claim_seconds", inSpace), "mean"},
	}},
	{"Calls of the database, 99 % take at most", "s", []Query{
		{quantile("0.99", "le, operation", "holdfast_store_query_seconds", ""), "{{operation}}"},
	}},
	{"Jobs per claim", "short", []Query{
		{mean("holdfast_claim_batch_size", inSpace), "mean"},
	}},
	{"Nodes", "short", []Query{
		{`count(holdfast_slots{namespace=~"$namespace"})`, "nodes"},
		{`sum(holdfast_leader)`, "leaders"},
		{`sum(increase(holdfast_nodes_died_total[1h]))`, "died in an hour"},
	}},
	{"Heartbeats and the database", "s", []Query{
		{`max(holdfast_node_beat_age_seconds{namespace=~"$namespace"})`, "oldest heartbeat"},
		{`max(holdfast_database_away_seconds)`, "database away"},
		{`max(holdfast_node_lag_seconds{namespace=~"$namespace"})`, "lag"},
	}},
	{"Ends that are not stored", "short", []Query{
		{`sum(holdfast_outcomes_pending{namespace=~"$namespace"})`, "pending"},
		{`sum(increase(holdfast_lease_lost_total{namespace=~"$namespace"}[5m]))`, "leases lost in 5 minutes"},
		{`sum(increase(holdfast_jobs_rescued_total{namespace=~"$namespace"}[5m]))`, "jobs rescued in 5 minutes"},
	}},
	{"Schedules", "s", []Query{
		{quantile("0.99", "le", "holdfast_schedule_lag_seconds", inSpace), "99 % are late by at most"},
		{`sum(increase(holdfast_schedule_missed_total{namespace=~"$namespace"}[1h]))`, "missed in an hour"},
	}},
	{"Duties, jobs per second", "ops", []Query{
		{`sum by (duty) (rate(holdfast_duty_jobs_total[$__rate_interval]))`, "{{duty}}"},
		{`sum by (duty) (rate(holdfast_duty_seconds_count{outcome="failed"}[$__rate_interval]))`, "{{duty}} failed"},
	}},
	{"What should be 0", "short", []Query{
		{`sum(increase(holdfast_hooks_dropped_total[1h]))`, "events dropped in an hour"},
		{`sum(increase(holdfast_panics_total[1h]))`, "panics in an hour"},
		{`sum(increase(holdfast_workflow_nondeterminism_total{namespace=~"$namespace"}[1h]))`, "runs held in an hour"},
	}},
}

const (
	panelWidth  = 12
	panelHeight = 8
)

// object is one of JSON.
type object map[string]any

// Dashboard is the dashboard for Grafana, as JSON.
func Dashboard() []byte {
	source := object{"type": "prometheus", "uid": "${datasource}"}
	var panels, variables []object
	variables = append(variables, object{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"})
	for _, v := range Variables {
		variables = append(variables, object{
			"name": v.Name, "type": "query", "datasource": source, "query": v.Values, "definition": v.Values, "refresh": 2,
			"multi": true, "includeAll": true, "allValue": ".*", "current": object{"text": "All", "value": "$__all"},
		})
	}
	for i, p := range Panels {
		var targets []object
		for n, q := range p.Queries {
			targets = append(targets, object{"refId": string(rune('A' + n)), "datasource": source, "expr": q.Expr, "legendFormat": q.Legend})
		}
		panels = append(panels, object{
			"id": i + 1, "type": "timeseries", "title": p.Title, "datasource": source, "targets": targets,
			"fieldConfig": object{"defaults": object{"unit": p.Unit, "min": 0}, "overrides": []any{}},
			"gridPos":     object{"x": i % 2 * panelWidth, "y": i / 2 * panelHeight, "w": panelWidth, "h": panelHeight},
		})
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(object{ //nolint:errchkjson // it has nothing that cannot be encoded
		"uid": "holdfast", "title": "Holdfast", "tags": []string{"holdfast"}, "schemaVersion": 39, "version": 1, "editable": true,
		"refresh": "30s", "time": object{"from": "now-6h", "to": "now"}, "templating": object{"list": variables}, "panels": panels,
	})
	return text.Bytes()
}
