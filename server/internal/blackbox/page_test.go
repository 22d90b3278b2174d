package blackbox

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// shell is a bash that is given one command after the other.
type shell struct {
	*testing.T

	in  io.Writer
	out *bufio.Reader
}

func newShell(t *testing.T) *shell {
	t.Helper()
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s", program)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr, cmd.Env = t.Output(), environ()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // what it has printed tells of errors
	})
	return &shell{T: t, in: in, out: bufio.NewReader(out)}
}

// run runs a command, and returns what it has printed.
func (s *shell) run(command string) string {
	s.Helper()
	const end = "the command has ended"
	if _, err := io.WriteString(s.in, command+"\necho; echo '"+end+"'\n"); err != nil {
		s.Fatal(err)
	}
	var b strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.Fatalf("after %s: %v", command, err)
		}
		if strings.TrimSpace(line) == end {
			return strings.TrimSpace(b.String())
		}
		b.WriteString(line)
	}
}

// varies are ids and times, which are others each time.
var varies = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[0-9:.]+Z`)

// begun is an id of which a page has only the beginning.
var begun = regexp.MustCompile(`[0-9a-f]{8}-…`)

// pattern matches what a page says that a command prints: other ids and times, the same ones where
// the page has the same, and anything for "…".
func pattern(said string) (matches *regexp.Regexp, values []string) {
	var b strings.Builder
	b.WriteString(`^`)
	said = begun.ReplaceAllString(said, "…")
	for at := 0; at <= len(said); {
		next := varies.FindStringIndex(said[at:])
		if next == nil {
			next = []int{len(said) - at, len(said) - at}
		}
		text := regexp.QuoteMeta(said[at : at+next[0]])
		b.WriteString(strings.ReplaceAll(text, "…", `.*`))
		if next[0] == next[1] {
			break
		}
		values = append(values, said[at+next[0]:at+next[1]])
		b.WriteString(`([0-9a-fTZ:.-]+)`)
		at += next[1]
	}
	b.WriteString(`$`)
	return regexp.MustCompile(b.String()), values
}

// play runs the commands of a block of a page, and compares what they print. Ids and times of the
// page are those that were printed in their place, in later commands, too. It returns how many
// commands there were.
func (s *shell) play(block string, of map[string]string) (commands int) {
	s.Helper()
	lines := strings.Split(block, "\n")
	for i, line := range lines {
		command, is := strings.CutPrefix(line, "$ ")
		if !is || strings.HasPrefix(command, "TOKEN=") {
			continue
		}
		for page, now := range of {
			command = strings.ReplaceAll(command, page, now)
		}
		got, want := s.run(command), ""
		if i+1 < len(lines) && !strings.HasPrefix(lines[i+1], "$ ") {
			want = lines[i+1]
		}
		commands++
		matches, values := pattern(want)
		found := matches.FindStringSubmatch(got)
		if found == nil {
			s.Errorf("%s\nprints\n%s\nand the page says\n%s", command, got, want)
			continue
		}
		for k, value := range values {
			of[value] = found[1+k]
		}
	}
	return commands
}

// TestThePageOfWorkers: what docs/workers.md does by hand does what it says.
//
//nolint:tparallel // onBoth calls it
func TestThePageOfWorkers(t *testing.T) {
	text, err := os.ReadFile("../../../docs/workers.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for i, part := range strings.Split(string(text), "\n```") {
		if i%2 == 1 && strings.Contains(part, "\n$ ") && !strings.Contains(part, "$ holdfast dev") {
			blocks = append(blocks, strings.ReplaceAll(part, "http://127.0.0.1:8233", "$URL"))
		}
	}
	if len(blocks) != 3 {
		t.Fatalf("the page has %d blocks of commands", len(blocks))
	}
	onBoth(t, func(s *server) {
		secret, _ := s.key("admin", "--role", "admin")
		sh, of := newShell(s.T), map[string]string{}
		sh.run("URL=" + s.url + " TOKEN=" + secret)
		commands := sh.play(blocks[0], of)
		// The second ends the run of another worker.
		sh.run(`api /jobs '{"kind":"mail"}'; WORKER=$(api /workers '{"name":"again","kinds":["mail"],"slots":1}' | get worker)`)
		sh.run(`LEASE=$(api "/workers/$WORKER/poll?wait=30s" '{"want":1,"seq":1}' | get lease)`)
		commands += sh.play(blocks[1], of) + sh.play(blocks[2], of)
		if commands < 20 {
			s.Errorf("the page has %d commands", commands)
		}
	})
}
