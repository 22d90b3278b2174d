package describe_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/build"
	"github.com/holdfastdev/holdfast/describe"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

type Mail struct {
	To      string `json:"to" description:"an address"`
	Subject string `json:"subject,omitempty"`
}

var sendMail = holdfast.NewKind[Mail, string]("send-mail")

var quiet = holdfast.WithLogger(slog.New(slog.DiscardHandler))

//nolint:gocritic // an example is as short as what it shows
func Example() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), quiet, describe.These(
		describe.Kind(sendMail, describe.Owner("mail team"), describe.Link("https://wiki/mail"),
			describe.Text("Sends one mail."), describe.Example(Mail{To: "ada@example.com"})),
		describe.Queue("mail", describe.Owner("mail team")),
	))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	if err := sendMail.Handle(hf, func(*holdfast.Run, Mail) (string, error) { return "sent", nil }); err != nil {
		log.Fatal(err)
	}
	if err := hf.Start(ctx); err != nil {
		log.Fatal(err)
	}
	told, err := describe.Get(ctx, hf, store.SubjectKind, "send-mail")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(told.Info.Owner, "at", told.Info.Link)
	fmt.Println(string(told.Info.Example))
	fmt.Println(strings.Count(string(told.Info.Args), `"required":["to"]`))
	// Output:
	// mail team at https://wiki/mail
	// {"to":"ada@example.com"}
	// 1
}

// start runs a node of a program once.
func start(t *testing.T, file, program string, tell ...describe.Descriptor) *holdfast.Client {
	t.Helper()
	hf, err := holdfast.Open(t.Context(), sqlite.File(file), quiet, build.As(program), describe.These(tell...))
	if err != nil {
		t.Fatal(err)
	}
	if err := sendMail.Handle(hf, func(*holdfast.Run, Mail) (string, error) { return "", nil }); err != nil {
		t.Fatal(err)
	}
	if err := hf.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hf.Close(context.WithoutCancel(t.Context())) })
	return hf
}

// TestWhatChanged: the same again leaves what there is; other words replace it, as they do in
// another namespace only there.
func TestWhatChanged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "holdfast.db")
	ctx := t.Context()
	get := func(hf *holdfast.Client) describe.Described {
		t.Helper()
		d, err := describe.Get(ctx, hf, store.SubjectKind, "send-mail")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	hf := start(t, file, "v1", describe.Kind(sendMail, describe.Owner("ada"), describe.Signals("stop"), describe.Updates("set")))
	first := get(hf)
	if first.Build.Program != "v1" || first.Info.Owner != "ada" || first.Info.Signals[0] != "stop" || first.Info.Updates[0] != "set" {
		t.Errorf("%+v", first)
	}
	again := get(start(t, file, "v2", describe.Kind(sendMail, describe.Owner("ada"), describe.Signals("stop"), describe.Updates("set"))))
	if again.Build.Program != "v1" || !again.At.Equal(first.At) {
		t.Errorf("the same was told again, and is %+v", again)
	}
	other := get(start(t, file, "v3", describe.Kind(sendMail, describe.Owner("bob"), describe.Deprecated("use send-mails"))))
	if other.Build.Program != "v3" || other.Info.Owner != "bob" || other.Info.Signals != nil || other.Info.Deprecated == "" {
		t.Errorf("%+v", other)
	}
	elsewhere, err := hf.In("elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := describe.Get(ctx, elsewhere, store.SubjectKind, "send-mail"); !errors.Is(err, holdfast.ErrNotFound) {
		t.Errorf("in a namespace without a node: %v", err)
	}
	if list, err := describe.List(ctx, hf, store.SubjectKind, "", 10); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	for _, want := range []bool{true, false} {
		if was, err := describe.Forget(ctx, hf, store.SubjectKind, "send-mail"); err != nil || was != want {
			t.Errorf("forgotten: %v, %v, want %v", was, err, want)
		}
	}
}

// TestLinks: people follow links from pages that they trust, so only what a browser opens, or mails
// to, is one.
func TestLinks(t *testing.T) {
	for link, fits := range map[string]bool{
		"https://wiki/mail": true, "http://wiki:8080/mail?a=b#c": true, "HTTPS://wiki/mail": true, "mailto:mail@example.com": true, "": true,
		"javascript:alert(1)": false, "\x01javascript:alert(1)": false, "java\tscript:alert(1)": false, "data:text/html,x": false,
		"file:///etc/passwd": false, "wiki/mail": false, "//wiki/mail": false, "/jobs": false, "https:": false, "https:///mail": false,
		"https:mail": false, "mailto:": false, "https://wiki/%zz": false,
	} {
		hf, err := holdfast.Open(t.Context(), sqlite.File(sqlite.Memory), quiet, describe.These(describe.Queue("mail", describe.Link(link))))
		if fits != (err == nil) || !fits && (!errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), "https://")) {
			t.Errorf("%q: %v", link, err)
		}
		if err == nil {
			_ = hf.Close(t.Context())
		}
	}
}

// TestStoredLinks: what is stored already is told as it is: who shows it looks at it again.
func TestStoredLinks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "holdfast.db")
	hf := start(t, file, "v1")
	s, err := sqlite.File(file).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const link = "javascript:alert(1)"
	told := store.Descriptor{Namespace: hf.Namespace(), Subject: store.SubjectQueue, Name: "mail", Data: []byte(`{"link":"` + link + `"}`)}
	if _, err := s.Describe(t.Context(), []store.Descriptor{told}, "ada"); err != nil {
		t.Fatal(err)
	}
	if got, err := describe.Get(t.Context(), hf, store.SubjectQueue, "mail"); err != nil || got.Info.Link != link {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestInvalid(t *testing.T) {
	for what, tell := range map[string][]describe.Descriptor{
		"an example that is no JSON": {describe.Kind(sendMail, describe.Example(func() {}))},
		"a name":                     {describe.Queue("")},
		"a kind":                     {describe.Kind(holdfast.NewKind[int, int]("a@b"))},
		"twice":                      {describe.Queue("mail"), describe.Queue("mail")},
		"too long":                   {describe.Queue("mail", describe.Text(strings.Repeat("a", store.MostDescriptorBytes)))},
	} {
		hf, err := holdfast.Open(t.Context(), sqlite.File(sqlite.Memory), quiet, describe.These(tell...))
		if !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
		if err == nil {
			_ = hf.Close(t.Context())
		}
	}
	hf, err := holdfast.Open(t.Context(), sqlite.File(sqlite.Memory), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer hf.Close(context.WithoutCancel(t.Context()))
	if _, err := describe.Get(t.Context(), hf, store.SubjectKind, ""); !errors.Is(err, holdfast.ErrInvalid) {
		t.Error(err)
	}
	if _, err := describe.Forget(t.Context(), hf, store.SubjectKind, ""); !errors.Is(err, holdfast.ErrInvalid) {
		t.Error(err)
	}
}
