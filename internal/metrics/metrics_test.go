package metrics

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is made of the list of metrics")

// TestGenerated: what is made of the list is committed as it is made.
func TestGenerated(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	page := filepath.Join(root, "docs", "observability.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- metrics -->\n\n", "\n<!-- end of metrics -->"
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, both := strings.Cut(rest, end)
	if !ok || !both {
		t.Fatalf("%s has no place for the table", page)
	}
	for file, want := range map[string][]byte{
		page: []byte(before + begin + Table() + end + after),
		filepath.Join(root, "deploy", "grafana", "holdfast.json"):  Dashboard(),
		filepath.Join(root, "deploy", "prometheus", "alerts.yaml"): Rules(),
	} {
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the list makes (%v); run: go test ./internal/metrics -update", file, err)
		}
	}
}

// TestDashboard: each query of the file that is committed names only what there is.
func TestDashboard(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/grafana/holdfast.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Templating struct {
			List []struct{ Type, Query string }
		}
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil { //nolint:musttag // only for the test
		t.Fatal(err)
	}
	for _, v := range d.Templating.List {
		if v.Type == "query" {
			if err := checkValues(v.Query); err != nil {
				t.Error(err)
			}
		}
	}
	queries := 0
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			queries++
			if err := check(q.Expr); err != nil {
				t.Errorf("%s: %v", p.Title, err)
			}
		}
	}
	if queries < len(Panels) {
		t.Errorf("there are %d queries in %d panels", queries, len(Panels))
	}
}

var exprLine = regexp.MustCompile(`(?m)^        expr: (".*")$`)

// TestAlerts: each rule of the file that is committed names only what there is, and labels in its
// text that its result has.
func TestAlerts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found := exprLine.FindAllSubmatch(text, -1)
	if len(found) != len(Alerts) {
		t.Fatalf("the file has %d rules, the list %d", len(found), len(Alerts))
	}
	for i, m := range found {
		expr, err := strconv.Unquote(string(m[1]))
		if err != nil || expr != Alerts[i].Expr {
			t.Fatal(expr, err)
		}
		if err := check(expr); err != nil {
			t.Errorf("%s: %v", Alerts[i].Name, err)
			continue
		}
		p := &parser{tokens: tokens(expr)}
		result := p.binary(0)
		for _, label := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(Alerts[i].Says, -1) {
			if !result.has(label[1]) {
				t.Errorf("%s: the text names the label %s, the rule has %v", Alerts[i].Name, label[1], result.labels)
			}
		}
	}
}

// TestEachMetricIsShown: a metric that no panel and no rule shows is forgotten.
func TestEachMetricIsShown(t *testing.T) {
	t.Parallel()
	all := string(Dashboard()) + string(Rules())
	for _, m := range All() {
		if !strings.Contains(all, m.Prometheus()) {
			t.Errorf("%s is neither in the dashboard nor in an alert", m.Prometheus())
		}
	}
}

// TestCheckBites: what is wrong is found.
func TestCheckBites(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`sum(holdfast_slots)`: "",
		`sum by (namespace) (holdfast_slots{namespace="a"}) / 2 > 1`: "",
		`holdfast_slot`:                   "is no metric",
		`sum by (queue) (holdfast_slots)`: "by queue, which is none of",
		`holdfast_slots{queue="a"}`:       "has no label queue",
		`rate(holdfast_slots[5m])`:        "of a counter",
		`rate(holdfast_panics_total)`:     "of the range",
		`sum(holdfast_panics_total[5m])`:  "a range cannot be aggregated",
		`holdfast_job_run_seconds`:        "is no metric",
		`holdfast_panics_total[5]`:        "is no duration",
		`holdfast_slots holdfast_slots`:   "is left over", //nolint:dupword // that is the mistake
		`sum(holdfast_slots`:              "ends too early",
		`sum by (namespace) (holdfast_slots) / sum by (outcome) (holdfast_jobs_finished_total)`: "matches nothing",
		`histogram_quantile(0.9, sum by (kind) (rate(holdfast_job_run_seconds_bucket[5m])))`:    "needs the label le",
		`histogram_quantile(2, sum by (le) (rate(holdfast_job_run_seconds_bucket[5m])))`:        "between 0 and 1",
	} {
		err := check(expr)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", expr, err, want)
		}
	}
	if checkValues("label_values(holdfast_slots, queue)") == nil || checkValues("holdfast_slots") == nil {
		t.Error("wrong values of a variable are not found")
	}
}
