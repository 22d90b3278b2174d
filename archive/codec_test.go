package archive_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/archive"
	"github.com/holdfastdev/holdfast/codec"
	"github.com/holdfastdev/holdfast/maintain"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestWhatIsEncryptedIsArchivedSo: by a node that has the key, and by one that lacks it. Nothing is
// plain in the files, and nothing is lost.
func TestWhatIsEncryptedIsArchivedSo(t *testing.T) {
	ctx := t.Context()
	key, err := codec.NewKey("k1")
	if err != nil {
		t.Fatal(err)
	}
	aes, err := codec.AES(key)
	if err != nil {
		t.Fatal(err)
	}
	kind := holdfast.NewKind[string, string]("letter")
	open := func(file string, opts ...holdfast.Option) *holdfast.Client {
		c, err := holdfast.Open(ctx, sqlite.File(file), append(opts, holdfast.WithLogger(slog.New(slog.DiscardHandler)))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		return c
	}
	for name, opts := range map[string][]holdfast.Option{"with the key": {codec.With(aes)}, "without": nil} {
		file, dir := filepath.Join(t.TempDir(), "h.db"), t.TempDir()
		c := open(file, codec.With(aes))
		err := kind.Handle(c, func(run *holdfast.Run, secret string) (string, error) {
			run.Logger(nil).Info("logged", "what", secret)
			return holdfast.Step(run, "step", func(context.Context) (string, error) { return "step " + secret, nil })
		})
		if err == nil {
			err = c.Start(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		job, err := kind.Enqueue(ctx, c, "marker")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := job.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(ctx); err != nil { // its lines are kept by then
			t.Fatal(err)
		}
		old := open(file, append(opts, archive.To(archive.Dir(dir)), holdfast.WithRetention(store.Retention{Completed: time.Microsecond}))...)
		if r, err := maintain.Once(ctx, old, time.Minute, maintain.Retain); err != nil || r.Removed != 1 {
			t.Fatalf("%s: %+v, error %v", name, r, err)
		}
		files, err := archive.Files(dir)
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: files %v, error %v", name, files, err)
		}
		f, err := os.Open(files[0])
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := 0
		err = archive.Read(f, func(j *archive.Job) error {
			lines++
			if j.Job.Codec != store.SealedCodec || bytes.Contains(j.Job.Args, []byte("marker")) || len(j.Logs) != 1 || j.Logs[0].Lines != nil {
				t.Errorf("%s: it is plain: %+v", name, j)
			}
			j.Decode(ctx, aes)
			if string(j.Job.Args) != `"marker"` || j.Job.Codec != 0 || string(j.Job.Result) != `"step marker"` || j.Journal == nil ||
				!bytes.Contains(j.Journal.Entries[0].Data, []byte("step marker")) ||
				len(j.Logs[0].Lines) != 1 || !strings.Contains(j.Logs[0].Lines[0], "marker") {
				t.Errorf("%s: it was not decoded: %+v %+v", name, j, j.Journal)
			}
			return nil
		})
		if err != nil || lines != 1 {
			t.Errorf("%s: %d lines, error %v", name, lines, err)
		}
	}
}
