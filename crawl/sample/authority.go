// This file issues the certificates of the sample world, in memory: no certificate outlives the process. It must never
// know which hosts there are.

package sample

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"sync"
	"time"
)

// authority issues certificates for the names below one domain. Only clients that have its root trust it. Several
// goroutines may use it.
type authority struct {
	key  *ecdsa.PrivateKey
	root *x509.Certificate

	mu     sync.Mutex
	leaves map[string]*tls.Certificate // by host name
}

// NewAuthority returns an authority for the names below a domain.
func NewAuthority(domain string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the authority's key: %w", err)
	}
	from, until := lifetime(false)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Tollbook sample world"},
		NotBefore: from, NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: []string{domain},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign the authority's root: %w", err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the authority's root: %w", err)
	}
	return &authority{key: key, root: root, leaves: map[string]*tls.Certificate{}}, nil
}

// lifetime returns the validity of a certificate. It uses the machine's clock, as those who verify it do, not the
// world's.
func lifetime(expired bool) (from, until time.Time) {
	now := time.Now()
	if expired {
		return now.AddDate(0, -4, 0), now.AddDate(0, 0, -2)
	}
	return now.AddDate(0, -1, 0), now.AddDate(10, 0, 0)
}

// Root returns the certificate that clients must trust.
func (a *authority) Root() *x509.Certificate { return a.root }

// Certificate returns the certificate of a host, which is issued at its first use.
func (a *authority) Certificate(host string, expired bool) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if leaf := a.leaves[host]; leaf != nil {
		return leaf, nil
	}
	leaf, err := a.issue(host, expired)
	if err != nil {
		return nil, err
	}
	a.leaves[host] = leaf
	return leaf, nil
}

func (a *authority) issue(host string, expired bool) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for %s: %w", host, err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("number the certificate of %s: %w", host, err)
	}
	from, until := lifetime(expired)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: from, NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.root, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %s: %w", host, err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
