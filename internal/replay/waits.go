package replay

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

// ErrWaitTimeout is what a wait returns when its time limit is over.
var ErrWaitTimeout = errors.New("holdfast: wait timed out")

// timer is the data of an EntryTimer.
type timer struct {
	Until time.Time `json:"until"`
}

// until waits for a time.
func (s *Strand) until(m *memory, at time.Time, what func() string) error {
	now := s.run.host.Now
	return s.await(m, func() bool { return !now().Before(at) }, func() pause { return pause{until: at, what: what()} })
}

// begun returns when the timer at a path ends, which is decided when it is first asked for.
func (s *Strand) begun(m *memory, path, name string, entries []*store.Entry, limit Limit) (time.Time, error) {
	for _, e := range entries {
		if e.Kind == store.EntryTimer {
			var t timer
			err := decodeEntry(e, &t)
			return t.Until, err
		}
	}
	at := limit.at(s.run.host.Now())
	if err := (&store.Wait{Until: at}).CheckTime(s.run.claimed.Job.ID); err != nil {
		return time.Time{}, err
	}
	m.add(store.Entry{Kind: store.EntryTimer, Path: path, Name: name, Data: encodeEntry(timer{at})})
	return at, nil
}

// Limit is when a wait ends at the latest. The zero value means never.
type Limit struct {
	Within time.Duration // from the beginning of the wait
	Until  time.Time
	Set    bool
}

func (l Limit) at(now time.Time) time.Time {
	if !l.Until.IsZero() {
		return l.Until
	}
	return now.Add(max(l.Within, 0))
}

// Sleep waits durably.
func (s *Strand) Sleep(limit Limit) error {
	m, err := s.begin("run.Sleep", "")
	if err != nil {
		return err
	}
	defer s.end(m)
	t, err := s.timer(m, limit)
	if err != nil {
		return err
	}
	if s.place < m.last[s.prefix] {
		return nil // the run has gone on from it before, whatever the clock says now
	}
	return s.waitFor(m, t)
}

// Awaitable is something that a strand can wait for.
type Awaitable interface {
	ready(m *memory, now time.Time) bool
	pause(m *memory) pause
	// madeBy reports whether a run may wait for it. It may be nil.
	madeBy(r *Run) bool
	// describe names it in messages. It may be nil.
	describe() string
}

// waitFor waits for one thing that needs no decision: a timer, or a strand.
func (s *Strand) waitFor(m *memory, a Awaitable) error {
	now := s.run.host.Now
	return s.await(m, func() bool { return a.ready(m, now()) }, func() pause { return a.pause(m) })
}

// Timer is a time that was fixed in the journal.
type Timer struct {
	run *Run
	at  time.Time
}

// Timer begins a timer.
func (s *Strand) Timer(limit Limit) (*Timer, error) {
	m, err := s.begin("run.Timer", "")
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	return s.timer(m, limit)
}

// timer begins a timer.
func (s *Strand) timer(m *memory, limit Limit) (*Timer, error) {
	path, entries := s.enter(m, "", store.EntryTimer)
	if entries == nil {
		if err := s.open(m); err != nil {
			return nil, err
		}
	}
	at, err := s.begun(m, path, "", entries, limit)
	if err != nil {
		return nil, err
	}
	return &Timer{s.run, at}, nil
}

func (t *Timer) madeBy(r *Run) bool { return t != nil && t.run == r }

func (t *Timer) describe() string { return "a timer" }

func (t *Timer) ready(_ *memory, now time.Time) bool { return !now.Before(t.at) }

func (t *Timer) pause(*memory) pause {
	return pause{until: t.at, what: "timer until " + t.at.UTC().Format(time.RFC3339)}
}

func (f *Future) madeBy(r *Run) bool { return f != nil && f.run == r }

func (f *Future) describe() string {
	if f == nil {
		return "a future"
	}
	return fmt.Sprintf("the future of %q", f.name)
}

func (f *Future) ready(*memory, time.Time) bool { return f.done }

func (f *Future) pause(*memory) pause { return pause{strand: true, what: "strand " + f.name} }

// Signal is a wait for the next signal of a name.
type Signal struct {
	Name   string
	Decode func(data []byte) error // what it has received; nil: nobody wants to know
	got    *store.Message
}

func (g *Signal) madeBy(*Run) bool { return g != nil }

func (g *Signal) describe() string { return "a wait for a signal" }

func (g *Signal) message(m *memory) *store.Message {
	for i := range m.messages {
		msg := &m.messages[i]
		if msg.Kind == store.MessageSignal && msg.Name == g.Name && !m.taken[msg.Seq] {
			return msg
		}
	}
	return nil
}

func (g *Signal) ready(m *memory, _ time.Time) bool { return g.message(m) != nil }

func (g *Signal) pause(*memory) pause {
	return pause{kinds: store.MessagesOf(store.MessageSignal), what: "signal " + g.Name}
}

