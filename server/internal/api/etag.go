package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast/server/internal/problem"
)

// Tagged is an answer with the version of the settings in it.
type Tagged[T any] struct {
	ETag string `header:"ETag" doc:"The version of the settings, for If-Match"`
	Body T
}

// IfMatch is what inputs have that change settings. So no caller undoes what another one has set
// since it looked.
type IfMatch struct {
	Versions string `header:"If-Match" doc:"The ETag of what was read, or * for whatever is there" example:"*"`
}

// Given refuses a request that does not say which version it changes.
func (in *IfMatch) Given() error {
	if strings.TrimSpace(in.Versions) == "" {
		return problem.New(problem.NeedsVersion, "send the header If-Match with the ETag of what you have read, or with * to change whatever is there")
	}
	return nil
}

// Matches refuses a request that changes another version than the one that is there.
func (in *IfMatch) Matches(etag string) error {
	if err := in.Given(); err != nil {
		return err
	}
	if in.Any() || in.names(etag) {
		return nil
	}
	return Changed()
}

// Any reports whether the request changes whatever is there.
func (in *IfMatch) Any() bool { return in.names("*") }

func (in *IfMatch) names(version string) bool {
	return slices.ContainsFunc(strings.Split(in.Versions, ","), func(v string) bool { return strings.TrimSpace(v) == version })
}

// Changed is the problem of a request that changes what is not there any more.
func Changed() error {
	return problem.New(problem.Changed, "it is not as you have read it any more: read it again, and change that")
}

// ETag is the version of settings: a hash of their JSON. What changes without anybody changing
// them, such as counts, must not be among them.
func ETag(settings ...any) string {
	data, err := json.Marshal(settings)
	if err != nil {
		panic("api: settings without JSON: " + err.Error()) // a mistake of the resource
	}
	sum := sha256.Sum256(data)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}
