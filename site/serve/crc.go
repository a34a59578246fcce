package serve

// The CRC-32 of bytes and of what follows them is made of theirs: behind n more bytes, that of the first is multiplied by
// x^8n, modulo the polynomial. So what is put together of pieces needs no look at their content.

// crcPoly is the polynomial of gzip, its lowest power in the highest bit.
const crcPoly = 0xedb88320

// crcTimes multiplies two polynomials modulo crcPoly.
func crcTimes(a, b uint32) (product uint32) {
	for ; a != 0; a <<= 1 {
		product ^= b & -(a >> 31)
		b = b>>1 ^ crcPoly&-(b&1)
	}
	return product
}

// crcPowers are x^8, and each the square of the one before.
var crcPowers = func() (powers [32]uint32) {
	powers[0] = 1 << (31 - 8)
	for i := 1; i < len(powers); i++ {
		powers[i] = crcTimes(powers[i-1], powers[i-1])
	}
	return powers
}()

// crcBehind is what the CRC-32 of some bytes gives to that of the same and n more: it is to be added, by xor, to that of these.
func crcBehind(crc uint32, n uint32) uint32 {
	for i := 0; n > 0; n >>= 1 {
		if n&1 != 0 {
			crc = crcTimes(crcPowers[i], crc)
		}
		i++
	}
	return crc
}
