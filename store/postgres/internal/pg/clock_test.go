package pg

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// read returns what a database whose clock is ahead says when it is asked for that long. share
// tells when in that time it looked.
func read(ahead, trip time.Duration, share float64) Reading {
	asked := time.UnixMicro(1_800_000_000_000_000)
	looked := asked.Add(time.Duration(float64(trip) * share)).Add(ahead)
	return Reading{Micros: looked.UnixMicro(), Asked: asked, Answered: asked.Add(trip)}
}

func TestAnOffsetIsCorrectedByWhatIsCertain(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for _, c := range []struct {
		name   string
		known  time.Duration
		r      Reading
		want   time.Duration
		within time.Duration
	}{
		{"a short round trip is believed", 5 * s, read(3*s, 4*ms, 0.5), 3 * s, 0},
		{"a long one leaves alone what it does not contradict", 3 * s, read(3*s, time.Minute, 0.01), 3 * s, 0},
		{"whenever the clock was read", 3 * s, read(3*s, time.Minute, 1), 3 * s, 0},
		{"a clock that was set is followed as far as is certain", 0, read(time.Hour, 10*s, 0), time.Hour - 10*s, ms},
		{"in both directions", 2 * time.Hour, read(time.Hour, 10*s, 1), time.Hour + 10*s, ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := time.Duration(c.r.correct(c.known.Microseconds())) * time.Microsecond
			if (got - c.want).Abs() > c.within {
				t.Fatalf("the offset is %v, want %v", got, c.want)
			}
		})
	}
}

func TestAStoreBeginsWithTheBestOfAFewReadings(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for _, c := range []struct {
		name  string
		trips []time.Duration
		asked int
		want  time.Duration // the round trip of the one that is taken
		err   error
	}{
		{"the first is good", []time.Duration{ms}, 1, ms, nil},
		{"the third is good", []time.Duration{time.Minute, s, ms}, 3, ms, nil},
		{"none is good", []time.Duration{time.Minute, 900 * ms, 700 * ms, s, time.Minute}, 5, 700 * ms, nil},
		{"none will do", []time.Duration{time.Minute, time.Minute, time.Minute, 3 * s, time.Minute}, 5, 0, store.ErrUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			best, err := bestReading(func() (Reading, error) {
				asked++
				return read(0, c.trips[asked-1], 0.5), nil
			})
			if !errors.Is(err, c.err) || asked != c.asked || err == nil && best.trip() != c.want {
				t.Fatalf("after %d readings: %v, %v", asked, best.trip(), err)
			}
		})
	}
	failed := errors.New("cut")
	if _, err := bestReading(func() (Reading, error) { return Reading{}, failed }); !errors.Is(err, failed) {
		t.Fatalf("error is %v", err)
	}
}

func TestAnOffsetIsUsedAsLongAsNoClockMayHaveBeenSet(t *testing.T) {
	measured := time.Now()
	for _, c := range []struct {
		name  string
		later time.Duration
		want  bool
	}{
		{"at once", 0, true},
		{"a little later", time.Second, true},
		{"much later", offsetHolds, false},
	} {
		if got := isFresh(measured, measured.Add(c.later)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// clockOf is a database that says what time it is, and counts how often it was asked.
type clockOf struct {
	ahead time.Duration
	asked int
}

// Run implements Runner.
func (c *clockOf) Run(_ context.Context, _ string, each func(Row) error, _ ...any) error {
	c.asked++
	return each(c)
}

// Scan implements Row.
func (c *clockOf) Scan(dest ...any) error {
	*dest[0].(*int64) = time.Now().Add(c.ahead).UnixMicro() //nolint:errcheck // always one
	return nil
}

// TestTheClockIsReadForWhatDependsOnIt: a delay and a business key need the clock of now, and
// nothing else costs a round trip.
func TestTheClockIsReadForWhatDependsOnIt(t *testing.T) {
	long := time.Now().Add(-2 * offsetHolds)
	for _, c := range []struct {
		name     string
		measured time.Time
		enqueue  store.Enqueue
		want     bool
	}{
		{"at once", long, store.Enqueue{}, false},
		{"a delay", long, store.Enqueue{Delay: time.Second}, true},
		{"a business key", long, store.Enqueue{Job: store.Job{Options: store.Options{Key: "order-42"}}}, true},
		{"a key soon after", time.Now(), store.Enqueue{Job: store.Job{Options: store.Options{Key: "order-42"}}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, server := &DB{}, &clockOf{ahead: time.Hour}
			d.clockRead.Store(&c.measured)
			d.FreshenFor(t.Context(), server, []*store.Enqueue{{}, &c.enqueue})
			ahead := time.Until(d.Now())
			if (server.asked == 1) != c.want || (ahead > time.Minute) != c.want {
				t.Errorf("the clock was read %d times, and is ahead by %v", server.asked, ahead)
			}
		})
	}
}
