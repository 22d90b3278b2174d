//go:build unix

package crashtest

import "testing"

// freeze stops the process and reports whether that can be done here.
func (w *worker) freeze(t *testing.T) bool {
	t.Helper()
	if err := w.Freeze(); err != nil {
		t.Fatal(err)
	}
	return true
}

func (w *worker) thaw(t *testing.T) {
	t.Helper()
	if err := w.Thaw(); err != nil {
		t.Fatal(err)
	}
}
