package cli

import (
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		var feed views.Feed
		if s.decode(s.ok("event", "status", "-o", "json"), &feed); feed.On || feed.Newest != nil {
			t.Errorf("at first: %+v", feed)
		}
		s.expect(s.run("event", "list"), app.ExitError, `"holdfast event on" switches it on`)
		if s.decode(s.ok("event", "on", "-o", "json"), &feed); !feed.On || feed.Newest == nil {
			t.Errorf("switched on: %+v", feed)
		}
		begin := feed.Newest.String()
		id, other := s.enqueue("talk", "--queue", "mail"), s.enqueue("push")
		s.ok("job", "cancel", id)
		var all []store.Change
		s.decode(s.ok("event", "list", "-o", "json"), &all)
		if len(all) != 3 || all[0].Job.String() != id || all[0].Queue != "mail" ||
			all[2].State != store.Cancelled || all[1].Job.String() != other {
			t.Errorf("listed: %+v", all)
		}
		all = nil
		s.decode(s.ok("event", "list", "--from", begin, "--queue", "mail", "--kind", "talk", "--state", "cancelled", "-o", "json"), &all)
		if len(all) != 1 || all[0].Job.String() != id || all[0].Reason != store.ReasonCancelled {
			t.Errorf("filtered: %+v", all)
		}
		out := s.run("event", "list", "--limit", "2", "-o", "table")
		if !strings.Contains(out.stderr, "--from") || strings.Contains(out.stdout, "cancelled") {
			t.Errorf("limited: %+v", out)
		}
		followed := s.begin("event", "list", "--follow", "--from", begin, "-q")
		followed.says(t, `"state":"cancelled"`)
		s.expect(s.run("event", "list", "--from", "1"), app.ExitUsage, "no position")
		s.expect(s.run("event", "list", "--limit", "0"), app.ExitUsage, "at least 1")
		s.expect(s.run("event", "list", "--follow", "-o", "json"), app.ExitUsage, "jsonl")
		s.ok("event", "off")
		if code := <-followed.ended; code != app.ExitError || !strings.Contains(followed.stderr.String(), "the feed is off") {
			t.Errorf("switched off while it is followed: exit code %d, %s", code, followed.stderr)
		}
		s.ok("event", "on")
		s.expect(s.run("event", "list", "--from", begin), app.ExitError, "not kept any more")
	})
}
