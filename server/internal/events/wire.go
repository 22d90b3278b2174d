package events

import (
	"bytes"
	"net/http"
	"time"
)

// wire is the way to a reader. What it is given is sent when it is flushed, or is much.
type wire struct {
	format

	w      http.ResponseWriter
	socket *http.ResponseController
	buf    bytes.Buffer
}

// sendAt is how many bytes are sent without waiting for more.
const sendAt = 4 << 10

func newWire(w http.ResponseWriter, f format) *wire {
	return &wire{format: f, w: w, socket: http.NewResponseController(w)}
}

// open sends the head of the answer.
func (w *wire) open() {
	h := w.w.Header()
	h.Set("Content-Type", w.media)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // of proxies
	// The request was read long before the stream ends.
	_ = w.socket.SetReadDeadline(time.Time{}) // a writer that has none needs none
	w.w.WriteHeader(http.StatusOK)
}

// add adds a frame.
func (w *wire) add(f *frame) error {
	if err := w.frame(&w.buf, f); err != nil {
		return err
	}
	if w.buf.Len() < sendAt {
		return nil
	}
	return w.flush()
}

// pulse sends a heartbeat.
func (w *wire) pulse() error {
	w.beat(&w.buf)
	return w.flush()
}

// flush sends what was added. It fails if the reader does not take it in time.
func (w *wire) flush() error {
	_ = w.socket.SetWriteDeadline(time.Now().Add(writeWait)) // as above
	if _, err := w.w.Write(w.buf.Bytes()); err != nil {
		return err
	}
	w.buf.Reset()
	return w.socket.Flush()
}
