package problem

import (
	"encoding/json"
	"net/http"
)

// Write answers a request with the problem that an error is.
func Write(w http.ResponseWriter, r *http.Request, err error) {
	p := *Of(err)
	p.Request = RequestID(r.Context())
	h := w.Header()
	for name, values := range p.GetHeaders() {
		h[name] = values
	}
	h.Set("Content-Type", ContentType)
	w.WriteHeader(p.Status)
	if r.Method == http.MethodHead {
		return
	}
	_ = json.NewEncoder(w).Encode(&p) // the client may have gone
}
