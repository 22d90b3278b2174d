package server

import (
	"net/http"

	"github.com/holdfastdev/holdfast/server/access"
)

// A browser comes in by a URL that carries a credential: /?token=TOKEN. The browser gets it as a
// cookie, which scripts do not see and other sites cannot send along, and goes to the URL without
// it.

// byURL takes the credential of such a URL for one of the request.
func byURL(next access.Authenticator) access.Authenticator {
	return func(r *http.Request) (access.Principal, error) {
		if token := tokenOf(r); token != "" {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return next(r)
	}
}

// tokenOf is the credential in the URL of a request; "": there is none.
func tokenOf(r *http.Request) string {
	if r.URL.Path != "/" || r.Method != http.MethodGet {
		return ""
	}
	return r.URL.Query().Get("token")
}

// root answers at the root: who has come by a URL with a credential, which was found valid, gets
// the cookie.
func root(w http.ResponseWriter, r *http.Request) {
	token := tokenOf(r)
	if token == "" {
		writeJSON(w, index)
		return
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever there is TLS; a loopback address has none
		Name: access.Cookie, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
