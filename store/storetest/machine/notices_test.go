package machine

import (
	"fmt"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// Some mistakes show in one run of several hundred: one that hides for 2,000 runs now and then does
// not do so for 10,000. One that shows soon does so within 2,000, three times.
const (
	notedBy     = 50
	notedSoonBy = 10
	soonTimes   = 3
)

// notices checks that a machine fails on a store that is broken.
func notices(t *testing.T, name string, breaks func(store.Store) store.Store, mode mode) {
	t.Helper()
	noticesOpened(t, name, func(clock *env.Clock) store.Store { return breaks(model.New(clock.Now)) }, mode)
}

// noticesOpened does so with a store that is broken from the beginning.
func noticesOpened(t *testing.T, name string, opened func(*env.Clock) store.Store, mode mode) {
	t.Helper()
	(&mistake{opened: opened, mode: mode, times: 1, tries: notedBy}).isNoticed(t, name)
}

// noticesSoon checks that a machine fails on a store that is broken, whatever sequences it draws:
// most need few.
func noticesSoon(t *testing.T, name string, breaks func(store.Store) store.Store, mode mode) {
	t.Helper()
	opened := func(clock *env.Clock) store.Store { return breaks(model.New(clock.Now)) }
	(&mistake{opened: opened, mode: mode, times: soonTimes, tries: notedSoonBy}).isNoticed(t, name)
}

// mistake is a store that is broken, and how soon that shows.
type mistake struct {
	opened func(*env.Clock) store.Store
	mode   mode
	times  int // it is searched for that many times,
	tries  int // each with that many rounds of checks
}

// isNoticed checks that the machine notices. A sequence that showed the mistake before is enough,
// as long as the machine still draws it from its seed; else it draws others.
func (m *mistake) isNoticed(t *testing.T, name string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it draws until somebody notices")
	}
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		if seed := seeds.of(t.Name()); seed != 0 && !searches() {
			if said := m.check(t, seed, 1); said != "" {
				t.Log(said)
				return
			}
			t.Logf("the seed %d shows it no more: go test -update finds others", seed)
		}
		for range m.times {
			said := ""
			for try := 0; said == "" && try < m.tries; try++ {
				said = m.check(t, 0, checksOfSearch)
			}
			if said == "" {
				t.Fatal("nobody noticed")
			}
			t.Log(said)
			m.keep(t, said)
		}
	})
}

// keep notes the seed that a failure names, if it shows the mistake by itself.
func (m *mistake) keep(t *testing.T, said string) {
	t.Helper()
	if seed := seedIn(said); *update && seed != 0 && m.check(t, seed, 1) != "" {
		seeds.keep(t.Name(), seed)
	}
}

// check draws sequences, from a seed unless that is 0, and returns what the machine says that
// fails; "" if none does.
func (m *mistake) check(t *testing.T, seed uint64, checks int) string {
	open := func(_ *testing.T, clock *env.Clock) store.Store { return m.opened(clock) }
	stores := &pool{t: t, open: open}
	return failure(func(tb rapid.TB) {
		seeded(tb, seed, checks, func(t *rapid.T) { stores.check(t, m.mode) })
	})
}

// failure runs a check that is to fail, and returns what it says; "" if it passes.
func failure(check func(rapid.TB)) string {
	probe := &probe{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		check(probe)
	}()
	<-done
	return probe.said
}

// probe is a test that nobody sees. It remembers the first thing that is said when it fails.
type probe struct{ said string }

func (*probe) Helper()             {}
func (*probe) Name() string        { return "probe" }
func (*probe) Logf(string, ...any) {}
func (*probe) Log(...any)          {}

func (p *probe) Errorf(format string, args ...any) {
	if p.said == "" {
		p.said = fmt.Sprintf(format, args...)
	}
}

func (p *probe) Fatalf(format string, args ...any) {
	p.Errorf(format, args...)
	runtime.Goexit()
}

func (p *probe) Skipf(string, ...any) { runtime.Goexit() }
func (p *probe) Skip(...any)          { runtime.Goexit() }
func (p *probe) SkipNow()             { runtime.Goexit() }
func (p *probe) Error(args ...any)    { p.Errorf("%v", args) }
func (p *probe) Fatal(args ...any)    { p.Fatalf("%v", args) }
func (p *probe) FailNow()             { p.Fatalf("failed") }
func (p *probe) Fail()                { p.Errorf("failed") }
func (p *probe) Failed() bool         { return p.said != "" }
