package mcp

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// transport is standard input and output.
type transport struct {
	in  io.Reader
	out io.Writer
}

// Connect is the connection to the client.
func (t *transport) Connect(ctx context.Context) (mcp.Connection, error) {
	out := &output{w: t.out}
	lines := &mcp.IOTransport{Reader: newLines(t.in, out), Writer: out, MaxLineLength: -1} // lines have a limit of their own
	c, err := lines.Connect(ctx)
	if err != nil {
		return nil, err
	}
	// An interrupt is an end at which nothing is awaited: the library cancels what is under way
	// when it reads the end, and not before.
	context.AfterFunc(ctx, func() { _ = c.Close() })
	return &connection{Connection: c, out: out, open: map[jsonrpc.ID]bool{}, idle: make(chan struct{}), over: ctx.Done()}, nil
}

// connection is one that ends when its input has ended and all requests are answered. The library
// cancels what is under way as soon as it is told of the end, and answers nothing any more; so it
// is told when there is nothing left to answer.
type connection struct {
	mcp.Connection

	out *output

	over <-chan struct{} // closed by an interrupt

	mu    sync.Mutex
	open  map[jsonrpc.ID]bool // requests that are not answered yet
	ended bool                // the input has
	idle  chan struct{}       // closed: it has ended, and no request is open; or the output has failed
	once  sync.Once
}

// listens is a request that is answered only when the client takes it back, or the connection ends.
const listens = "subscriptions/listen"

// Read reads the next message. A list of messages that cannot be taken apart is answered here.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Connection.Read(ctx)
		if err == nil {
			if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() && r.Method != listens {
				c.mu.Lock()
				c.open[r.ID] = true // one that is open has its own answer; its second one is refused without an id
				c.mu.Unlock()
			}
			return m, nil
		}
		var input *inputError
		switch {
		case errors.Is(err, io.EOF):
			c.await()
			return nil, err
		case ctx.Err() != nil, errors.As(err, &input):
			return nil, err
		}
		if err := c.out.refuse(nil, jsonrpc.CodeInvalidRequest, err); err != nil {
			return nil, err
		}
	}
}

// Write writes a message.
func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, r.ID)
		c.rest()
	}
	return err
}

// rest tells when there is nothing left to answer. The mutex is held.
func (c *connection) rest() {
	if c.ended && len(c.open) == 0 {
		c.once.Do(func() { close(c.idle) })
	}
}

// await waits after the end of the input until all requests are answered.
func (c *connection) await() {
	c.mu.Lock()
	c.ended = true
	c.rest()
	c.mu.Unlock()
	select {
	case <-c.idle:
	case <-c.over:
	}
}

// Close ends the connection, also if it is being awaited that all requests are answered, which an
// output that has failed does not let happen.
func (c *connection) Close() error {
	c.once.Do(func() { close(c.idle) })
	return c.Connection.Close()
}
