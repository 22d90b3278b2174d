package endpoint

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// The headers of a signed request.
const (
	HeaderID        = "Webhook-Id"        // of the job or of the event: the same in each attempt
	HeaderTimestamp = "Webhook-Timestamp" // when the attempt was made, in seconds of Unix time
	HeaderSignature = "Webhook-Signature" // one for each secret, with spaces between them
)

const (
	secretPrefix = "whsec_"
	scheme       = "v1,"
	secretBytes  = 32
	// leastSecret and mostSecret bound how many bytes a secret has that was made elsewhere.
	leastSecret, mostSecret = 24, 64
	// Tolerance is how far the time of a request may be from that of who checks it.
	Tolerance = 5 * time.Minute
)

// ErrSignature is the error of a request that was not signed by one of the secrets, or not lately.
var ErrSignature = errors.New("the signature does not fit")

// NewSecret makes a secret.
func NewSecret() string {
	var b [secretBytes]byte
	_, _ = rand.Read(b[:]) // it never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(b[:])
}

func keyOf(secret string) ([]byte, error) {
	text, is := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !is || err != nil || len(key) < leastSecret || len(key) > mostSecret {
		return nil, fmt.Errorf("%w: a secret is %s and %d to %d bytes in base64", store.ErrInvalid, secretPrefix, leastSecret, mostSecret)
	}
	return key, nil
}

func mac(key []byte, id, seconds string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	for _, part := range []string{id, ".", seconds, "."} {
		h.Write([]byte(part))
	}
	h.Write(body)
	return h.Sum(nil)
}

// Sign sets the headers of a request by which its receiver sees that it was made by one who has a
// secret. The error is ErrInvalid for what is no secret.
func Sign(h http.Header, secrets []string, id string, at time.Time, body []byte) error {
	seconds := strconv.FormatInt(at.Unix(), 10)
	var signatures []string
	for _, secret := range secrets {
		key, err := keyOf(secret)
		if err != nil {
			return err
		}
		signatures = append(signatures, scheme+base64.StdEncoding.EncodeToString(mac(key, id, seconds, body)))
	}
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, seconds)
	h.Set(HeaderSignature, strings.Join(signatures, " "))
	return nil
}

// Verify checks the headers of a request at a time: it was signed by one of the secrets, at most
// Tolerance before or after. The error is ErrSignature, or ErrInvalid for what is no secret. A
// receiver remembers the ids that it has seen for as long as it should not do something twice.
func Verify(h http.Header, secrets []string, now time.Time, body []byte) error {
	id, seconds := h.Get(HeaderID), h.Get(HeaderTimestamp)
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || id == "" || now.Sub(time.Unix(at, 0)).Abs() > Tolerance {
		return ErrSignature
	}
	for _, secret := range secrets {
		key, err := keyOf(secret)
		if err != nil {
			return err
		}
		want := mac(key, id, seconds, body)
		for signature := range strings.FieldsSeq(h.Get(HeaderSignature)) {
			text, is := strings.CutPrefix(signature, scheme)
			got, err := base64.StdEncoding.DecodeString(text)
			if is && err == nil && hmac.Equal(got, want) {
				return nil
			}
		}
	}
	return ErrSignature
}
