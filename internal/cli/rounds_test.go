package cli

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
)

// playRounds publishes and streams the number of each round, and continues as new until the third.
func playRounds(client *holdfast.Client) error {
	rounds := holdfast.NewKind[int, int]("rounds")
	return rounds.Handle(client, func(run *holdfast.Run, round int) (int, error) {
		if round == 1 {
			if err := run.Publish("began", "today"); err != nil {
				return 0, err
			}
		}
		if err := errors.Join(run.Publish("round", round), run.Append("log", round)); err != nil {
			return 0, err
		}
		if round < 3 {
			return 0, rounds.ContinueAsNew(round + 1)
		}
		_, err := holdfast.NewSignal[bool]("enough").Wait(run)
		return round, err
	})
}

// TestPublishedInAllRounds: data from before a job continued as new are shown like all others.
func TestPublishedInAllRounds(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		s.serve(playRounds)
		id := s.enqueue("rounds", "--args", "1")
		follower := s.begin("job", "stream", id, "log", "--follow", "-o", "jsonl")
		follower.says(t, `"value":3}`)
		want := regexp.MustCompile(`^{"offset":"3",.*"value":1}\n{"offset":"6",.*"value":2}\n{"offset":"9",.*"value":3}\n$`)
		if out := s.ok("job", "stream", id, "log", "-o", "jsonl"); !want.MatchString(out) {
			t.Errorf("the stream is\n%s", out)
		}
		if out := s.ok("job", "stream", id, "log", "-o", "jsonl", "--after", "3"); strings.Count(out, "\n") != 2 {
			t.Errorf("after the first item there are\n%s", out)
		}
		for key, want := range map[string]string{"began": "\"today\"\n", "round": "3\n"} {
			if out := s.ok("job", "published", id, key, "-o", "table"); out != want {
				t.Errorf("%s is %s", key, out)
			}
		}
		if out := s.ok("job", "journal", id, "-o", "json"); strings.Contains(out, "today") {
			t.Errorf("the journal holds what was before:\n%s", out)
		}
		s.ok("signal", "send", id, "enough", "true")
		if code := <-follower.ended; code != 0 || !want.MatchString(follower.stdout.String()) {
			t.Errorf("exit code %d, followed\n%s", code, follower.stdout)
		}
	})
}
