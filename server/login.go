package server

import (
	"net/http"

	"github.com/holdfastdev/holdfast/server/access"
)

// login lets a browser in by a URL that carries a credential: /?token=TOKEN. The browser gets it as
// a cookie, which scripts do not see and other sites cannot send along, and goes to the URL without
// it.
func login(next http.Handler, o *Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.URL.Query().Get("token")
		if r.URL.Path != "/" || r.Method != http.MethodGet || token == "" {
			next.ServeHTTP(w, r)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
		if _, err := o.Authenticate(r); err != nil {
			next.ServeHTTP(w, r) // which refuses it in its words
			return
		}
		http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever there is TLS; a loopback address has none
			Name: access.Cookie, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
		})
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Referrer-Policy", "no-referrer")
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
}
