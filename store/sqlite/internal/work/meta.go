package work

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/attributes"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// writeMeta writes what a run whose lease is live says of its job.
func writeMeta(t *core.Tx, id store.ID, m *store.Meta) error {
	if m.IsEmpty() {
		return nil
	}
	if m.Tags != nil {
		if err := SetTags(t, id, m.Tags); err != nil {
			return err
		}
	}
	if m.Metadata != nil {
		if err := SetMetadata(t, id, m.Metadata); err != nil {
			return err
		}
	}
	return attributes.Set(t, id, m.Attributes)
}

// SetTags gives a job other tags.
func SetTags(t *core.Tx, id store.ID, tags []string) error {
	_, text, err := Documents(&store.Job{Tags: tags})
	if err != nil {
		return err
	}
	s := t.Stmt("job_set_tags")
	db.BindOptText(s, text)
	db.BindID(s, id)
	return db.Exec(s)
}

// SetMetadata gives a job other metadata.
func SetMetadata(t *core.Tx, id store.ID, metadata []byte) error {
	s := t.Stmt("job_set_metadata")
	db.BindOptText(s, string(metadata))
	db.BindID(s, id)
	return db.Exec(s)
}
