//go:build unix

package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// assistant speaks with a "holdfast mcp" in a process of its own, line by line.
type assistant struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
	last  int
}

// answered is an answer of the protocol.
type answered struct {
	ID     int `json:"id"`
	Result struct {
		ProtocolVersion string `json:"protocolVersion"` //nolint:tagliatelle // the name is not ours
		Tools           []struct {
			Name string `json:"name"`
		} `json:"tools"`
		IsError           bool            `json:"isError"`           //nolint:tagliatelle // the name is not ours
		StructuredContent json.RawMessage `json:"structuredContent"` //nolint:tagliatelle // the name is not ours
		Content           []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"result"`
	Error *struct {
		Code int `json:"code"`
	} `json:"error"`
}

func assist(t *testing.T, env []string, args ...string) *assistant {
	t.Helper()
	a := &assistant{t: t, cmd: exec.Command(binary(t), append([]string{"mcp"}, args...)...)}
	a.cmd.Env = append(a.cmd.Environ(), env...)
	stderr := &buffer{}
	a.cmd.Stderr = stderr
	var err error
	if a.in, err = a.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	a.lines = bufio.NewScanner(out)
	a.lines.Buffer(nil, 16<<20)
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = a.cmd.Process.Kill()
		_ = a.cmd.Wait()
		if t.Failed() {
			t.Logf("it wrote %s", stderr)
		}
	})
	return a
}

func (a *assistant) say(line string) {
	a.t.Helper()
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		a.t.Fatal(err)
	}
}

// ask makes a request and returns its answer.
func (a *assistant) ask(method, params string) answered {
	a.t.Helper()
	a.last++
	id, err := json.Marshal(a.last)
	if err != nil {
		a.t.Fatal(err)
	}
	a.say(`{"jsonrpc":"2.0","id":` + string(id) + `,"method":"` + method + `","params":` + params + `}`)
	for a.lines.Scan() {
		var got answered
		if err := json.Unmarshal(a.lines.Bytes(), &got); err != nil {
			a.t.Fatalf("%v: %s", err, a.lines.Bytes())
		}
		if got.ID == a.last {
			return got
		}
	}
	a.t.Fatalf("no answer to %s: %v", method, a.lines.Err())
	return answered{}
}

func (a *assistant) begin(version string) {
	a.t.Helper()
	got := a.ask("initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	if got.Result.ProtocolVersion != version {
		a.t.Errorf("it speaks %q, and was asked for %q", got.Result.ProtocolVersion, version)
	}
	a.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// call calls a tool; want is in what it answers.
func (a *assistant) call(tool, arguments string, refused bool, want string) {
	a.t.Helper()
	got := a.ask("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
	r := got.Result
	if got.Error != nil || r.IsError != refused || len(r.Content) != 1 || !strings.Contains(r.Content[0].Text, want) {
		a.t.Errorf("%s %s: %+v, want %q", tool, arguments, got, want)
		return
	}
	if text := r.Content[0].Text; strings.HasPrefix(text, "{") {
		var said, structured any
		if json.Unmarshal([]byte(text), &said) != nil || json.Unmarshal(r.StructuredContent, &structured) != nil || !cmp.Equal(said, structured) {
			a.t.Errorf("%s: the structured content is %s, the text %s", tool, r.StructuredContent, text)
		}
	}
}

// tools are the names of the tools.
func (a *assistant) tools() string {
	a.t.Helper()
	var names strings.Builder
	for _, tool := range a.ask("tools/list", `{}`).Result.Tools {
		names.WriteString(" " + tool.Name + " ")
	}
	return names.String()
}

// end closes standard input, at which the command ends.
func (a *assistant) end() {
	a.t.Helper()
	_ = a.in.Close()
	ended := make(chan error, 1)
	go func() {
		_, _ = io.Copy(io.Discard, nothing{a.lines})
		ended <- a.cmd.Wait()
	}()
	select {
	case err := <-ended:
		if err != nil {
			a.t.Errorf("it ended with %v", err)
		}
	case <-time.After(time.Minute):
		a.t.Error("it does not end with its input")
	}
}

// nothing reads the lines that are left.
type nothing struct{ lines *bufio.Scanner }

func (n nothing) Read([]byte) (int, error) {
	for n.lines.Scan() {
		continue
	}
	return 0, io.EOF
}

const secretArgs = `{"body":{"kind":"http","args":{"url":"http://secret.example/"}}}`

// TestAssistant: the tools on a database, each way to start them.
func TestAssistant(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	s.ok("job", "enqueue", "http", "--args", `{"url":"http://secret.example/"}`)
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18"} {
		a := assist(t, nil, "--database", s.db)
		a.begin(version)
		if names := a.tools(); !strings.Contains(names, " job-list ") || strings.Contains(names, " job-enqueue ") {
			t.Errorf("the tools are %s", names)
		}
		a.call("job-list", `{}`, false, `"args":{"hidden":"payloads:read"}`)
		a.call("job-get", `{"id":"0198c0de-7b1c-7d3a-9f00-0123456789ab"}`, true, `"code":"not_found"`)
		a.call("job-list", `{"limit":100000}`, true, `"status":422`)
		a.call("job-list", `{"x":1}`, true, "no argument")
		if got := a.ask("tools/call", `{"name":"job-enqueue","arguments":`+secretArgs+`}`); got.Error == nil {
			t.Errorf("a tool that is not there answers %+v", got)
		}
		a.end()
	}
	a := assist(t, nil, "--database", s.db, "--payloads", "--allow-writes", "--redact", "url")
	a.begin("2025-06-18")
	a.call("job-enqueue", secretArgs, false, `"id"`)
	a.call("job-enqueue", `{"body":{"kind":"exec","args":{"command":["true"]}}}`, true, `"code":"forbidden"`)
	a.call("queue-pause", `{"queue":"default"}`, false, "")
	a.call("job-list", `{"limit":1}`, false, `"kind":"http"`)
	if got := a.ask("tools/call", `{"name":"job-list","arguments":{}}`); strings.Contains(got.Result.Content[0].Text, "secret") {
		t.Errorf("what --redact hides is shown: %+v", got)
	}
	a.end()
}

// TestAssistantAndAServer: on a server the token counts, and an outage is an error of a tool.
func TestAssistantAndAServer(t *testing.T) {
	t.Parallel()
	dir, address := t.TempDir(), freeAddress(t)
	token := app.EnvToken + "=let-me-in-for-this-test-0123456789"
	running := startNode(t, dir, exec.Command("env", token, binary(t), "server", "--database", "jobs.db", "--listen", address))
	a := assist(t, []string{token}, "--server", "http://"+address, "--allow-writes")
	a.begin("2025-06-18")
	a.call("job-enqueue", secretArgs, false, `"id"`)
	a.call("job-list", `{}`, false, "secret.example")
	b := assist(t, []string{app.EnvToken + "=another"}, "--server", "http://"+address)
	b.begin("2025-06-18")
	b.call("job-list", `{}`, true, `"code":"unauthenticated"`)
	if err := running.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = running.cmd.Wait()
	a.call("job-list", `{}`, true, "refused")
	a.end()
	b.end()
}

// TestAssistantThatSpeaksNonsense: lines that are no requests are answered with errors, and end
// nothing but themselves.
func TestAssistantThatSpeaksNonsense(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	a := assist(t, nil, "--database", s.db)
	a.begin("2025-06-18")
	for line, code := range map[string]int{
		"hello": -32700, "\x00\xff": -32700, strings.Repeat("[", 100_000): -32700, "{}": -32600, "[]": -32600, "null": -32600,
		`{"jsonrpc":"1.0","id":1,"method":"x"}`: -32600, `{"jsonrpc":"2.0","id":{},"method":"tools/list"}`: -32600,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + strings.Repeat("x", 1<<20) + `"}}`: -32602,
	} {
		a.say(line)
		var got answered
		if !a.lines.Scan() || json.Unmarshal(a.lines.Bytes(), &got) != nil || got.Error == nil || got.Error.Code != code {
			t.Errorf("%.60q: %s, want the code %d", line, a.lines.Bytes(), code)
		}
		a.call("queue-list", `{}`, false, `"items"`)
	}
	a.call("job-list", `[1]`, true, "arguments")
	a.end()
}

