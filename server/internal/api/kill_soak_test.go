//go:build soak

package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/store"
)

// served is a process that serves a database.
type served struct {
	*testing.T

	source, url string
	process     *exec.Cmd
	http        *http.Client
}

func (s *served) begin() {
	s.Helper()
	s.process = exec.CommandContext(s.Context(), os.Args[0])
	s.process.Env = append(os.Environ(), serveEnv+"="+s.source)
	s.process.Stderr = os.Stderr
	out, err := s.process.StdoutPipe()
	if err == nil {
		err = s.process.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.Fatal(err)
	}
	s.url = strings.TrimSpace(line)
}

func (s *served) kill() {
	_ = s.process.Process.Kill() // it may be dead already
	_ = s.process.Wait()         // which says that it was killed
	s.http.CloseIdleConnections()
}

// makes is a request that makes something, and the field of its answer by which that is known.
type makes struct{ path, body, field string }

// ask makes something under a key, and returns what it is; "": there was no answer.
func (s *served) ask(what makes, key string) (id string) {
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url+"/api/v1"+what.path, bytes.NewReader([]byte(what.body)))
	if err != nil {
		s.Error(err)
		return ""
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(keyHeader, key)
	response, err := s.http.Do(r)
	if err != nil {
		return "" // it was killed
	}
	defer response.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return ""
	}
	if response.StatusCode != http.StatusCreated {
		s.Errorf("%s: answered %d", key, response.StatusCode)
	}
	id, _ = answer[what.field].(string)
	return id
}

// TestKilledServersEnqueueOnce: servers are killed while they enqueue. Each request is repeated
// until it is answered, and once more: it has one job, which is told each time.
func TestKilledServersEnqueueOnce(t *testing.T) {
	t.Parallel()
	killedWhile(t, makes{"/jobs", `{"kind":"mail"}`, "id"}, func(t *testing.T, client *holdfast.Client, told map[string]string) {
		t.Helper()
		page, err := client.List(t.Context(), store.Filter{}, "", 1000)
		if err != nil || len(page.Jobs) != len(told) {
			t.Errorf("%d jobs of %d requests, %v", len(page.Jobs), len(told), err)
		}
	})
}

// TestKilledServersRegisterOnce: as TestKilledServersEnqueueOnce, of workers. A node that no answer
// has told may be left, and does nothing.
func TestKilledServersRegisterOnce(t *testing.T) {
	t.Parallel()
	body := `{"name":"w","kinds":["mail"],"slots":1,"dead_after":"1h"}`
	killedWhile(t, makes{"/workers", body, "node"}, func(t *testing.T, client *holdfast.Client, told map[string]string) {
		t.Helper()
		nodes, err := client.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		live, workers := map[string]bool{}, map[string]bool{}
		for i := range nodes {
			live[strconv.FormatInt(nodes[i].ID, 10)] = nodes[i].DeadAt.IsZero()
		}
		for key, node := range told {
			if !live[node] || workers[node] {
				t.Errorf("%s: the node %s is gone, or has two workers", key, node)
			}
			workers[node] = true
		}
	})
}

// killedWhile kills servers while they are asked to make something. Each request is repeated until
// it is answered, and once more, and told has what that was, by their keys.
func killedWhile(t *testing.T, what makes, check func(t *testing.T, client *holdfast.Client, told map[string]string)) {
	t.Helper()
	for name, source := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { t.Helper(); return filepath.Join(t.TempDir(), "api.db") },
		"postgres": func(t *testing.T) string { pgtest.InSoak(t); return ready.Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &served{T: t, source: source(t), http: &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}}
			s.begin()
			defer func() { s.kill() }()
			const rounds, each = 6, 8
			told := map[string]string{}
			for round := range rounds {
				answers := make(chan [2]string, each)
				for i := range each {
					go func() {
						key := fmt.Sprint("k", round, "-", i)
						answers <- [2]string{key, s.ask(what, key)}
					}()
				}
				time.Sleep(time.Duration(round) * 2 * time.Millisecond) //nolint:forbidigo // kills at different moments of real processes
				_ = s.process.Process.Kill()
				for range each {
					a := <-answers
					told[a[0]] = a[1]
				}
				s.kill()
				s.begin()
				for key, before := range told {
					id := s.ask(what, key)
					if id == "" || before != "" && id != before {
						t.Errorf("%s: made %q, and then %q", key, before, id)
					}
					told[key] = id
				}
			}
			client, err := holdfast.Open(t.Context(), sourceOf(s.source))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close(context.WithoutCancel(t.Context()))
			if len(told) != rounds*each {
				t.Errorf("%d of %d requests", len(told), rounds*each)
			}
			check(t, client, told)
		})
	}
}
