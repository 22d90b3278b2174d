package nodes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/systemd"
	"github.com/holdfastdev/holdfast/store"
)

// nodeSource records which nodes have joined its store.
type nodeSource struct {
	store.Source

	service systemd.Notifier // is told when all have joined, and when they stop
	tell    func(error)      // what has come of that; nil: nothing is said
	all     int              // how many there are to be

	onJoin func() // called when one joins the first time
	onStop func() // called when they begin to stop; nil: nothing is

	mu     sync.Mutex
	joined map[string]bool // by namespace
	stays  bool            // a node could not leave
}

func (s *nodeSource) Open(ctx context.Context) (store.Store, error) {
	st, err := s.Source.Open(ctx)
	if err != nil {
		return nil, err
	}
	return &nodeStore{st, s}, nil
}

type nodeStore struct {
	store.Store

	source *nodeSource
}

func (s *nodeStore) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	id, err := s.Store.Join(ctx, info)
	if err == nil {
		s.source.join(info.Namespace)
	}
	return id, err
}

func (s *nodeStore) Leave(ctx context.Context, node int64) ([]store.Wake, error) {
	wakes, err := s.Store.Leave(ctx, node)
	if err != nil {
		s.source.mu.Lock()
		defer s.source.mu.Unlock()
		s.source.stays = true
	}
	return wakes, err
}

func (s *nodeSource) join(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.joined) == 0 {
		s.joined = map[string]bool{}
		if s.onJoin != nil {
			s.onJoin()
		}
	}
	before := len(s.joined)
	s.joined[namespace] = true
	if before < s.all && len(s.joined) == s.all {
		s.came(s.service.Ready())
	}
}

// came says what has come of telling systemd something.
func (s *nodeSource) came(err error) {
	if s.tell != nil {
		s.tell(err)
	}
}

// hasJoined reports whether any node has joined.
func (s *nodeSource) hasJoined() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.joined) > 0
}

// forgive drops the error of a node that was stopped before it had begun, and keeps others, such as
// failing to leave.
func (s *nodeSource) forgive(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, context.Canceled) && !s.stays {
		return nil
	}
	return err
}

// ended is how a node has ended.
type ended struct {
	namespace string
	err       error
}

// runNodes runs nodes until a signal, or until one of them fails, and then as long as their jobs
// need them.
func (a verbs) runNodes(ctx context.Context, nodes []*holdfast.Client, source *nodeSource) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	ends := make(chan ended, len(nodes))
	for _, node := range nodes {
		go func() { ends <- ended{node.Namespace(), node.Run(running)} }()
	}
	defer source.service.Watch(func() bool { return areAlive(nodes) })()
	s := stopping{app: a, nodes: nodes, stop: func() {
		source.came(source.service.Stopping())
		if source.onStop != nil {
			source.onStop()
		}
		stop()
	}}
	defer s.hurrying.Wait()
	var errs []error
	for left := len(nodes); left > 0; {
		select {
		case e := <-ends:
			left--
			err := e.err
			if s.told { // another error is about the node itself
				err = source.forgive(err)
			}
			if err != nil && len(nodes) > 1 {
				err = fmt.Errorf("the node of namespace %s: %w", output.OneLine(e.namespace), err)
			}
			errs = append(errs, err)
			if left > 0 && !s.told && err != nil { // without an error it was drained, and it alone
				s.failed(e.namespace)
			}
		case signal := <-a.Env.Signals:
			s.signal(ctx, signal)
		}
	}
	return errors.Join(errs...)
}

// stopping stops nodes in order, and then in a hurry.
type stopping struct {
	app   verbs
	nodes []*holdfast.Client
	stop  func() // tells all of them to stop

	told     bool // to stop
	hurried  bool
	hurrying sync.WaitGroup
}

// failed stops the nodes after one of them has failed.
func (s *stopping) failed(namespace string) {
	s.told = true
	s.app.Notef("The node of namespace %s has ended. Stopping the others: waiting for running jobs.", output.OneLine(namespace))
	s.stop()
}

// signal stops the nodes at the first signal, and their jobs at the second.
func (s *stopping) signal(ctx context.Context, signal os.Signal) {
	switch {
	case !s.told:
		s.told = true
		s.app.Notef("Stopping: waiting for running jobs. A second signal stops them now.")
		s.stop()
	case signal == syscall.SIGHUP || s.hurried: // a closing terminal may send it several times
	default:
		s.hurried = true
		s.app.Notef("Stopping now. Unfinished jobs run again.")
		s.app.Env.Release()
		over, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel()
		for _, node := range s.nodes {
			s.hurrying.Go(func() { _ = node.Stop(over) }) // Run tells how the node has ended
		}
	}
}
