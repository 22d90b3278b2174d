package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// peer is a client of a server that has the tools "slow", which answers when it is let, and
// "quick".
type peer struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *io.PipeReader
	lines  chan string   // of out; closed at its end
	began  chan struct{} // slow has
	let    chan struct{} // closed: slow answers
	undone chan struct{} // slow was cancelled
	stop   context.CancelFunc
	ended  chan error
}

func newPeer(t *testing.T) *peer {
	t.Helper()
	inRead, in := io.Pipe()
	outPipe, out := io.Pipe()
	p := &peer{
		t: t, in: in, out: outPipe, lines: make(chan string, 99),
		began: make(chan struct{}, 9), let: make(chan struct{}), undone: make(chan struct{}, 9), ended: make(chan error, 1),
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	tool := func(name string, work func(context.Context)) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				work(ctx)
				return &mcp.CallToolResult{}, nil
			})
	}
	tool("quick", func(context.Context) {})
	tool("slow", func(ctx context.Context) {
		p.began <- struct{}{}
		select {
		case <-p.let:
		case <-ctx.Done():
			p.undone <- struct{}{}
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	p.stop = stop
	go func() {
		p.ended <- s.Run(ctx, &transport{in: inRead, out: out})
		_ = out.Close()
	}()
	go func() {
		for lines := bufio.NewScanner(outPipe); lines.Scan(); {
			p.lines <- lines.Text()
		}
		close(p.lines)
	}()
	t.Cleanup(func() {
		stop()
		_ = in.Close()
		_ = outPipe.Close()
	})
	return p
}

func (p *peer) say(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(p.in, line+"\n"); err != nil {
			p.t.Fatal(err)
		}
	}
}

// reply is the id of the next answer, and its code: 0 if it is no error.
type reply struct {
	ID   string
	Code int
}

func (p *peer) hear() reply {
	p.t.Helper()
	line, ok := <-p.lines
	if !ok {
		p.t.Fatal("there is no answer, and the output has ended")
	}
	return replyOf(p.t, line)
}

func replyOf(t *testing.T, text string) reply {
	t.Helper()
	var r struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.Version != "2.0" || (r.Error.Code == 0) != (r.Error.Message == "") {
		t.Fatalf("%v: %s", err, text)
	}
	return reply{string(r.ID), r.Error.Code}
}

func call(id, tool string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":{}}}`
}

func (p *peer) begin() {
	p.t.Helper()
	p.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"test","version":"1"}}}`)
	if got := p.hear(); got != (reply{"0", 0}) {
		p.t.Fatalf("%+v", got)
	}
	p.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// TestLinesThatAreNoMessages: each is answered by itself, and the next request as if it had not
// been.
func TestLinesThatAreNoMessages(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	p.begin()
	for line, want := range map[string]reply{
		"hello":                                 {"null", -32700},
		"{":                                     {"null", -32700},
		"\x00\xff":                              {"null", -32700},
		call("7", "quick") + call("8", "x"):     {"null", -32700},
		strings.Repeat("[", 100_000):            {"null", -32700},
		"[" + strings.Repeat(" ", maxLine):      {"null", -32700},
		"null":                                  {"null", -32600},
		"7":                                     {"null", -32600},
		"{}":                                    {"null", -32600},
		"[]":                                    {"null", -32600},
		"[1]":                                   {"null", -32600},
		`{"jsonrpc":"1.0","id":5,"method":"x"}`: {"5", -32600},
		`{"jsonrpc":"1.0","id":"a","method":"x"}`:         {`"a"`, -32600},
		`{"jsonrpc":"2.0","id":{},"method":"tools/list"}`: {"null", -32600},
		`{"jsonrpc":"2.0","id":6,"method":"no/such"}`:     {"6", -32601},
	} {
		p.say(line, "", " \r")
		if got := p.hear(); got != want {
			t.Errorf("%.60q: %+v, want %+v", line, got, want)
		}
		p.say("  " + call("1", "quick") + " \r")
		if got := p.hear(); got != (reply{"1", 0}) {
			t.Errorf("after %.60q: %+v", line, got)
		}
	}
	_ = p.in.Close()
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
}

// TestInputEnds: what is under way is answered, also what was in the last line, which has no end;
// what no one can answer is not awaited.
func TestInputEnds(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	p.begin()
	p.say(call("1", "slow"), call("2", "slow"), `{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{}}`)
	<-p.began
	<-p.began
	if _, err := io.WriteString(p.in, call("4", "quick")); err != nil {
		t.Fatal(err)
	}
	_ = p.in.Close()
	got := map[reply]bool{}
	for !got[reply{"4", 0}] { // the end has been read when the last line is
		got[p.hear()] = true
	}
	close(p.let)
	for line := range p.lines {
		got[replyOf(t, line)] = true
	}
	for id := range got {
		if id.ID == "3" { // refused or not answered, as the library has it
			delete(got, id)
		}
	}
	want := map[reply]bool{{"1", 0}: true, {"2", 0}: true, {"4", 0}: true}
	if err := <-p.ended; err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v, %v", err, got)
	}
}

// TestInterrupted: an interrupt cancels what is under way, before and after the end of the input.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, ended := range []bool{false, true} {
		p := newPeer(t)
		p.begin()
		p.say(call("1", "slow"))
		<-p.began
		if ended {
			_ = p.in.Close()
		}
		p.stop()
		<-p.undone
		if err := <-p.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}

// TestOutputFails: a client that has gone is awaited no longer.
func TestOutputFails(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	p.begin()
	p.say(call("1", "slow"), call("2", "slow"))
	<-p.began
	<-p.began
	_ = p.out.Close()
	_ = p.in.Close()
	close(p.let)
	if err := <-p.ended; errors.Is(err, context.Canceled) {
		t.Errorf("it has waited for an interrupt: %v", err)
	}
}
