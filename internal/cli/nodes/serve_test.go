package nodes

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/builtin"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stuck is a database that does not answer when nodes join, begin or leave.
type stuck struct {
	store.Source
	store.Store

	join, begin, leave bool
	asked              chan struct{} // closed by the first call
}

func (s stuck) Open(context.Context) (store.Store, error) {
	s.Store = model.New(time.Now)
	return s, nil
}

func (s stuck) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	close(s.asked)
	if s.join {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return s.Store.Join(ctx, info)
}

func (s stuck) AttemptsOfQueues(ctx context.Context, namespace string) (map[string]store.QueueAttempts, error) {
	if s.begin {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Store.AttemptsOfQueues(ctx, namespace)
}

func (s stuck) Leave(ctx context.Context, node int64) ([]store.Wake, error) {
	if s.leave {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Store.Leave(ctx, node)
}

// TestNodeStoppedInAHurry: a node that could not leave the cluster reports that, and one that had
// not begun reports nothing.
func TestNodeStoppedInAHurry(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		database stuck
		signals  int
		says     string
	}{
		"cannot join":               {stuck{join: true}, 1, ""},
		"cannot begin":              {stuck{begin: true}, 1, ""},
		"cannot leave, two signals": {stuck{leave: true}, 2, "could not sign off"},
		"cannot begin, nor leave":   {stuck{begin: true, leave: true}, 2, "could not sign off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			signals := make(chan os.Signal)
			a := verbs{app.New(app.Env{
				Stdout: io.Discard, Stderr: io.Discard, Terminal: func(any) bool { return false },
				Signals: signals, Release: func() {},
			})}
			test.database.asked = make(chan struct{})
			joined := make(chan struct{})
			source := &nodeSource{Source: test.database, onJoin: func() { close(joined) }}
			client, err := holdfast.Open(t.Context(), source, holdfast.WithLogger(app.Silent()))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.Close(context.Background()) })
			if err := builtin.RegisterHTTP(client); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- a.runNodes(t.Context(), []*holdfast.Client{client}, source) }()
			<-test.database.asked
			if !test.database.join {
				<-joined
			}
			for range test.signals {
				signals <- syscall.SIGTERM
			}
			got := ""
			if err := <-ended; err != nil {
				got = err.Error()
			}
			if got == "" != (test.says == "") || !strings.Contains(got, test.says) {
				t.Errorf("it says %q, want %q", got, test.says)
			}
		})
	}
}

// partly is a database where the nodes of one namespace cannot join.
type partly struct {
	store.Source
	store.Store

	denied string
	begun  chan struct{}  // closed: a job runs on another node
	others sync.WaitGroup // nodes of other namespaces that are to join
	left   atomic.Int64
}

var errDenied = errors.New("this role may not insert")

func (p *partly) Open(context.Context) (store.Store, error) {
	p.Store = model.New(time.Now)
	return p, nil
}

func (p *partly) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	if info.Namespace == p.denied {
		<-p.begun
		p.others.Wait() // one that has not joined has nothing to leave
		return 0, errDenied
	}
	defer p.others.Done()
	return p.Store.Join(ctx, info)
}

func (p *partly) Leave(ctx context.Context, node int64) ([]store.Wake, error) {
	p.left.Add(1)
	return p.Store.Leave(ctx, node)
}

// notes are what a command says; said is closed when it has.
type notes struct {
	strings.Builder

	said chan struct{}
}

func (n *notes) Write(data []byte) (int, error) {
	defer close(n.said)
	return n.Builder.Write(data)
}

// TestOneOfSeveralNodesFails: the failure is told with the namespace, and the other nodes stop in
// order: a job that runs completes.
func TestOneOfSeveralNodesFails(t *testing.T) {
	t.Parallel()
	stderr := &notes{said: make(chan struct{})}
	a := verbs{app.New(app.Env{
		Stdout: io.Discard, Stderr: stderr, Terminal: func(any) bool { return false }, Signals: make(chan os.Signal), Release: func() {},
	})}
	database := &partly{denied: "b", begun: make(chan struct{})}
	database.others.Add(2)
	source := &nodeSource{Source: database}
	client, err := holdfast.Open(t.Context(), source, holdfast.WithLogger(app.Silent()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	kind := holdfast.NewKind[int, int]("k")
	var nodes []*holdfast.Client
	for _, namespace := range []string{"a", "b", "c"} {
		node, err := client.In(namespace)
		if err != nil {
			t.Fatal(err)
		}
		err = kind.Handle(node, func(run *holdfast.Run, n int) (int, error) {
			close(database.begun)
			<-stderr.said
			return n, run.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, node)
	}
	job, err := kind.Enqueue(t.Context(), nodes[0], 7)
	if err != nil {
		t.Fatal(err)
	}
	err = a.runNodes(t.Context(), nodes, source)
	if !errors.Is(err, errDenied) || !strings.HasPrefix(err.Error(), "the node of namespace b: ") {
		t.Errorf("it says %v", err)
	}
	if want := "The node of namespace b has ended. Stopping the others: waiting for running jobs.\n"; stderr.String() != want {
		t.Errorf("it notes %q", stderr.String())
	}
	if n := database.left.Load(); n != 2 {
		t.Errorf("%d nodes have left in order", n)
	}
	if record, err := job.Get(t.Context()); err != nil || record.State != store.Completed {
		t.Errorf("the job is %s, %v", record.State, err)
	}
}
