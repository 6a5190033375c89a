package secrets_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/massgen/massgen/internal/system/secrets"
)

// BenchmarkMask masks texts of 64 KiB, as models and tools write them, with three keys.
func BenchmarkMask(b *testing.B) {
	var f secrets.Finder
	f.Add("sk-proj-Abc+Def/123456789==", "sk-ant-REDACTED", "AIzaSyB-0123456789_abcdefghijklmnop")
	random := rand.New(rand.NewPCG(1, 2))
	bytes := make([]byte, 1<<16)
	for i := range bytes {
		bytes[i] = byte(random.Uint32())
	}
	for name, text := range map[string]string{
		"prose":  strings.Repeat("It is clean and cheap, and in 2024 it grew by 12 %; the others did not. ", 1000),
		"code":   strings.Repeat("\tif n := len(text); n >= 0x10 && text[n-1] == '\\x00' { // see page 12\n\t\treturn fmt.Sprintf(\"%d&%s\", a[1], b)\n\t}\n", 1000),
		"JSON":   strings.Repeat(`{"texts":[{"sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","bytes":12}],"text":"so\nit \"is\""}`, 1000),
		"list":   strings.Trim(fmt.Sprintf("%d", bytes), "[]"),
		"dump":   strings.ToLower(fmt.Sprintf("% x", bytes)),
		"HTML":   strings.Repeat("<p>&lt;b&gt; caf&eacute;&nbsp;&#8212; 10&nbsp;% &amp; <a href=\"?a=1&b=%20c\">more</a></p>\n", 1000),
		"base64": base64.StdEncoding.EncodeToString(bytes),
		"CJK":    strings.Repeat("它干净又便宜,2024年增长了12%。", 3000),
	} {
		text = text[:1<<16]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if f.Mask(text) == "" {
					b.Fatal("nothing is left")
				}
			}
		})
	}
}
