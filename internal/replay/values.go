package replay

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/misuse"
	"github.com/holdfastdev/holdfast/store"
)

// Now returns the time, the same on every replay.
func (s *Strand) Now() (time.Time, error) {
	m, err := s.begin("run.Now", "")
	if err != nil {
		return time.Time{}, err
	}
	defer s.end(m)
	path, entries := s.enter(m, "", store.EntryValue)
	var at time.Time
	if len(entries) > 0 {
		return at, journal.Decode(entries[0], &at)
	}
	if err := s.roomFor(m); err != nil {
		return at, err
	}
	at = s.run.host.Now()
	m.Record(store.Entry{Kind: store.EntryValue, Path: path, Data: journal.Encode(at)})
	return at, nil
}

// Random returns a source of random numbers, the same ones on every replay.
func (s *Strand) Random() (*rand.Rand, error) {
	m, err := s.begin("run.Random", "")
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	return rand.New(rand.NewChaCha8(m.Seed(s.run.claimed.Job.ID, s.prefix+"random"))), nil
}

// UUID returns a UUID, the same one on every replay, for the operation that the code has called.
func (s *Strand) UUID(verb, name string) (uuid.UUID, error) {
	m, err := s.begin(verb, name)
	if err != nil {
		return uuid.UUID{}, err
	}
	defer s.end(m)
	seed := m.Seed(s.run.claimed.Job.ID, s.prefix+"uuid")
	id := uuid.UUID(seed[:16])
	id[6] = id[6]&0x0F | 0x80 // version 8: made by a rule of its own
	id[8] = id[8]&0x3F | 0x80
	return id, nil
}

// Publish stores a value for clients: the last one of a key, or an item of a stream.
func (s *Strand) Publish(kind store.EntryKind, name string, data []byte) error {
	verb := "run.Publish"
	if kind == store.EntryStreamed {
		verb = "run.Append"
	}
	m, err := s.begin(verb, name)
	if err != nil {
		return err
	}
	defer s.end(m)
	path, entries := s.enter(m, name, kind)
	if len(entries) > 0 {
		return nil
	}
	if err := s.mayBegin(m); err != nil {
		return err
	}
	m.Record(store.Entry{Kind: kind, Path: path, Name: name, Data: data})
	m.flush()
	return nil
}

// Patched reports whether the run takes part in a change of its code: a run that had gone past the
// place when the change came does not. It takes no place, so that the call can be added and
// removed.
func (s *Strand) Patched(name string) (bool, error) {
	m, err := s.begin("run.Patched", name)
	if err != nil {
		return false, err
	}
	defer s.end(m)
	if in, known := m.Patched(name); known {
		return in, nil
	}
	last, _ := m.LastPlace(s.prefix)
	in := int(s.place) >= last
	if err := s.roomFor(m); in && err != nil {
		return false, err
	}
	m.Patch(name, in)
	if in {
		m.Record(store.Entry{Kind: store.EntryPatched, Path: "", Name: name})
	}
	return in, nil
}

// IdempotencyKey names a step of this run for outside systems: the same on every attempt, another
// one after the run has continued as new. It is no operation, and may be asked for in a step.
func (s *Strand) IdempotencyKey(step string) (string, error) {
	if s.over.Load() {
		return "", misuse.TooLate(s.run.claimed.Job.ID, misuse.Operation{Verb: "run.IdempotencyKey"})
	}
	m, err := s.run.remember()
	if err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := s.run.claimed.Job.ID.String()
	if n := m.Times(); n > 0 {
		key += "." + strconv.Itoa(n)
	}
	return key + "/" + step, nil
}
