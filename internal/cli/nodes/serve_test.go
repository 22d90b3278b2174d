package nodes

import (
	"context"
	"io"
	"os"
	"strings"
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

// stuck is a database that does not answer when nodes join or leave.
type stuck struct {
	store.Source
	store.Store

	join, leave bool
	asked       chan struct{} // closed by the first call
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

func (s stuck) Leave(ctx context.Context, node int64) ([]store.Wake, error) {
	if s.leave {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Store.Leave(ctx, node)
}

// TestNodeStoppedInAHurry: a node that could not leave the cluster reports that, and one that had
// not joined reports nothing.
func TestNodeStoppedInAHurry(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		database stuck
		signals  int
		says     string
	}{
		"cannot join":               {stuck{join: true}, 1, ""},
		"cannot leave, two signals": {stuck{leave: true}, 2, "could not sign off"},
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
			go func() { ended <- a.runNode(t.Context(), client, source) }()
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