// Receive waits for a signal. ErrWaitTimeout is its answer when the limit is over.
func (s *Strand) Receive(g *Signal, limit Limit) (*store.Message, error) {
	return s.receiveAs("Signal.Wait", g, limit)
}

func (s *Strand) receiveAs(verb string, g *Signal, limit Limit) (*store.Message, error) {
	m, err := s.begin(verb, g.Name)
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	path, entries := s.enter(m, g.Name, store.EntryReceived, store.EntryTimer, store.EntryTimeout)
	if err := m.look(); err != nil {
		return nil, err
	}
	if entries == nil {
		if err := s.roomFor(m); err != nil {
			return nil, err
		}
	}
	return s.receive(m, path, g.Name, entries, g, limit)
}

// receive waits for a message, with a time limit or without.
func (s *Strand) receive(
	m *memory, path, name string, entries []*store.Entry, r receiver, limit Limit,
) (*store.Message, error) {
	for _, e := range entries {
		switch e.Kind {
		case store.EntryReceived:
			return s.receivedBefore(m, r, e)
		case store.EntryTimeout:
			return nil, ErrWaitTimeout
		default: // the timer
		}
	}
	if m.closed != nil {
		if err := s.decides(m); err != nil {
			return nil, err
		}
	}
	if !limit.Set {
		if err := s.waitFor(m, r); err != nil {
			return nil, err
		}
		return s.take(m, r, path, nil)
	}
	at := limit.Until
	if !r.ready(m, time.Time{}) {
		if err := s.open(m); err != nil {
			return nil, err
		}
		var err error
		switch {
		case !at.IsZero():
			err = (&store.Wait{Until: at}).CheckTime(s.run.claimed.Job.ID)
		case limit.Within <= 0:
			if err = m.refresh(); err == nil && !r.ready(m, time.Time{}) {
				m.add(store.Entry{Kind: store.EntryTimeout, Path: path, Name: name})
				err = ErrWaitTimeout
			}
		default:
			at, err = s.begun(m, path, name, entries, limit)
		}
		if err != nil {
			return nil, err
		}
	}
	now := s.run.host.Now
	err := s.await(m, func() bool { return r.ready(m, now()) || !now().Before(at) }, func() pause {
		p := r.pause(m)
		p.until = at
		return p
	})
	if err != nil {
		return nil, err
	}
	if r.ready(m, now()) {
		return s.take(m, r, path, nil)
	}
	m.add(store.Entry{Kind: store.EntryTimeout, Path: path, Name: name})
	return nil, ErrWaitTimeout
}

// TryReceive returns the next signal if it has arrived, or nil.
func (s *Strand) TryReceive(g *Signal) (*store.Message, error) {
	got, err := s.receiveAs("Signal.TryReceive", g, Limit{Set: true})
	if errors.Is(err, ErrWaitTimeout) {
		return nil, nil
	}
	return got, err
}

func (m *memory) message(seq int64) *store.Message {
	for i := range m.messages {
		if m.messages[i].Seq == seq {
			return &m.messages[i]
		}
	}
	return nil
}

// Callback is a wait for an outside system.
type Callback struct {
	Token string
	run   *Run
	name  string // for people
	path  string
	got   *store.Message
}

// callbackData is the data of an EntryCallback.
type callbackData struct {
	Name string `json:"name"`
}

// OpenCallback makes a token that an outside system can answer to. It is durable when this returns.
func (s *Strand) OpenCallback(name string) (*Callback, error) {
	m, err := s.begin("run.Callback", name)
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	path := s.reserve()
	// The token is the entry's name; what the code says is in its data.
	for _, e := range m.byPath[path] {
		if e.Kind != store.EntryCallback {
			continue
		}
		m.visit(path)
		return &Callback{Token: e.Name, run: s.run, name: name, path: path}, nil
	}
	s.at(m, path, "", store.EntryCallback)
	if err := s.open(m); err != nil {
		return nil, err
	}
	token := newToken(s.run.claimed.Job.ID)
	m.add(store.Entry{Kind: store.EntryCallback, Path: path, Name: token, Data: encodeEntry(callbackData{name})})
	return &Callback{Token: token, run: s.run, name: name, path: path}, m.flush()
}

const tokenPrefix = "hfc_"

// tokenLength is that of a prefix and the base64 of 32 bytes.
const tokenLength = len(tokenPrefix) + 43

// newToken makes a token out of a job's id and 128 random bits.
func newToken(job store.ID) string {
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // never fails
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(append(job[:], secret...))
}

// JobOfToken returns the job that a callback's token belongs to, or ErrInvalid for what is no
// token.
func JobOfToken(token string) (store.ID, error) {
	text, ok := strings.CutPrefix(token, tokenPrefix)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if !ok || err != nil || len(token) != tokenLength { // what decodes ignores line breaks
		return store.ID{}, fmt.Errorf("%w: not a callback token: tokens begin with %s and have %d characters", store.ErrInvalid,
			tokenPrefix, tokenLength)
	}
	return uuid.FromBytes(raw[:16])
}

