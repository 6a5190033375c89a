package picture

import (
	_ "embed" // for rules
	"strings"
)

// rules has the CSS rules of the picture. A word with a dollar sign is a colour. A rule with OWN stands for
// a rule for each colour of agents. Programs that show SVG do not support CSS variables.
//
//go:embed picture.css
var rules string

// light and dark have the colours of the rules, by their names.
const (
	light = "$back #ffffff $edge #d9dde3 $ink #1d2430 $soft #5a6675 $rail #e6e9ee $gold #9a6700 $glow #fdf3d7 $bad #c0392b $grey #7b8794 " +
		"$c0 #0b7285 $c1 #9c36b5 $c2 #2b8a3e $c3 #1864ab $c4 #a8560b $c5 #c2255c $c6 #5c5fc4 $c7 #5c7c0f"
	dark = "$back #161b22 $edge #3d444d $ink #e6edf3 $soft #9da7b3 $rail #2a313a $gold #e3b341 $glow #2c2613 $bad #ff7b72 $grey #8b949e " +
		"$c0 #3bc9db $c1 #da77f2 $c2 #69db7c $c3 #74c0fc $c4 #ffa94d $c5 #faa2c1 $c6 #a5a7f5 $c7 #c0eb75"
)

// style returns the rules of the picture.
func style() string { return onScreens(rules, light, dark) }

// onScreens returns rules with light colours, and a variant with dark colours for dark screens.
func onScreens(rules, light, dark string) string {
	return coloured(rules, light) + "@media (prefers-color-scheme: dark) {\n" + coloured(rules, dark) + "}\n"
}

// coloured returns rules with colours.
func coloured(rules, colours string) string {
	var b strings.Builder
	for rule := range strings.Lines(rules) {
		if !strings.Contains(rule, "OWN") {
			b.WriteString(rule)
			continue
		}
		for _, own := range []string{"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "grey"} {
			b.WriteString(strings.NewReplacer("OWN", own, "$own", "$"+own).Replace(rule))
		}
	}
	return strings.NewReplacer(strings.Fields(colours)...).Replace(b.String())
}
