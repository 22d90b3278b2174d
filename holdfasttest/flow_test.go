package holdfasttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
)

var update = flag.Bool("update", false, "write the golden journals anew")

type order struct {
	ID    string `json:"id"`
	Cents int    `json:"cents"`
}

var (
	fulfil   = holdfast.NewKind[order, string]("order.fulfil")
	ship     = holdfast.NewKind[string, string]("order.ship")
	approved = holdfast.NewSignal[string]("approved")
)

// shop is the code under test. The golden journals have its steps.
type shop struct {
	chargeName string
	fails      bool
	charges    int
}

func (s *shop) register(hf *holdfast.Client) error {
	return errors.Join(fulfil.Handle(hf, s.fulfil), ship.Handle(hf, func(_ *holdfast.Run, id string) (string, error) {
		return "parcel of " + id, nil
	}))
}

func (s *shop) fulfil(run *holdfast.Run, o order) (string, error) {
	charge, err := holdfast.Step(run, s.chargeName, func(context.Context) (int, error) {
		s.charges++
		return o.Cents, nil
	})
	if err != nil {
		return "", err
	}
	err = run.OnFailure("refund", func(run *holdfast.Run) error {
		_, err := holdfast.Step(run, "refund", func(context.Context) (int, error) { return charge, nil })
		return err
	})
	if err != nil {
		return "", err
	}
	_, err = holdfast.Step(run, "mail", func(context.Context) (int, error) { return 0, errors.New("no such mailbox") })
	if _, failed := errors.AsType[*holdfast.StepError](err); !failed {
		return "", err
	}
	audit, err := holdfast.Go(run, "audit", func(run *holdfast.Run) (time.Time, error) {
		if err := run.Sleep(time.Hour); err != nil {
			return time.Time{}, err
		}
		return run.Now()
	})
	if err != nil {
		return "", err
	}
	timer, err := run.Timer(30 * time.Minute)
	if err != nil {
		return "", err
	}
	var by string
	chosen, err := holdfast.Select(run, approved.Into(&by), timer)
	if err != nil {
		return "", err
	}
	if chosen == 1 {
		if by, err = approved.Wait(run, holdfast.WaitAtMost(72*time.Hour)); err != nil {
			return "", holdfast.Fail(err)
		}
	}
	if err := run.Publish("approved", by); err != nil {
		return "", err
	}
	if _, err := audit.Wait(run); err != nil {
		return "", err
	}
	if s.fails {
		return "", holdfast.Fail(errors.New("out of stock"))
	}
	parcel, err := ship.Call(run, o.ID)
	if err != nil {
		return "", err
	}
	results, err := ship.CallAll(run, []string{"a", "b"}, holdfast.FanOut{})
	if err != nil {
		return "", err
	}
	return strings.Join([]string{parcel, results[0].Value, results[1].Value, by}, ", "), nil
}

// TestGivingUp: a test that fails or is skipped early ends with its own message.
func TestGivingUp(t *testing.T) {
	gaveUp := false
	t.Run("skipped", func(t *testing.T) {
		holdfasttest.Run(t, func(env *holdfasttest.Env) {
			if err := (&shop{chargeName: "charge"}).register(env.Client); err != nil {
				env.T.Fatal(err)
			}
			env.Start()
			if _, err := fulfil.Enqueue(env.T.Context(), env.Client, order{"o1", 1}); err != nil {
				env.T.Fatal(err)
			}
			gaveUp = true
			env.T.SkipNow()
		})
	})
	if !gaveUp {
		t.Error("it did not come so far")
	}
}

func TestEnv(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		s := &shop{chargeName: "charge"}
		if err := s.register(env.Client); err != nil {
			t.Fatal(err)
		}
		env.Start()
		job, err := fulfil.Enqueue(t.Context(), env.Client, order{"o1", 1250})
		if err != nil {
			t.Fatal(err)
		}
		env.After(48*time.Hour, func() {
			if _, err := approved.Send(t.Context(), env.Client, job.ID, "ada"); err != nil {
				t.Error(err)
			}
		})
		began := time.Now()
		got, err := job.Wait(t.Context())
		if err != nil || got != "parcel of o1, parcel of a, parcel of b, ada" || s.charges != 1 {
			t.Errorf("%q, %v, %d charges", got, err, s.charges)
		}
		if passed := time.Since(began); passed < 48*time.Hour || passed > 49*time.Hour {
			t.Errorf("%v have passed", passed)
		}
		env.RequireJournal(job.ID, "step charge", "step failed mail", "timer", "timer", "selected", "timer approved",
			"value", "received approved", "published approved", "child order.ship", "child order.ship", "child order.ship")
	})
}

