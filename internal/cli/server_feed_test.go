//go:build soak

package cli

import (
	"strings"
	"testing"
)

// TestServerSwitchesTheFeedOn: who serves the API has a feed to read, unless flags say not to.
func TestServerSwitchesTheFeedOn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		isOn := func() bool { return strings.Contains(s.ok("event", "status", "-o", "json"), `"on": true`) }
		serve := func(args ...string) *node {
			n := s.start(append(args, "--listen", "127.0.0.1:0")...)
			until(t, "a server", func() bool { return strings.Contains(n.stderr.String(), "http://127.0.0.1:") })
			return n
		}
		for _, flag := range []string{"--feed=false", "--read-only"} {
			n := serve("server", "--auth", "none", flag)
			for range 5 { // each opens the database, which takes longer than to switch the feed on
				if isOn() {
					s.Errorf("with %s the feed is on", flag)
				}
			}
			n.stop(t)
		}
		for _, args := range [][]string{{"server", "--auth", "none"}, {"dev"}} {
			n := serve(args...)
			until(t, "the feed", isOn)
			n.stop(t)
			s.ok("event", "off")
		}
	})
}
