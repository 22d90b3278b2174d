package cli

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// notified listens for what systemd is told.
func notified(t *testing.T, path string) <-chan string {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	told := make(chan string, 10_000)
	go func() {
		defer close(told)
		for data := make([]byte, 100); ; {
			n, err := c.Read(data)
			if err != nil {
				return
			}
			told <- string(data[:n])
		}
	}()
	return told
}

// next is what systemd is told next.
func next(t *testing.T, told <-chan string) string {
	t.Helper()
	select {
	case state := <-told:
		return state
	case <-time.After(time.Minute):
		t.Fatal("systemd is told nothing")
		return ""
	}
}

// TestSystemd: systemd is told when all nodes of a process have joined, that they live as long as
// they do, and that they stop.
func TestSystemd(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	dir, err := os.MkdirTemp("", "notify") //nolint:usetesting // a socket's name has to be short, and the test's is in that
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	told := notified(t, path)
	s.env["NOTIFY_SOCKET"], s.env["WATCHDOG_USEC"] = path, "40000"
	n := s.start("worker", "--namespace", "shop,billing")
	seen := map[string]int{}
	for seen["READY=1"] == 0 || seen["WATCHDOG=1"] < 3 {
		seen[next(t, told)]++
	}
	n.stop(t)
	for seen["STOPPING=1"] == 0 || len(told) > 0 {
		seen[next(t, told)]++
	}
	if seen["READY=1"] != 1 || seen["STOPPING=1"] != 1 || len(seen) != 3 {
		t.Errorf("systemd was told %v", seen)
	}
	s.env["NOTIFY_SOCKET"] = filepath.Join(dir, "none")
	n = s.start("worker")
	until(t, "the word that systemd is not there", func() bool { return strings.Contains(n.stderr.String(), "systemd cannot be told") })
	n.stop(t)
	path = filepath.Join(dir, "another") // what the first worker has told last may still be on its way
	told = notified(t, path)
	s.env["NOTIFY_SOCKET"], s.env["WATCHDOG_PID"] = path, "1"
	n = s.start("worker")
	n.stop(t)
	for state := ""; state != "STOPPING=1"; {
		if state = next(t, told); state == "WATCHDOG=1" {
			t.Error("another process is watched")
		}
	}
}
