package workers

import (
	"context"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// settings is what people have set of the attempts of queues' jobs, read again each second.
type settings struct {
	store store.Store

	mu    sync.Mutex
	known map[string]knownSettings // by namespace
}

type knownSettings struct {
	queues map[string]store.QueueAttempts
	at     time.Time
}

const settingsKept = time.Second

// of is what is set of a queue. While the database does not answer it is what was known.
func (s *settings) of(ctx context.Context, namespace, queue string) store.AttemptSettings {
	s.mu.Lock()
	known := s.known[namespace]
	s.mu.Unlock()
	if time.Since(known.at) > settingsKept {
		queues, err := s.store.AttemptsOfQueues(ctx, namespace)
		if err == nil {
			known = knownSettings{queues, time.Now()}
			s.mu.Lock()
			if s.known == nil || len(s.known) > 10_000 { // of namespaces that are not asked for any more
				s.known = map[string]knownSettings{}
			}
			s.known[namespace] = known
			s.mu.Unlock()
		}
	}
	return known.queues[queue].AttemptSettings
}
