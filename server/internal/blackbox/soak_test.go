package blackbox

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// What the soak has at once, and how many jobs run meanwhile.
const (
	soakReaders = 500
	soakWaiters = 1000
	soakRounds  = 3 // of soakWaiters jobs; SOAK_ROUNDS says another number
)

// round enqueues a job for each waiter, and waits for all results.
func (s *server) round(secret string) {
	s.Helper()
	var jobs struct {
		Jobs []struct {
			ID string `json:"id"`
		} `json:"jobs"`
	}
	list := make([]string, soakWaiters)
	for i := range list {
		list[i] = fmt.Sprintf(`{"kind":"mail","args":{"n":%d}}`, i)
	}
	a := s.ok(post(secret, "/jobs/batch", `{"jobs":[`+strings.Join(list, ",")+`]}`))
	if err := json.Unmarshal([]byte(a.text), &jobs); err != nil || len(jobs.Jobs) != soakWaiters {
		s.Fatalf("the batch is answered %s: %v", cut(a.text), err)
	}
	var waiters sync.WaitGroup
	for i := range jobs.Jobs {
		waiters.Go(func() {
			path := "/api/v1/jobs/" + jobs.Jobs[i].ID + "/result?wait=60s"
			var got struct {
				State  string `json:"state"`
				Result struct {
					N int `json:"n"`
				} `json:"result"`
			}
			a := s.within(90*time.Second, &request{method: http.MethodGet, path: path, secret: secret})
			if err := json.Unmarshal([]byte(a.text), &got); err != nil || got.State != "completed" || got.Result.N != i {
				s.Errorf("the result of job %d is answered %d %s", i, a.status, cut(a.text))
			}
		})
	}
	waiters.Wait()
}

// work is a worker that completes jobs with their args as results, until ctx ends.
func (s *server) work(ctx context.Context, secret string) error {
	worker := s.ok(post(secret, "/workers", `{"name":"w","kinds":["mail"],"slots":200}`)).field("worker")
	for seq := 1; ctx.Err() == nil; seq++ {
		a := s.repeated(post(secret, "/workers/"+worker+"/poll?wait=1s", fmt.Sprintf(`{"want":200,"seq":%d}`, seq)))
		var polled struct {
			Jobs []struct {
				Lease string          `json:"lease"`
				Args  json.RawMessage `json:"args"`
			} `json:"jobs"`
		}
		if err := json.Unmarshal([]byte(a.text), &polled); err != nil || a.status != http.StatusOK {
			return fmt.Errorf("the poll is answered %d %s: %w", a.status, cut(a.text), err)
		}
		ends := make([]string, len(polled.Jobs))
		for i, job := range polled.Jobs {
			ends[i] = fmt.Sprintf(`{"lease":%q,"do":"complete","result":%s}`, job.Lease, job.Args)
		}
		if len(ends) > 0 {
			if a := s.repeated(post(secret, "/runs", `{"outcomes":[`+strings.Join(ends, ",")+`]}`)); a.status != http.StatusOK {
				return fmt.Errorf("the ends are answered %d %s", a.status, cut(a.text))
			}
		}
	}
	return nil
}

// repeated makes a request of a worker again, and says so, while the server cannot reach its
// database.
func (s *server) repeated(r *request) (a answer) {
	s.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if a = s.do(r); a.status != http.StatusServiceUnavailable {
			break
		}
		if !strings.Contains(r.body, `"repeat"`) {
			r.body = `{"repeat":true,` + r.body[1:]
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // another process is waited for
	}
	return a
}

// read reads events until ctx ends, and counts completed jobs. It says on ready that it has begun.
func (s *server) read(ctx context.Context, secret string, ended *atomic.Int64, ready chan<- error) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/v1/events?state=completed", http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	response, err := s.client.Do(r)
	for end := time.Now().Add(time.Minute); err == nil && response.StatusCode == http.StatusConflict && time.Now().Before(end); {
		_ = response.Body.Close()         // the server has just begun, and is about to switch the feed on
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // another process does that
		response, err = s.client.Do(r)
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("events are answered %d", response.StatusCode)
	}
	ready <- nil
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), `"state":"completed"`) {
			ended.Add(1)
		}
	}
	return nil // it has ended with ctx
}

var kib = regexp.MustCompile(`(\w+):\s+(\d+) kB`)

// memory is what the kernel says of the server's memory, in bytes; 0: it does not say.
func (s *server) memory(what string) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Pid))
	if err != nil {
		return 0
	}
	for _, found := range kib.FindAllStringSubmatch(string(data), -1) {
		if n, err := strconv.Atoi(found[2]); err == nil && found[1] == what {
			return n << 10
		}
	}
	return 0
}
