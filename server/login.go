package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/guard"
	"github.com/holdfastdev/holdfast/server/internal/problem"
)

// A browser comes in by a URL that carries a credential: /?token=TOKEN. The browser gets it as a
// cookie, which scripts do not see and other sites cannot send along, and goes to the URL without
// it. A page of another site cannot send a browser there: it would choose under whose key that goes
// on.

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

// inURL is the name of the credential in a URL.
const inURL = "token"

// tokenOf is the credential in the URL of a request; "": there is none to be taken.
func tokenOf(r *http.Request) string {
	if r.URL.Path != "/" || r.Method != http.MethodGet || isOfOthers(r) {
		return ""
	}
	return r.URL.Query().Get(inURL)
}

// isOfOthers reports whether a page of another site has a browser open a URL, as far as that says.
// Programs say nothing, nor do browsers without TLS, except to their own machine.
func isOfOthers(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "none" && site != "same-origin"
}

// root answers at the root: who has come by a URL with a valid credential gets the cookie. A page
// is never at a URL with one: what was not taken would be if it is loaded again.
func root(dashboard http.Handler, authenticate access.Authenticator) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token := tokenOf(r)
		switch {
		case token != "":
			// A page needs no credential, so none was looked at: a wrong one gets the form.
			if _, err := authenticate(r); err == nil {
				setCookie(w, r, token)
			}
			leaveURL(w)
		case dashboard != nil && wantsPage(r) && r.URL.Query().Has(inURL):
			leaveURL(w)
		case dashboard != nil && wantsPage(r):
			dashboard.ServeHTTP(w, r)
		default:
			writeJSON(w, index)
		}
	}
}

// leaveURL sends a browser to the URL without the credential.
func leaveURL(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Location", "./") // also where the handler is mounted below a path
	w.WriteHeader(http.StatusSeeOther)
}

// wantsPage reports whether a browser opens the URL.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// setCookie gives the browser a credential; "": takes it away. It names no path: then browsers take
// that of the URL that they have asked, up to its last slash. So the cookie goes to what is below
// the path of the pages, which a proxy or a mux may have taken off before the request came here.
func setCookie(w http.ResponseWriter, r *http.Request, token string) {
	c := &http.Cookie{ //nolint:gosec // Secure wherever there is TLS; a loopback address has none
		Name: access.Cookie(r), Value: token, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: isByTLS(r),
	}
	if token == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// isByTLS reports whether a browser has come by TLS, also to a proxy that ends it. What headers say
// needs no trust: who makes them up can only have the own browser keep the cookie to itself.
func isByTLS(r *http.Request) bool {
	first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",") // the others are between proxies
	return r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://") || strings.EqualFold(strings.TrimSpace(first), "https")
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
	// maxCookie is how long the token in a cookie may be: browsers drop cookies of more than 4,096
	// bytes (RFC 6265bis, 5.7), with its name and attributes, without a word.
	maxCookie = 3900
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
		if len(in.Token) > maxCookie {
			guard.Refuse(w, r, problem.Invalid("/token", fmt.Sprintf("the token has %d bytes, and browsers keep no more than %d: have "+
				"your provider put less into it, such as groups of this server alone, or sign in with an API key", len(in.Token), maxCookie)))
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
