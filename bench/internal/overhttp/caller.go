package overhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// caller makes requests.
type caller struct {
	http      *http.Client
	base, key string
}

func newCaller(base, key string) *caller {
	return &caller{http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}, base: base, key: "Bearer " + key}
}

// post sends a request and reads its answer.
func (c *caller) post(ctx context.Context, path string, body, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", c.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err = io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("POST %s: %s: %s", path, res.Status, data)
	}
	return json.Unmarshal(data, answer)
}
