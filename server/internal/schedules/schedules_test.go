package schedules_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

const (
	get    = http.MethodGet
	post   = http.MethodPost
	patch  = http.MethodPatch
	remove = http.MethodDelete
)

const nightly = `{"name":"nightly","cron":"30 2 * * *","tz":"Europe/Berlin","overlap":"allow","job":{"kind":"report","args":{"to":"ada"},"queue":"slow"}}`

// TestResetAtOnce: of those who reset the same version at once, one does.
func TestResetAtOnce(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		task := holdfast.NewTask[int]("report")
		if _, err := schedule.Sync(s.Context(), s.Client, schedule.New("declared", schedule.Every(time.Hour), task.Item(1))); err != nil {
			s.Fatal(err)
		}
		for round := range 10 {
			read := s.OK(200, patch, "/schedules/declared", `{"jitter":"30s"}`, "If-Match", "*").Header.Get("ETag")
			const n = 4
			statuses := make(chan int, n)
			for range n {
				go func() { statuses <- s.Do(patch, "/schedules/declared", `{"reset":true}`, "If-Match", read).Status }()
			}
			got := map[int]int{}
			for range n {
				got[<-statuses]++
			}
			if got[200] != 1 || got[412] != n-1 {
				s.Fatalf("round %d: %v", round, got)
			}
		}
	})
}

// TestSchedules: a schedule is made, shown, changed, paused, triggered, backfilled and deleted.
func TestSchedules(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		made := s.OK(201, post, "/schedules", nightly)
		if made.JSON["fired"] != "0" || made.JSON["fires_left"] != nil || made.JSON["words"] != "every day at 02:30 in Europe/Berlin" {
			s.Errorf("made: %s", made.Text)
		}
		s.Refused(409, "conflict", post, "/schedules", nightly)
		s.OK(201, post, "/schedules", `{"name":"often","every":"90s","fires":3,"job":{"kind":"sync"},"paused":true,"note":"not yet"}`)
		whole := s.OK(200, get, "/schedules/nightly?next=3", nil)
		if next, _ := whole.JSON["next_times"].([]any); len(next) != 3 || whole.JSON["clock_change"] == nil {
			s.Errorf("whole: %s", whole.Text)
		}
		first := s.OK(200, get, "/schedules?limit=1", nil)
		cursor, _ := first.JSON["next_cursor"].(string)
		second := s.OK(200, get, "/schedules?limit=1&cursor="+cursor, nil)
		if b := second.Items(); len(b) != 1 || b[0]["name"] != "often" || b[0]["fires_left"] != "3" || second.JSON["next_cursor"] != nil {
			s.Errorf("the second page: %s", second.Text)
		}
		etag := whole.Header.Get("ETag")
		s.Refused(428, "precondition_required", patch, "/schedules/nightly", `{"jitter":"30s"}`)
		s.OK(200, patch, "/schedules/often", `{"job":{"tags":["x"]}}`, "If-Match", "*")
		untagged, _ := s.OK(200, patch, "/schedules/often", `{"job":{"tags":[]}}`, "If-Match", "*").JSON["job"].(map[string]any)
		if tags, _ := untagged["tags"].([]any); untagged == nil || len(tags) > 0 {
			s.Errorf("its job had its tags taken away: %v", untagged)
		}
		changed := s.OK(200, patch, "/schedules/nightly", `{"tz":"UTC","jitter":"30s","job":{"queue":"fast","args":{"to":"bob"}}}`, "If-Match", etag)
		job, _ := changed.JSON["job"].(map[string]any)
		if changed.JSON["words"] != "every day at 02:30 in UTC" || changed.JSON["jitter"] != "30s" || job["queue"] != "fast" {
			s.Errorf("changed: %s", changed.Text)
		}
		s.Refused(412, "changed", patch, "/schedules/nightly", `{"jitter":"10s"}`, "If-Match", etag)
		s.Refused(409, "conflict", patch, "/schedules/nightly", `{"reset":true}`, "If-Match", "*") // no code declares it

		run := s.OK(200, post, "/schedules/nightly/trigger", nil)
		if id, _ := run.JSON["job"].(string); run.JSON["state"] != "fired" || s.OK(200, get, "/jobs/"+id, nil).JSON["queue"] != "fast" {
			s.Errorf("triggered: %s", run.Text)
		}
		if now := s.OK(200, get, "/schedules/nightly", nil); now.Header.Get("ETag") != changed.Header.Get("ETag") {
			s.Errorf("a trigger has changed the version")
		}
		const days = `{"from":"2026-01-01T00:00:00Z","to":"2026-01-04T00:00:00Z"`
		if dry := s.OK(200, post, "/schedules/nightly/backfill", days+`,"dry_run":true}`); dry.JSON["times"] != 3.0 || dry.JSON["enqueued"] != 0.0 {
			s.Errorf("a dry run: %s", dry.Text)
		}
		filled := s.OK(200, post, "/schedules/nightly/backfill", days+"}")
		number, _ := filled.JSON["number"].(string)
		if again := s.OK(200, post, "/schedules/nightly/backfill", days+`,"number":"`+number+`"}`); filled.JSON["enqueued"] != 3.0 || again.JSON["enqueued"] != 0.0 {
			s.Errorf("filled %s, and again %s", filled.Text, again.Text)
		}
		runs := s.OK(200, get, "/schedules/nightly/runs?limit=3", nil)
		cursor, _ = runs.JSON["next_cursor"].(string)
		if rest := s.OK(200, get, "/schedules/nightly/runs?limit=3&cursor="+cursor, nil); len(runs.Items()) != 3 || len(rest.Items()) != 1 {
			s.Errorf("runs: %s %s", runs.Text, rest.Text)
		}
		if p := s.OK(200, post, "/schedules/nightly/pause", `{"note":"away"}`); p.JSON["paused"] != true || p.JSON["note"] != "away" {
			s.Errorf("paused: %s", p.Text)
		}
		if p := s.OK(200, post, "/schedules/nightly/resume", nil); p.JSON["paused"] != false {
			s.Errorf("resumed: %s", p.Text)
		}
		s.OK(204, remove, "/schedules/nightly", nil)
		s.Refused(404, "not_found", get, "/schedules/nightly", nil)
	})
}

