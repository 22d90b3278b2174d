package store

import "encoding/json"

// changeJSON is a change but for its methods and its fingerprint, which JSON has as text.
type changeJSON Change

type changeText struct {
	*changeJSON

	Fingerprint hexJSON `json:"fingerprint,omitempty"`
}

// MarshalJSON writes the change as `holdfast event list` prints it: the fingerprint is sixteen
// hexadecimal digits, and left out if there is none.
func (c Change) MarshalJSON() ([]byte, error) {
	return json.Marshal(changeText{(*changeJSON)(&c), hexJSON(c.Fingerprint)})
}

// UnmarshalJSON reads what MarshalJSON has written.
func (c *Change) UnmarshalJSON(data []byte) error {
	text := changeText{changeJSON: (*changeJSON)(c)}
	err := json.Unmarshal(data, &text)
	c.Fingerprint = int64(text.Fingerprint)
	return err
}
