//go:build soak

package postgres_test

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// sent are the statements that tests have sent, by the test and the name of the statement.
type sent struct {
	mu    sync.Mutex
	names map[string]map[string]bool
	all   map[string]bool
	count map[string]int // of texts that a test has sent
}

// tracer notes what connections send, until the store that they are for says what the texts are.
type tracer struct {
	mu    sync.Mutex
	texts map[string]bool
	count int
}

func (t *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	t.note(data.SQL)
	return ctx
}

func (*tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (*tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (t *tracer) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	t.note(data.SQL)
}

func (*tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (t *tracer) note(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.texts == nil {
		t.texts = map[string]bool{}
	}
	t.texts[text] = true
	t.count++
}

// add adds what a test has sent to a store.
func (s *sent) add(test string, t *tracer, to store.Store) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names, s.all, s.count = map[string]map[string]bool{}, map[string]bool{}, map[string]int{}
	}
	if s.names[test] == nil {
		s.names[test] = map[string]bool{}
	}
	s.count[test] += t.count
	for name, text := range postgres.Texts(to) {
		s.all[name] = true
		if t.texts[text] {
			s.names[test][name] = true
		}
	}
}

// missing are the statements that no test has sent.
func (s *sent) missing() []string {
	left := maps.Clone(s.all)
	for _, names := range s.names {
		for name := range names {
			delete(left, name)
		}
	}
	return slices.Sorted(maps.Keys(left))
}