// TestPreview: what times mean is told without a schedule, with the changes of the clock.
func TestPreview(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.As(access.Principal{Name: "viewer", Scopes: []access.Scope{access.SchedulesRead}})
	p := s.OK(200, post, "/schedules/preview", `{"cron":"30 2 * * *","tz":"Europe/Berlin","after":"2026-03-27T12:00:00Z","limit":2}`)
	next, _ := p.JSON["next_times"].([]any)
	if len(next) != 2 || p.JSON["clock_change"] == nil {
		t.Fatalf("the preview: %s", p.Text)
	}
	if second, _ := next[1].(map[string]any); second["local"] != "2026-03-29T03:00:00+02:00" {
		t.Errorf("after the gap: %s", p.Text)
	}
	if all := s.OK(200, get, "/schedules", nil); len(all.Items()) != 0 {
		t.Errorf("a preview has made: %s", all.Text)
	}
}

// TestRefusals: what can never be right, and who may not.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	job := `,"job":{"kind":"a"}}`
	for body, pointer := range map[string]string{
		`{"name":"a"` + job: "", `{"name":"a","cron":"* *"` + job: "", `{"name":"a","cron":"@daily","every":"1h"` + job: "",
		`{"name":"a","every":"1h","tz":"UTC"` + job: "/tz", `{"name":"a","at":"2020-01-01T00:00:00Z"` + job: "/at",
		`{"name":"a","cron":"@daily","from":"2020-01-01T00:00:00Z"` + job: "/from", `{"name":"a","every":"1h","overlap":"both"` + job: "/overlap",
		`{"name":"a","every":"1h","missed":"catch-up"` + job: "/window", `{"name":"a","every":"1h","fires":0` + job: "/fires",
		`{"name":"a","every":"1h","note":"x"` + job: "/note", `{"name":"a","every":"1h","job":{"kind":"a","priority":9}}`: "/job/priority",
		`{"name":"a","every":"1h"}`: "/job", `{"every":"1h"` + job: "/name", `{"name":"a","every":"1h","job":{"kind":"a","key":"k","delay":"1s"}}`: "",
	} {
		if got := s.Refused(422, "invalid", post, "/schedules", body); got != pointer {
			t.Errorf("%s: it points to %q", body, got)
		}
	}
	s.OK(201, post, "/schedules?namespace=other", nightly)
	s.OK(201, post, "/schedules", `{"name":"run","every":"1h","job":{"kind":"exec","args":{"command":["true"]}}}`)
	for _, r := range [][2]string{
		{get, "/schedules/nightly"},
		{get, "/schedules/nightly/runs"},
		{post, "/schedules/nightly/pause"},
		{post, "/schedules/nightly/resume"},
		{post, "/schedules/nightly/trigger"},
		{remove, "/schedules/nightly"},
	} {
		s.Refused(404, "not_found", r[0], r[1], nil)
	}
	s.Refused(404, "not_found", patch, "/schedules/nightly", `{"jitter":"1s"}`, "If-Match", "*")
	s.Refused(422, "invalid", patch, "/schedules/run", `{}`, "If-Match", "*")
	s.Refused(422, "invalid", patch, "/schedules/run", `{"reset":true,"jitter":"1s"}`, "If-Match", "*")
	s.Refused(422, "invalid", post, "/schedules/run/backfill", `{"from":"2026-01-02T00:00:00Z","to":"2026-01-01T00:00:00Z"}`)
	s.Refused(422, "invalid", post, "/schedules/run/backfill", `{"from":"2026-01-02T00:00:00Z","to":"2999-01-01T00:00:00Z"}`)
	s.Refused(422, "invalid", get, "/schedules/run/runs?cursor=eA", nil)

	s.As(access.Principal{Name: "operator", Scopes: []access.Scope{access.SchedulesRead, access.SchedulesWrite}})
	s.Refused(403, "forbidden", post, "/schedules", `{"name":"more","every":"1h","job":{"kind":"exec"}}`)
	s.Refused(403, "forbidden", patch, "/schedules/run", `{"job":{"args":{"command":["rm"]}}}`, "If-Match", "*")
	s.Refused(403, "forbidden", post, "/schedules/run/trigger", nil)
	s.Refused(403, "forbidden", post, "/schedules/run/resume", nil)
	s.Refused(403, "forbidden", post, "/schedules/run/backfill", `{"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"}`)
	shown, _ := s.OK(200, get, "/schedules/run", nil).JSON["job"].(map[string]any)
	if args, _ := shown["args"].(map[string]any); args["hidden"] != "payloads:read" {
		t.Errorf("args without the scope: %v", shown)
	}
	s.As(access.Principal{Name: "viewer", Scopes: []access.Scope{access.SchedulesRead}})
	s.Refused(403, "forbidden", remove, "/schedules/run", nil)
}