func (c *Callback) madeBy(r *Run) bool { return c != nil && c.run == r }

func (c *Callback) describe() string {
	if c == nil {
		return "a callback"
	}
	return fmt.Sprintf("callback %q", c.name)
}

func (c *Callback) ready(m *memory, _ time.Time) bool { return c.message(m) != nil }

func (c *Callback) message(m *memory) *store.Message {
	for i := range m.messages {
		msg := &m.messages[i]
		if msg.Name == c.Token && (msg.Kind == store.MessageCallback || msg.Kind == store.MessageCallbackFailed) {
			return msg
		}
	}
	return nil
}

func (c *Callback) pause(*memory) pause {
	return pause{
		kinds: store.MessagesOf(store.MessageCallback, store.MessageCallbackFailed, store.MessageHeartbeat), what: "callback " + c.name,
	}
}

// AwaitCallback waits for the answer to a callback, and decodes what it was completed with, unless
// decode is nil. A heartbeat lets the time limit begin anew.
func (s *Strand) AwaitCallback(c *Callback, limit Limit, decode func([]byte) error) (*store.Message, error) {
	m, err := s.begin("Callback.Wait", "")
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	if err := s.own(m, c); err != nil {
		return nil, err
	}
	path, entries := s.enter(m, "", store.EntryReceived, store.EntryTimer, store.EntryTimeout)
	if limit.Set && limit.Until.IsZero() {
		for i := range m.messages {
			if msg := &m.messages[i]; msg.Kind == store.MessageHeartbeat && msg.Name == c.Token {
				limit.Until = msg.At.Add(limit.Within)
			}
		}
	}
	return s.receive(m, path, "", entries, &callbackWait{c, decode}, limit)
}

// Select waits for the first of several things and returns its index; of those that are ready at once the first in the list.
func (s *Strand) Select(all []Awaitable) (int, error) {
	m, err := s.begin("holdfast.Select", "")
	if err != nil {
		return 0, err
	}
	defer s.end(m)
	if err := s.own(m, all...); err != nil {
		return 0, err
	}
	path, entries := s.enter(m, "", store.EntrySelected, store.EntryReceived)
	for _, e := range entries {
		if e.Kind == store.EntryReceived {
			continue
		}
		var chosen int
		if err := decodeEntry(e, &chosen); err != nil {
			return 0, err
		}
		if chosen >= len(all) {
			s.contradict(m, fmt.Sprintf("the code selects among %d things at place %s, where the journal (entry %d) has the choice of number %d",
				len(all), path, e.Seq, chosen+1))
		}
		return chosen, s.chose(m, path, entries, all[chosen])
	}
	if err := m.look(); err != nil {
		return 0, err
	}
	if err := s.decides(m); err != nil {
		return 0, err
	}
	now := s.run.host.Now
	chosen := -1
	err = s.await(m, func() bool {
		for i, a := range all {
			if a.ready(m, now()) {
				chosen = i
				return true
			}
		}
		return false
	}, func() pause { return together(m, all) })
	if err != nil {
		return 0, err
	}
	choice := store.Entry{Kind: store.EntrySelected, Path: path, Data: encodeEntry(chosen)}
	if r, ok := all[chosen].(receiver); ok {
		_, err := s.take(m, r, path, &choice)
		return chosen, err
	}
	m.add(choice)
	return chosen, nil
}

// chose gives a choice that is replayed what it received then.
func (s *Strand) chose(m *memory, path string, entries []*store.Entry, a Awaitable) error {
	r, ok := a.(receiver)
	for _, e := range entries {
		if ok && e.Kind == store.EntryReceived {
			_, err := s.receivedBefore(m, r, e)
			return err
		}
	}
	err := s.waitFor(m, a)
	if ok && err == nil {
		_, err = s.take(m, r, path, nil) // what it was to receive was not stored any more
	}
	return err
}

// together is the pause of who waits for any of several things.
func together(m *memory, all []Awaitable) pause {
	var p pause
	var what []string
	for _, a := range all {
		one := a.pause(m)
		if !one.until.IsZero() && (p.until.IsZero() || one.until.Before(p.until)) {
			p.until = one.until
		}
		p.kinds |= one.kinds
		p.failures = p.failures || one.failures
		p.strand = p.strand || one.strand
		what = append(what, one.what)
	}
	p.what = "the first of: " + strings.Join(what, ", ")
	return p
}

// waitText is what people read of a wait.
func waitText(what []string) []byte {
	data, err := json.Marshal(map[string][]string{"waits_for": what})
	if err != nil {
		return nil
	}
	return data
}

// Answer is the message that has answered the callback, once it was waited for or chosen.
func (c *Callback) Answer() *store.Message { return c.got }
