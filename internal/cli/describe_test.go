package cli

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/describe"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestDescribed: what code tells of kinds and queues is shown, and forgotten.
func TestDescribed(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.ok("migrate", "up")
	source := sqlite.File(s.db)
	type mail struct {
		To       string `json:"to"`
		Password string `json:"password"`
	}
	kind := holdfast.NewKind[mail, int]("send-mail")
	hf, err := holdfast.Open(t.Context(), source, describe.These(
		describe.Kind(kind, describe.Owner("mail team"), describe.Example(mail{To: "ada", Password: "hunter2"})),
		describe.Queue("letters", describe.Link("https://wiki/letters")),
		describe.Queue("parcels", describe.Link("https://wiki/parcels")),
	), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	if err := kind.Handle(hf, func(*holdfast.Run, mail) (int, error) { return 0, nil }); err != nil {
		t.Fatal(err)
	}
	if err := hf.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := hf.PauseQueue(t.Context(), "letters"); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Nodes      []string
		Descriptor *struct {
			Owner string
			Args  map[string]any
		}
	}
	s.decode(s.ok("kind", "get", "send-mail", "-o", "json"), &got)
	if got.Descriptor == nil || got.Descriptor.Owner != "mail team" || len(got.Nodes) != 1 || got.Descriptor.Args["$ref"] != "#/$defs/mail" {
		t.Errorf("%+v", got)
	}
	out := s.ok("kind", "get", "send-mail", "-o", "table")
	s.holds(out, "mail team", `"to":"ada"`, "JSON Schema of the args:", `"password": {`)
	if strings.Contains(out+s.ok("kind", "get", "send-mail", "-o", "json"), "hunter2") {
		t.Errorf("a secret is shown: %s", out)
	}
	s.holds(s.ok("queue", "get", "letters", "-o", "table"), "https://wiki/letters")
	s.holds(s.ok("queue", "get", "parcels", "-o", "table"), "parcels", "https://wiki/parcels") // which has had no job
	s.expect(s.run("queue", "get", "none"), 1, "no such queue")
	s.holds(s.ok("queue", "get", "letters", "-o", "json"), "https://wiki/letters")
	s.expect(s.run("kind", "get", "none"), 1, `kind "none" of namespace "default" is not known`)
	if err := hf.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	s.holds(s.ok("kind", "list", "-o", "table"), "send-mail") // though nobody serves it
	s.holds(s.ok("kind", "forget", "send-mail", "none", "-o", "table"),
		"forgot what code has told of kind send-mail", "nothing is told of kind none")
	s.expect(s.run("kind", "get", "send-mail"), 1, "is not known")
	s.ok("queue", "resume", "letters")
	s.ok("queue", "delete", "letters")
	if hf, err = holdfast.Open(t.Context(), source, holdfast.WithLogger(slog.New(slog.DiscardHandler))); err != nil {
		t.Fatal(err)
	}
	defer hf.Close(context.WithoutCancel(t.Context()))
	if _, err := describe.Get(t.Context(), hf, store.SubjectQueue, "letters"); !errors.Is(err, holdfast.ErrNotFound) {
		t.Errorf("what is told of a queue outlives it: %v", err)
	}
}