// golden are stored journals: of a run that completed, and of one that failed and compensated.
var golden = map[string]shop{
	"completed.json": {chargeName: "charge"},
	"refunded.json":  {chargeName: "charge", fails: true},
}

// TestGoldenJournals replays the journals of earlier builds.
func TestGoldenJournals(t *testing.T) {
	t.Parallel()
	for name, s := range golden {
		file := filepath.Join("testdata", "golden", name)
		if *update {
			record(t, file, s)
		}
		holdfasttest.Replay(t, file, func(hf *holdfast.Client) error {
			again := s
			return again.register(hf)
		})
	}
}

func record(t *testing.T, file string, s shop) {
	t.Helper()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		if err := s.register(env.Client); err != nil {
			t.Fatal(err)
		}
		env.Start()
		job, err := fulfil.Enqueue(t.Context(), env.Client, order{"o1", 1250})
		if err != nil {
			t.Fatal(err)
		}
		env.After(time.Hour, func() {
			if _, err := approved.Send(t.Context(), env.Client, job.ID, "ada"); err != nil {
				t.Error(err)
			}
		})
		if _, err := job.Wait(t.Context()); (err != nil) != s.fails {
			t.Error(err)
		}
		env.SaveJournal(job.ID, file)
	})
}

// TestReplayNotices: code that does not fit its journal is reported, and no step is executed.
func TestReplayNotices(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "golden", "completed.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]struct {
		edit func(j *holdfast.Journal)
		code shop
		want string
	}{
		"a step with another name":  {func(*holdfast.Journal) {}, shop{chargeName: "charge card"}, `step "charge card" at place 1`},
		"fewer operations":          {func(*holdfast.Journal) {}, shop{chargeName: "charge", fails: true}, "the replay fails"},
		"a journal that ends early": {func(j *holdfast.Journal) { j.Entries = j.Entries[:1] }, shop{chargeName: "charge"}, ""},
		"an entry that is lost":     {func(j *holdfast.Journal) { j.Entries = j.Entries[1:] }, shop{chargeName: "charge"}, "has no entry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var j holdfast.Journal
			if err := json.Unmarshal(data, &j); err != nil {
				t.Fatal(err)
			}
			change.edit(&j)
			code := change.code
			err := holdfasttest.ReplayJournal(t, j, code.register)
			switch {
			case change.want == "" && err != nil:
				t.Error(err)
			case change.want != "" && (err == nil || !strings.Contains(err.Error(), change.want)):
				t.Errorf("%v, and not %q", err, change.want)
			}
			if code.charges > 0 {
				t.Error("a step was executed")
			}
		})
	}
}

// TestReplayLeavesNothingBehind: if a run fails while another strand waits, both end.
func TestReplayLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	kind := holdfast.NewKind[int, int]("left.behind")
	err := holdfasttest.ReplayJournal(t, holdfast.Journal{Kind: "left.behind", Args: []byte("1")}, func(hf *holdfast.Client) error {
		return kind.Handle(hf, func(run *holdfast.Run, _ int) (int, error) {
			_, _ = holdfast.Go(run, "waits", func(run *holdfast.Run) (string, error) { return approved.Wait(run) })
			return 0, holdfast.Fail(errors.New("on its own account"))
		})
	})
	if err == nil || !strings.Contains(err.Error(), "on its own account") {
		t.Errorf("%v", err)
	}
}

// TestReplayOfNothing: a journal of a kind without a handler.
func TestReplayOfNothing(t *testing.T) {
	t.Parallel()
	err := holdfasttest.ReplayJournal(t, holdfast.Journal{Kind: "nothing"}, func(*holdfast.Client) error { return nil })
	if err == nil || !strings.Contains(err.Error(), `no handler of kind "nothing"`) {
		t.Errorf("%v", err)
	}
}
