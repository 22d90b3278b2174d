package journal

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"

	"github.com/holdfastdev/holdfast/store"
)

// The codecs of what a journal and a message hold.
const (
	codecJSON    = 0
	codecDeflate = 1 // JSON, compressed
)

// packFrom is the size from which compressing pays.
const packFrom = 4 << 10

// maxUnpacked bounds what is taken for one value, so that a damaged one cannot fill the memory.
const maxUnpacked = 1 << 30

// Pack compresses what is large, if that makes it smaller.
func Pack(data []byte) (packed []byte, codec int) {
	if len(data) < packFrom {
		return data, codecJSON
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return data, codecJSON
	}
	if _, err := w.Write(data); err != nil || w.Close() != nil || out.Len() >= len(data) {
		return data, codecJSON
	}
	return out.Bytes(), codecDeflate
}

// Unpack returns what Pack was given. Of what a codec has encoded and could not decode here the
// error is a *store.MissingKeyError or a *store.DamagedError.
func Unpack(data []byte, codec int) ([]byte, error) {
	if err := store.SealError(data, codec); err != nil {
		return nil, err
	}
	switch codec {
	case codecJSON:
		return data, nil
	case codecDeflate:
		plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data)), maxUnpacked))
		if err != nil {
			return nil, fmt.Errorf("cannot decompress a value: %w", err)
		}
		return plain, nil
	}
	return nil, fmt.Errorf("%w: unknown codec %d", store.ErrInvalid, codec)
}
