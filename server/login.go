package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/guard"
	"github.com/holdfastdev/holdfast/server/internal/problem"
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
func root(dashboard http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token := tokenOf(r)
		switch {
		case token != "":
			setCookie(w, r, token)
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Referrer-Policy", "no-referrer")
			w.Header().Set("Location", "./") // also where the handler is mounted below a path
			w.WriteHeader(http.StatusSeeOther)
		case dashboard != nil && wantsPage(r):
			dashboard.ServeHTTP(w, r)
		default:
			writeJSON(w, index)
		}
	}
}

// wantsPage reports whether a browser opens the URL.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// setCookie gives the browser a credential; "": takes it away.
func setCookie(w http.ResponseWriter, r *http.Request, token string) {
	c := &http.Cookie{ //nolint:gosec // Secure wherever there is TLS; a loopback address has none
		Name: access.Cookie, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	}
	if token == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// session is the path at which a page signs in and out: it cannot set the cookie itself, which
// scripts do not see.
const session = "/session"

// isSession reports whether a request signs in or out. It needs no credential but the one in it.
func isSession(r *http.Request) bool { return r.URL.Path == session }

// maxSignIn is how many bytes a request to sign in has at the most, and signInTimeout how long it
// takes to arrive.
const (
	maxSignIn     = 64 << 10
	signInTimeout = 10 * time.Second
)

// signIn sets the cookie if the token of the request is a valid credential.
func signIn(authenticate access.Authenticator) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Token string `json:"token"`
		}
		c := http.NewResponseController(w)
		_ = c.SetReadDeadline(time.Now().Add(signInTimeout)) // a writer that has none needs none
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxSignIn)).Decode(&in)
		if err != nil || in.Token == "" || strings.ContainsFunc(in.Token, isOutsideOfCookies) {
			guard.Refuse(w, r, problem.Invalid("/token", "send {\"token\": …}: an API key, or the token of the server"))
			return
		}
		try := r.Clone(r.Context())
		try.Header.Del("Cookie")
		try.Header.Set("Authorization", "Bearer "+in.Token)
		if _, err := authenticate(try); err != nil {
			if errors.Is(err, access.ErrUnauthenticated) {
				err = problem.New(problem.Unauthenticated, err.Error())
			}
			problem.Write(w, r, err)
			return
		}
		setCookie(w, r, in.Token)
		w.WriteHeader(http.StatusNoContent)
	}
}

// isOutsideOfCookies reports whether values of cookies cannot have a letter.
func isOutsideOfCookies(c rune) bool {
	return c <= ' ' || c >= 0x7f || c == '"' || c == ',' || c == ';' || c == '\\'
}

func signOut(w http.ResponseWriter, r *http.Request) {
	guard.Leave(w, r)
	setCookie(w, r, "")
	w.WriteHeader(http.StatusNoContent)
}
