package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// probeDomain is the parent of all service names.
const probeDomain = "bench.test"

// challenge is the header of each response. The body is empty JSON, as the SDKs of x402 version 2 send it.
const challenge = `{"x402Version":2,"error":"Payment required","resource":{"url":"https://quotes.bench.test/quote",` +
	`"description":"The last price of a share, and when it was paid.","mimeType":"application/json"},` +
	`"accepts":[{"scheme":"exact","network":"eip155:8453","amount":"10000",` +
	`"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C",` +
	`"maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}}],` +
	`"extensions":{"bazaar":{"info":{"input":{"type":"http","method":"GET","queryParams":{"symbol":"ACME"}},` +
	`"output":{"type":"json","example":{"symbol":"ACME","price":"12.34"}}},` +
	`"schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
	`"properties":{"input":{"type":"object","properties":{"type":{"type":"string","const":"http"},` +
	`"method":{"type":"string","enum":["GET"]}},"required":["type"]}},"required":["input"]}}}}`

// serveChallenges answers on loopback until stdin ends, and prints where.
func serveChallenges(_ context.Context, http2 bool) error {
	certificate, authority, err := certify()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var requests, handshakes, resumed atomic.Int64
	header := []string{base64.StdEncoding.EncodeToString([]byte(challenge))}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /quote", func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		h := w.Header()
		h["Payment-Required"], h["Content-Type"] = header, []string{"application/json"}
		w.WriteHeader(http.StatusPaymentRequired)
		_, _ = io.WriteString(w, "{}")
	})
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(http2)
	s := &http.Server{
		Handler: mux, Protocols: protocols, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{certificate},
			VerifyConnection: func(c tls.ConnectionState) error {
				handshakes.Add(1)
				if c.DidResume {
					resumed.Add(1)
				}
				return nil
			},
		},
	}
	control, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		_ = http.Serve(control, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(probeCounts{requests.Load(), handshakes.Load(), resumed.Load(), selfCPU()})
		}))
	}()
	go func() { // the parent has ended
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if err := json.NewEncoder(os.Stdout).Encode(probeTarget{Address: listener.Addr().String(),
		Control: "http://" + control.Addr().String(), Authority: authority}); err != nil {
		return err
	}
	return s.ServeTLS(listener, "", "")
}

// certify creates a certificate for all services and loopback, and its authority.
func certify() (tls.Certificate, string, error) {
	now := time.Now()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Bench authority"}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(24 * time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	authority, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: probeDomain}, NotBefore: root.NotBefore,
		NotAfter: root.NotAfter,
		DNSNames: []string{probeDomain, "*." + probeDomain}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	certificate, err := x509.CreateCertificate(rand.Reader, leaf, root, key.Public(), rootKey)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key},
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority})), nil
}
