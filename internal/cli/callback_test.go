package cli

import (
	"encoding/json"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/rules"
)

// TestCallbackAnswer: the rules of a callback decide of what is sent, also through a server.
func TestCallbackAnswer(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		pay := holdfast.NewKind[string, json.RawMessage]("pay")
		s.serve(func(client *holdfast.Client) error {
			return pay.Handle(client, func(run *holdfast.Run, _ string) (answer json.RawMessage, err error) {
				c, err := rules.Open(run, "payment", rules.Callback{OnComplete: `payload.paid`, Transform: `payload.id`})
				if err != nil {
					return nil, err
				}
				return answer, c.Wait(run, &answer)
			})
		})
		id := s.enqueue("pay", "--args", `"x"`)
		s.waits(id, "callback payment")
		token := s.token(id)
		if out := s.ok("callback", "answer", token, `{"paid":false}`, "-o", "jsonl"); out != `{"token":"`+token+`","answer":"ignored"}`+"\n" {
			t.Errorf("%s", out)
		}
		const ignored = "ignored the payload, as the rules of the callback say\n"
		if out := s.ok("callback", "answer", token, `{"paid":false}`, "-o", "table"); out != ignored {
			t.Errorf("%s", out)
		}
		s.expect(s.run("callback", "answer", token), 1,
			"the callback of job "+id+" is not answered, and still open: its rule on_complete has no value for what was sent: ")
		s.expect(s.run("callback", "answer", "hfc_x"), app.ExitUsage, `"hfc_x" is not a callback token`)
		s.expect(s.run("callback", "answer", token, `{`), app.ExitUsage, "PAYLOAD")

		n := s.start("server", "--listen", "127.0.0.1:0", "--auth", "none")
		until(t, "the API", func() bool { return servesOn.MatchString(n.stderr.String()) })
		s.env[app.EnvServer] = servesOn.FindStringSubmatch(n.stderr.String())[1]
		database := s.env[app.EnvDatabase]
		delete(s.env, app.EnvDatabase)
		if out := s.ok("callback", "answer", token, `{"paid":true,"id":9223372036854775807}`, "-o", "table"); out != "completed the callback\n" {
			t.Errorf("%s", out)
		}
		if out := s.ok("job", "wait", id, "--wait-timeout", "1m"); out != "9223372036854775807\n" {
			t.Errorf("%s", out)
		}
		s.expect(s.run("callback", "answer", token, `{"paid":true,"id":1}`), 1, "has already been answered, or its job has finished")
		delete(s.env, app.EnvServer)
		s.env[app.EnvDatabase] = database
	})
}
