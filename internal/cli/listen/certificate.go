package listen

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// Certificate is a certificate with its key, of files that are read again when they have changed:
// who renews a certificate need not restart the process.
type Certificate struct {
	certFile, keyFile string

	mu    sync.Mutex
	log   *slog.Logger
	pair  *tls.Certificate
	read  stamp // of the files of which pair is
	tried stamp // of the files that were tried last; what fails is not told at each handshake
	told  bool  // that pair has expired
}

// stamp tells a version of the two files from another.
type stamp struct {
	cert, key         time.Time
	certSize, keySize int64
}

// ReadCertificate reads a certificate, with those between it and its authority behind it, and its
// key; both are PEM. The error says what to do.
func ReadCertificate(certFile, keyFile string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, log: slog.New(slog.DiscardHandler)}
	var err error
	if c.read, err = c.stamp(); err != nil {
		return nil, err
	}
	if c.pair, err = c.load(); err != nil {
		return nil, err
	}
	c.tried = c.read
	return c, nil
}

// Tell says what is told of certificates that cannot be read again, or are not valid now.
func (c *Certificate) Tell(log *slog.Logger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = log
	c.warn()
}

// Config is that of a server that has the certificate.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(), nil },
	}
}

// current is the certificate of the files as they are. While they cannot be read, such as between
// the writes of a renewal, it is the one of before.
func (c *Certificate) current() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Before the files are read: what changes later has another stamp then.
	now, err := c.stamp()
	if err == nil && now == c.read {
		if !c.told && time.Now().After(c.pair.Leaf.NotAfter) {
			c.warn()
		}
		return c.pair
	}
	var pair *tls.Certificate
	if err == nil {
		pair, err = c.load()
	}
	known := c.tried == now
	c.tried = now
	switch {
	case err == nil:
		c.pair, c.read, c.told = pair, now, false
		c.log.Info("certificate was read again", "file", c.certFile, "valid_until", c.pair.Leaf.NotAfter)
		c.warn()
	case !known:
		c.log.Warn("certificate cannot be read again; the one of before is used until it can", "error", err)
	}
	return c.pair
}

// warn tells of a certificate that clients refuse.
func (c *Certificate) warn() {
	switch now := time.Now(); {
	case now.After(c.pair.Leaf.NotAfter):
		c.told = true
		c.log.Warn("certificate has expired, and clients refuse it; renew it", "file", c.certFile, "valid_until", c.pair.Leaf.NotAfter)
	case now.Before(c.pair.Leaf.NotBefore):
		c.log.Warn("certificate is not valid yet, and clients refuse it", "file", c.certFile, "valid_from", c.pair.Leaf.NotBefore)
	}
}

// stamp is the version of the files as they are. Links are followed.
func (c *Certificate) stamp() (s stamp, err error) {
	cert, err := os.Stat(c.certFile)
	if err != nil {
		return stamp{}, fmt.Errorf("the certificate cannot be read: %w", err)
	}
	key, err := os.Stat(c.keyFile)
	if err != nil {
		return stamp{}, fmt.Errorf("the key of the certificate cannot be read: %w", err)
	}
	return stamp{cert.ModTime(), key.ModTime(), cert.Size(), key.Size()}, nil
}

// load reads the files.
func (c *Certificate) load() (*tls.Certificate, error) {
	cert, err := os.ReadFile(c.certFile)
	if err != nil {
		return nil, fmt.Errorf("the certificate cannot be read: %w", err)
	}
	key, err := os.ReadFile(c.keyFile)
	if err != nil {
		return nil, fmt.Errorf("the key of the certificate cannot be read: %w", err)
	}
	if err := c.check(cert, key); err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s are no certificate with its key: %w", c.certFile, c.keyFile, err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, fmt.Errorf("%s: %w", c.certFile, err)
		}
	}
	return &pair, nil
}

// check finds the usual mistakes. Nothing of the key is in the error.
func (c *Certificate) check(cert, key []byte) error {
	first, _ := pem.Decode(cert)
	switch {
	case first == nil:
		return fmt.Errorf("%s is not PEM: it begins with \"-----BEGIN CERTIFICATE-----\"; "+
			"\"openssl x509 -inform der\" makes that of a .der or .cer file", c.certFile)
	case first.Type != "CERTIFICATE":
		return fmt.Errorf("%s has no certificate but %q first; were the two files given the wrong way round?", c.certFile, first.Type)
	}
	for rest := key; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return fmt.Errorf("%s has no key: a \"PRIVATE KEY\" in PEM", c.keyFile)
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" {
			return fmt.Errorf("the key in %s is encrypted, and a server has nobody to ask for its password; "+
				"\"openssl pkey\" writes it without one", c.keyFile)
		}
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return nil
		}
	}
}
