package postgres

import "context"

// Drop removes the schema with all jobs in it, and whatever else somebody has put there. It is for schemas that were made to try
// something out. No store may have it open.
func (c Config) Drop(ctx context.Context) error {
	s, err := c.connect(ctx)
	if err == nil {
		_, err = s.pool.Exec(ctx, s.text("schema_drop"))
		_ = s.Close() // never fails
	}
	return classify(ctx, "drop "+c.String(), err)
}
