package codec_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/codec"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	code := pgtest.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// keysOf draws keys with those names.
func keysOf(tb testing.TB, ids ...string) (keys []codec.Key) {
	tb.Helper()
	for _, id := range ids {
		k, err := codec.NewKey(id)
		if err != nil {
			tb.Fatal(err)
		}
		keys = append(keys, k)
	}
	return keys
}

// aes is codec.AES.
func aes(tb testing.TB, keys ...codec.Key) store.Codec {
	tb.Helper()
	c, err := codec.AES(keys...)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// open opens a client until the test ends.
func open(tb testing.TB, source store.Source, opts ...holdfast.Option) *holdfast.Client {
	tb.Helper()
	hf, err := holdfast.Open(tb.Context(), source, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := hf.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return hf
}

// start makes the client a node until the test ends, or stop is called.
func start(tb testing.TB, hf *holdfast.Client) {
	tb.Helper()
	if err := hf.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := hf.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
	})
}

// eventually waits for a condition.
func eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	late := time.NewTimer(5 * time.Minute)
	defer late.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !condition() {
		select {
		case <-look.C:
		case <-late.C:
			tb.Fatalf("%s: not within five minutes", what)
		}
	}
}

// lines is a log that counts what it was told.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}
