package x402

import (
	"errors"
	"strings"

	"github.com/btcsuite/btcd/btcutil/bech32"
)

// bech32Data decodes text of any length in the original checksum and returns its human-readable part.
func bech32Data(s string) (hrp string, err error) {
	hrp, _, err = bech32.DecodeNoLimit(s)
	var mismatch bech32.ErrInvalidChecksum
	switch {
	case errors.As(err, &mismatch):
		return "", ErrChecksum
	case err != nil:
		return "", ErrShape
	}
	return hrp, nil
}

// segwitAddress checks a Bitcoin address of witness version 0 (bech32) or later (bech32m).
func segwitAddress(s string) error {
	hrp, data, version, err := bech32.DecodeGeneric(s)
	var mismatch bech32.ErrInvalidChecksum
	switch {
	case errors.As(err, &mismatch):
		return ErrChecksum
	case err != nil || hrp != "bc" && hrp != "tb" || len(data) < 1 || data[0] > 16:
		return ErrShape
	case (data[0] == 0) != (version == bech32.Version0):
		return ErrChecksum
	}
	program, err := bech32.ConvertBits(data[1:], 5, 8, false)
	if err != nil || len(program) < 2 || len(program) > 40 || data[0] == 0 && len(program) != 20 && len(program) != 32 {
		return ErrShape
	}
	return nil
}

// cosmosPrefixes are the human-readable parts of known chains; others may use any.
var cosmosPrefixes = map[string]string{
	"cosmos:noble-1":     "noble",
	"cosmos:grand-1":     "noble",
	"cosmos:cosmoshub-4": "cosmos",
}

func cosmosAddress(network, s string) error {
	if s != strings.ToLower(s) || len(s) > 90 {
		return ErrShape
	}
	hrp, err := bech32Data(s)
	if err != nil {
		return err
	}
	if want, ok := cosmosPrefixes[network]; ok && hrp != want {
		return ErrShape
	}
	return nil
}

func cardanoAddress(network, s string) error {
	want := "addr_test"
	if network == "cardano:mainnet" {
		want = "addr"
	}
	if s != strings.ToLower(s) || len(s) > 120 || !strings.HasPrefix(s, want+"1") {
		return ErrShape
	}
	_, err := bech32Data(s)
	return err
}