// TestAssistantWhoseInputEnds: a script may give all of its requests at once, and has all answers.
func TestAssistantWhoseInputEnds(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	var job struct{ ID string }
	s.decode(s.ok("job", "enqueue", "mail", "-o", "json"), &job)
	cmd := exec.Command(binary(t), "mcp", "--database", s.db, "--payloads")
	cmd.Stdin = strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
			`"clientInfo":{"name":"test","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"job-result","arguments":{"id":"` + job.ID + `","wait":"1s"}}}` + "\n" +
			`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var ids []int
	for line := range strings.Lines(string(out)) {
		var got answered
		if err := json.Unmarshal([]byte(line), &got); err != nil || got.Error != nil {
			t.Errorf("%v: %.200s", err, line)
		}
		if ids = append(ids, got.ID); got.ID == 2 && (len(got.Result.Content) != 1 || !strings.Contains(got.Result.Content[0].Text, job.ID)) {
			t.Errorf("the job that was waited for: %s", line)
		}
	}
	if want := []int{1, 3, 2}; !cmp.Equal(ids, want) { // the list does not wait for the job
		t.Errorf("answered were %v, want %v", ids, want)
	}
}

// TestAssistantInProduction: what changes nothing is not asked about, and what may is not done.
func TestAssistantInProduction(t *testing.T) {
	t.Parallel()
	s := withContexts(t)
	s.ok("context", "set", "prod", "--database", filepath.Join(s.dir, "one.db"), "--production")
	s.expect(s.run("mcp", "--context", "prod", "--allow-writes"), app.ExitUsage, "production", "--yes")
	s.ok("mcp", "--context", "prod")
	s.ok("mcp", "--context", "prod", "--allow-writes", "--yes")
}
