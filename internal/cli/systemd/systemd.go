// Package systemd tells systemd how the service does that it has started: that it is ready, that it
// stops, and that it is alive, each as a datagram to the socket of the variable NOTIFY_SOCKET
// (sd_notify). Without the variable nothing is told.
//
// # Imports
//
// None of ours.
package systemd

import (
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

// Notifier tells systemd how the service does. The zero value tells nothing.
type Notifier struct {
	socket string
	every  time.Duration // half of the time after which systemd takes a silent service for dead; 0: it does not
}

// New returns the Notifier of an environment.
func New(lookup func(string) (string, bool)) Notifier {
	var n Notifier
	n.socket, _ = lookup("NOTIFY_SOCKET")
	if pid, of := lookup("WATCHDOG_PID"); of && pid != strconv.Itoa(os.Getpid()) {
		return n // it watches another process
	}
	text, _ := lookup("WATCHDOG_USEC")
	if usec, err := strconv.ParseInt(text, 10, 64); err == nil && usec > 1 {
		n.every = time.Duration(usec) * time.Microsecond / 2
	}
	return n
}

// Ready tells that the service works.
func (n Notifier) Ready() error { return n.send("READY=1") }

// Stopping tells that the service ends.
func (n Notifier) Stopping() error { return n.send("STOPPING=1") }

// Watch tells that the service is alive, twice in the time in which systemd wants to hear of it,
// while it is. It returns what ends that.
func (n Notifier) Watch(isAlive func() bool) (end func()) {
	if n.socket == "" || n.every == 0 {
		return func() {}
	}
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(n.every)
		defer tick.Stop()
		for {
			if isAlive() {
				_ = n.send("WATCHDOG=1") // it is told again
			}
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		watching.Wait()
	}
}

// send sends a datagram. A name that begins with @ is one outside of the file system, as for
// package net.
func (n Notifier) send(state string) error {
	if n.socket == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte(state))
	return err
}
