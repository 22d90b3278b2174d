package views

import (
	"encoding/json"
	"strconv"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/output"
)

// Item is an item of a stream, or the value of a key.
type Item struct {
	Offset Big             `json:"offset"`
	At     Timestamp       `json:"at"`
	Value  json.RawMessage `json:"value"`
}

// NewItem returns the view of an item.
func NewItem(item *holdfast.StreamItem) Item {
	return Item{Offset: Big(item.Offset), At: Timestamp(item.At), Value: payload(item.Value, 0)}
}

// ItemColumns are the columns of the table, with widths for a stream that is followed.
var ItemColumns = []output.Column{{Name: "OFFSET", Width: 6}, {Name: "WHEN", Width: 24}, {Name: "VALUE"}}

// ItemRow formats an item for a table.
func ItemRow(item *holdfast.StreamItem) []string {
	return []string{strconv.FormatInt(item.Offset, 10), output.Clock(item.At), output.Clip(OnOneLine(item.Value, 0), maxCell)}
}
