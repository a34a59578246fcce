package evm_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/big"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"golang.org/x/crypto/sha3"
)

// key is an account that signs.
type key struct {
	private *secp256k1.PrivateKey
	address [20]byte
}

func keccak(parts ...[]byte) (sum [32]byte) {
	h := sha3.NewLegacyKeccak256()
	for _, p := range parts {
		h.Write(p)
	}
	h.Sum(sum[:0])
	return sum
}

func newKey(private *secp256k1.PrivateKey) key {
	sum := keccak(private.PubKey().SerializeUncompressed()[1:])
	return key{private, [20]byte(sum[12:])}
}

func parseKey(digits string) key {
	raw, err := hex.DecodeString(digits)
	if err != nil {
		panic(err)
	}
	return newKey(secp256k1.PrivKeyFromBytes(raw))
}

// seededKey returns the same account each time.
func seededKey(kind byte, n int) key {
	sum := keccak([]byte("tollbook test"), []byte{kind}, binary.BigEndian.AppendUint64(nil, uint64(n)))
	return newKey(secp256k1.PrivKeyFromBytes(sum[:]))
}

// sign returns r, s and the parity of a signature.
func (k key) sign(digest [32]byte) (r, s []byte, parity byte) {
	sig := ecdsa.SignCompact(k.private, digest[:], false)
	return sig[1:33], sig[33:], sig[0] - 27
}

// rlp encodes a byte string, or a list of encoded items.
func rlp(offset byte, payload []byte) []byte {
	if offset == 0x80 && len(payload) == 1 && payload[0] < 0x80 {
		return payload
	}
	if len(payload) < 56 {
		return append([]byte{offset + byte(len(payload))}, payload...)
	}
	size := big.NewInt(int64(len(payload))).Bytes()
	return append(append([]byte{offset + 55 + byte(len(size))}, size...), payload...)
}

func rlpList(items ...[]byte) []byte {
	var b []byte
	for _, item := range items {
		b = append(b, rlp(0x80, item)...)
	}
	return rlp(0xc0, b)
}

func number(n int64) []byte { return big.NewInt(n).Bytes() }

// transaction signs a legacy transaction by EIP-155. An empty to creates a contract.
func (k key) transaction(chainID, nonce, gas int64, to, input []byte) (raw []byte, id [32]byte) {
	fields := [][]byte{number(nonce), number(20_000_000_000), number(gas), to, nil, input}
	digest := keccak(rlpList(append(fields, number(chainID), nil, nil)...))
	r, s, parity := k.sign(digest)
	raw = rlpList(append(fields, number(chainID*2+35+int64(parity)), bytes.TrimLeft(r, "\x00"),
		bytes.TrimLeft(s, "\x00"))...)
	return raw, keccak(raw)
}

// abi encodes arguments of fixed size after a function's selector.
func abi(signature string, args ...[]byte) []byte {
	selector := keccak([]byte(signature))
	b := append([]byte(nil), selector[:4]...)
	for _, a := range args {
		b = append(b, pad(a)...)
	}
	return b
}

// pad returns a number or an address as a word of 32 bytes.
func pad(b []byte) []byte { return append(make([]byte, 32-len(b)), b...) }

// tail encodes bytes at the end of arguments.
func tail(b []byte) []byte {
	out := append(pad(number(int64(len(b)))), b...)
	return append(out, make([]byte, (32-len(b)%32)%32)...)
}

// authorization is the message that a payer signs by EIP-3009.
type authorization struct {
	from, to [20]byte
	value    int64
	nonce    [32]byte
}

var (
	domainType   = keccak([]byte("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"))
	transferType = keccak([]byte("TransferWithAuthorization(address from,address to,uint256 value,uint256 " +
		"validAfter,uint256 validBefore,bytes32 nonce)"))
	domainName = keccak([]byte("USD Coin"))
	domainVer  = keccak([]byte("2"))
	noEnd      = number(1 << 40)
)

// digest returns the hash of the authorisation to sign, by EIP-712.
func (a authorization) digest(chainID int64, token [20]byte) [32]byte {
	domain := keccak(domainType[:], domainName[:], domainVer[:], pad(number(chainID)), pad(token[:]))
	message := keccak(transferType[:], pad(a.from[:]), pad(a.to[:]), pad(number(a.value)), pad(nil), pad(noEnd),
		a.nonce[:])
	return keccak([]byte("\x19\x01"), domain[:], message[:])
}

// input returns a call of transferWithAuthorization with the signature as v, r and s.
func (a authorization) input(chainID int64, token [20]byte, by key) []byte {
	r, s, parity := by.sign(a.digest(chainID, token))
	return abi("transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)",
		a.from[:], a.to[:], number(a.value), nil, noEnd, a.nonce[:], []byte{27 + parity}, r, s)
}

// bytesInput returns the call with the signature as bytes, which a contract can verify.
func (a authorization) bytesInput(chainID int64, token [20]byte, by key) []byte {
	r, s, parity := by.sign(a.digest(chainID, token))
	b := abi("transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
		a.from[:], a.to[:], number(a.value), nil, noEnd, a.nonce[:], number(7*32))
	return append(b, tail(append(append(append([]byte(nil), r...), s...), 27+parity))...)
}

// aggregate returns a call of several calls.
func aggregate(target [20]byte, inputs ...[]byte) []byte {
	b := abi("aggregate((address,bytes)[])", number(32), number(int64(len(inputs))))
	offset := 32 * len(inputs)
	var tails []byte
	for _, input := range inputs {
		b = append(b, pad(number(int64(offset+len(tails))))...)
		tails = append(tails, pad(target[:])...)
		tails = append(tails, pad(number(64))...)
		tails = append(tails, tail(input)...)
	}
	return append(b, tails...)
}
