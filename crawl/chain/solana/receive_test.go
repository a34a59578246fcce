package solana

import "testing"

// TestDeriveTokenAccount compares addresses with those that npm @solana-program/token 0.5 derives. Some need numbers
// below 255, one owner has no private key.
func TestDeriveTokenAccount(t *testing.T) {
	t.Parallel()
	const usdc, usdg = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "2u1tszSeqZ3qBWF3uNGPFc8TzMk2tdiwknnRMWGWjGWH"
	for _, test := range []struct{ owner, program, mint, want string }{
		{"2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4", tokenProgram, usdc,
			"3XZXfFJHF5ox3yPop16oqYfSWxLpkjsEuvTe2S67G2rj"},
		{"EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd", tokenProgram, usdc,
			"2pgEYY7LqjJV3qyhsipqvYMWDVg9ro7uVrFMnACmc6Tn"},
		{"CHNLxYvVA28MJP9PrFuDXccuoGXAx7jBacfLEkahyGsX", tokenProgram, usdc,
			"3wiJ3iVPRV6rdcadbcrpzuGLg5pgNnpqn2Rks9GhSfNk"},
		{"2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4", token2022Program, usdg,
			"3sSjL1PUKNLmGaQ6prjsHJZ7VsX2Z7vKwT5PWspcBLyN"},
		{"EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd", token2022Program, usdg,
			"HHgBKkWUz3kVvUaVUmBAFDXXJGtKHY3ZrAaogrKF1Fzb"},
		{"9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM", token2022Program, usdg,
			"8p4hpAKDmCWoMEDN5mdQmr5i3E29brcEtN692KQNFuSV"},
		{"not an address", tokenProgram, usdc, ""},
		{"2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4", "", usdc, ""},
	} {
		if got, _ := deriveTokenAccount(test.owner, test.program, test.mint); got != test.want {
			t.Errorf("token account of %s for %s: %s, want %s", test.owner, test.mint, got, test.want)
		}
	}
}
