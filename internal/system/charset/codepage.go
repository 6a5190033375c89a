package charset

import "slices"

// codePage returns the likely encoding of a text that is not UTF-8, as iconv calls it. It looks only at
// which bytes stand where, and so a short text may be of another encoding of the same shape.
func codePage(data []byte) string {
	if name := doubleByte(data); name != "" {
		return name
	}
	var runs, high, upper, lower, oem int
	inRun := false
	for _, c := range data {
		isHigh := c >= 0x80
		if isHigh && !inRun {
			runs++
		}
		inRun = isHigh
		switch {
		case !isHigh:
			continue
		case c >= 0xe0:
			lower++
		case c >= 0xc0:
			upper++
		case c <= 0xa5:
			oem++
		}
		high++
	}
	switch isInWords := high >= 2*runs && high > 2; {
	case isInWords && lower > upper && lower+upper > oem:
		return "WINDOWS-1251"
	case isInWords && upper >= lower && lower+upper > oem:
		return "KOI8-R"
	case isInWords:
		return "CP866"
	case oem == high && slices.ContainsFunc(data, isOEMLetter):
		return "CP850"
	}
	return "WINDOWS-1252"
}

// isOEMLetter reports whether a byte is a letter in the code pages of DOS, and no letter or mark that
// people type in Windows-1252.
func isOEMLetter(c byte) bool {
	return c == 0x81 || c == 0x90 || c == 0x8d || c == 0x8f || c >= 0xa0 && c <= 0xa5
}

// pairs counts the characters of two bytes.
type pairs struct {
	all, runs                               int
	kana, hanzi, hangul, euc, sjisKana, big int
}

// doubleByte returns the encoding of a text whose bytes above 0x7f are in pairs, empty for any other.
func doubleByte(data []byte) string {
	p, isOne := countPairs(data)
	switch {
	case !isOne || p.all == 0 || p.all < 2*p.runs:
		return ""
	case p.sjisKana*3 >= p.all:
		return "SHIFT_JIS"
	case p.euc == p.all && p.kana*4 >= p.all:
		return "EUC-JP"
	case p.euc == p.all && p.hangul >= 4 && p.hanzi == 0:
		return "EUC-KR"
	case p.euc < p.all && p.big*10 >= p.all*9:
		return "BIG5"
	}
	return "GB18030"
}

func countPairs(data []byte) (p pairs, isOne bool) {
	inRun := false
	for i := 0; i < len(data); i++ {
		lead := data[i]
		if lead < 0x80 {
			inRun = false
			continue
		}
		if i+1 == len(data) || lead == 0x80 || lead == 0xff || data[i+1] < 0x40 || data[i+1] == 0x7f || data[i+1] == 0xff {
			return p, false
		}
		i++
		trail := data[i]
		if !inRun {
			p.runs++
		}
		inRun = true
		p.count(lead, trail)
	}
	return p, true
}

// count counts one pair.
func (p *pairs) count(lead, trail byte) {
	p.all++
	if lead >= 0xa1 && trail >= 0xa1 {
		p.euc++
		switch {
		case lead == 0xa4 || lead == 0xa5:
			p.kana++
		case lead >= 0xb0 && lead <= 0xc8:
			p.hangul++
		case lead > 0xc8 && lead <= 0xf7:
			p.hanzi++
		}
	}
	if lead == 0x82 && trail >= 0x9f && trail <= 0xf1 || lead == 0x83 && trail <= 0x96 {
		p.sjisKana++
	}
	if lead >= 0xa1 && lead <= 0xf9 && (trail <= 0x7e || trail >= 0xa1) {
		p.big++
	}
}
