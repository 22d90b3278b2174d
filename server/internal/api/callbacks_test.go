package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// TestOnlyCallbacks: an outside system completes a callback at a server that has nothing else, and
// repeats that under a key.
func TestOnlyCallbacks(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	tokens := make(chan string, 1)
	approve := holdfast.NewKind[string, string]("approve")
	err := approve.Handle(s.Client, func(run *holdfast.Run, _ string) (answer string, err error) {
		c, err := run.Callback("approval")
		if err != nil {
			return "", err
		}
		select {
		case tokens <- c.Token:
		default: // it is told already
		}
		return answer, c.Wait(run, &answer)
	})
	if err == nil {
		err = s.Client.Start(s.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	handler, err := server.Handler(s.Client, server.Options{OnlyCallbacks: true})
	if err != nil {
		t.Fatal(err)
	}
	job, err := approve.Enqueue(t.Context(), s.Client, "x")
	if err != nil {
		t.Fatal(err)
	}
	path := "http://localhost/api/v1/callbacks/" + <-tokens
	send := func(path, body, key string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(keyHeader, key)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	ask := func(key string) int { return send(path+"/complete", `{"payload":"yes"}`, key) }
	if status := send(path, `{"not":"JSON`, "k0"); status != http.StatusBadRequest {
		t.Errorf("what is not JSON is answered %d", status)
	}
	first, repeated, another := ask("k1"), ask("k1"), ask("k2")
	if first != http.StatusOK || repeated != http.StatusOK || another != http.StatusConflict {
		t.Errorf("answered %d, repeated %d, and for another request %d", first, repeated, another)
	}
	if status := send(path, `"no"`, "k3"); status != http.StatusConflict {
		t.Errorf("an answer that is any JSON, after another one, is answered %d", status)
	}
	if got, err := job.Wait(t.Context()); err != nil || got != "yes" {
		t.Errorf("%q, %v", got, err)
	}
}
