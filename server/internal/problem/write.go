package problem

import (
	"encoding/json"
	"maps"
	"net/http"
)

// Write answers a request with the problem that an error is.
func Write(w http.ResponseWriter, r *http.Request, err error) {
	p := *Of(err)
	p.Request = RequestID(r.Context())
	h := w.Header()
	maps.Copy(h, p.GetHeaders())
	h.Set("Content-Type", ContentType)
	w.WriteHeader(p.Status)
	if r.Method == http.MethodHead {
		return
	}
	_ = json.NewEncoder(w).Encode(&p) //nolint:errchkjson // the client may have gone
}
