package pg

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// Attributes are what jobs get of search attributes, each job and name once.
type Attributes struct {
	jobs   []pgtype.UUID
	names  []string
	types  []int32
	values [][]byte

	unsetJobs  []pgtype.UUID
	unsetNames []string
}

// Add adds those of a job. One without a value is taken away.
func (a *Attributes) Add(job store.ID, list []store.Attribute) {
	for i := range list {
		one := &list[i]
		if one.Value.Type == 0 {
			a.unsetJobs, a.unsetNames = append(a.unsetJobs, UUIDOf(job)), append(a.unsetNames, one.Name)
			continue
		}
		a.jobs, a.names = append(a.jobs, UUIDOf(job)), append(a.names, one.Name)
		a.types, a.values = append(a.types, int32(one.Value.Type)), append(a.values, []byte(one.Value.Data))
	}
}

// Writing are the statements that write them, none if there are none. If created is set, jobs that
// were not inserted at that time get none.
func (a *Attributes) Writing(created *int64) (list []Statement) {
	if len(a.jobs) > 0 {
		list = append(list, Statement{Name: "attributes_set", Args: []any{a.jobs, a.names, a.types, a.values, created}})
	}
	if len(a.unsetJobs) > 0 {
		list = append(list, Statement{Name: "attributes_unset", Args: []any{a.unsetJobs, a.unsetNames}})
	}
	return list
}

// AttributeRow is a search attribute of a job, as statements answer with it in JSON.
type AttributeRow struct {
	Name  string              `json:"name"`
	Type  store.AttributeType `json:"type"`
	Value string              `json:"value"`
}

// AttributesOf are those that rows say.
func AttributesOf(rows []AttributeRow) (list []store.Attribute, err error) {
	for _, r := range rows {
		data, err := hex.DecodeString(r.Value)
		if err != nil {
			return nil, fmt.Errorf("%w: the value of the search attribute %q: %w", store.ErrInvalid, r.Name, err)
		}
		list = append(list, store.Attribute{Name: r.Name, Value: store.AttributeValue{Type: r.Type, Data: string(data)}})
	}
	return list, nil
}

// ParseAttributes are those that a text says, nil: none.
func ParseAttributes(text *string) ([]store.Attribute, error) {
	if text == nil {
		return nil, nil
	}
	var rows []AttributeRow
	if err := json.Unmarshal([]byte(*text), &rows); err != nil {
		return nil, fmt.Errorf("%w: the search attributes of a job: %w", store.ErrInvalid, err)
	}
	return AttributesOf(rows)
}
