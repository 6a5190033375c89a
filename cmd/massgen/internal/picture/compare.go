package picture

import (
	_ "embed" // for the page
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/coordination/evidence"
	"github.com/massgen/massgen/internal/system/plain"
)

// Comparison is what the page of a comparison shows.
type Comparison struct {
	Report evidence.Report
	// Notes are the sentences below the table.
	Notes []string
	// Show is the command that shows a session, with the word SESSION in the place of its id.
	Show      string
	Questions []ComparedQuestion
}

// ComparedQuestion is a question with the answers of all columns, members first.
type ComparedQuestion struct {
	ID, Question, Expected string
	Answers                []ComparedAnswer
}

// ComparedAnswer is the answer of a column: its score in a word, and the sessions that have it.
type ComparedAnswer struct {
	Right    string
	Sessions []string
}

// comparePage is the template of the page.
//
//go:embed compare.html
var comparePage string

// CompareHTML draws a comparison as a page in one file. It contacts no host.
func CompareHTML(c Comparison) (string, error) {
	t, err := template.New("compare").Funcs(template.FuncMap{
		"line": plain.Line, "text": text, "thousands": plain.Thousands, "count": plain.Count, "percent": percent, "dollars": dollars,
		"tokens": func(f evidence.Figures) string { return plain.Thousands(f.InputTokens + f.OutputTokens) },
	}).Parse(comparePage)
	if err != nil {
		return "", fmt.Errorf("read the page: %w", err)
	}
	var b strings.Builder
	err = t.Execute(&b, struct {
		Comparison
		Style                  template.CSS
		Intervals, Reliability template.HTML
		Columns                []evidence.Figures
	}{
		c, template.CSS(style() + onScreens(pageStyle, lightPage, darkPage)),
		template.HTML(Intervals(c.Report)), template.HTML(Reliability(c.Report)), slices.Concat(c.Report.Members, c.Report.Strategies),
	})
	return b.String(), err
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

func dollars(usd *float64) string {
	if usd == nil {
		return "not known"
	}
	return fmt.Sprintf("$%.4f", *usd)
}

// The measures of the two pictures in pixels.
const (
	rowHeight   = 34.0
	squareSize  = 300.0
	axisHeight  = 34.0
	intervalBar = 6.0
)

// Intervals draws the accuracy of each column with its interval, and the ceiling.
func Intervals(r evidence.Report) string {
	columns := slices.Concat(r.Members, r.Strategies)
	d := &drawing{left: margin + 40, y: margin}
	for _, f := range columns {
		d.left = max(d.left, margin+18+8.6*float64(min(cells(plain.Line(f.Name)), longestName)))
	}
	d.plot = svgWidth - 2*margin - d.left
	at := func(share float64) float64 { return d.left + d.plot*share }
	d.text(margin, d.y+4, "round", "start", "Right answers, with the interval of 95 %")
	top := d.y + 20
	bottom := top + rowHeight*float64(len(columns))
	for tenth := 0; tenth <= 10; tenth += 2 {
		x := at(float64(tenth) / 10)
		fmt.Fprintf(&d.out, `<line class="rail" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", x, top, x, bottom)
		d.text(x, bottom+18, "small", "middle", fmt.Sprintf("%d %%", tenth*10))
	}
	if r.Ceiling != nil && len(r.Members) > 1 {
		x := at(*r.Ceiling)
		fmt.Fprintf(&d.out, `<line class="bound" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", x, top-8, x, bottom)
		d.text(x, top-10, "small", "middle", "ceiling")
	}
	for i, f := range columns {
		y := top + rowHeight*(float64(i)+0.5)
		own := colourOf(i)
		d.text(margin, y+4, "name "+own, "start", plain.Cut(f.Name, longestName))
		fmt.Fprintf(&d.out, `<rect class="call %s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="3"/>`+"\n",
			own, at(f.Interval[0]), y-intervalBar/2, max(at(f.Interval[1])-at(f.Interval[0]), 1), intervalBar)
		fmt.Fprintf(&d.out, `<circle class="answer %s" cx="%.1f" cy="%.1f" r="7"><title>%s</title></circle>`+"\n", own, at(f.Accuracy), y,
			escaped(fmt.Sprintf("%s: %s (%s to %s)", f.Name, percent(f.Accuracy), percent(f.Interval[0]), percent(f.Interval[1]))))
	}
	return d.framed(svgWidth, bottom+axisHeight)
}

// Reliability draws for each strategy how often an answer is right by the agreement on it.
func Reliability(r evidence.Report) string {
	d := &drawing{left: margin + 50, y: margin}
	d.text(margin, d.y+4, "round", "start", "Share of right answers, by the agreement of the panel")
	top, bottom := d.y+20, d.y+20+squareSize
	x := func(share float64) float64 { return d.left + squareSize*share }
	y := func(share float64) float64 { return bottom - squareSize*share }
	for tenth := 0; tenth <= 10; tenth += 2 {
		share := float64(tenth) / 10
		fmt.Fprintf(&d.out, `<line class="rail" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", x(share), top, x(share), bottom)
		fmt.Fprintf(&d.out, `<line class="rail" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", d.left, y(share), x(1), y(share))
		d.text(x(share), bottom+18, "small", "middle", percent(share))
		d.text(d.left-8, y(share)+4, "small", "end", percent(share))
	}
	fmt.Fprintf(&d.out, `<line class="bound" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", x(0), y(0), x(1), y(1))
	row := top + 12
	for i, f := range r.Strategies {
		if len(f.Bins) == 0 {
			continue
		}
		own := colourOf(len(r.Members) + i)
		path := make([]string, len(f.Bins))
		most := 0
		for _, b := range f.Bins {
			most = max(most, b.Count)
		}
		for at, b := range f.Bins {
			path[at] = fmt.Sprintf("%.1f,%.1f", x(b.Agreement), y(b.Accuracy))
			fmt.Fprintf(&d.out, `<circle class="answer %s" cx="%.1f" cy="%.1f" r="%.1f"><title>%s</title></circle>`+"\n", own, x(b.Agreement), y(b.Accuracy),
				4+6*math.Sqrt(float64(b.Count)/float64(most)), escaped(fmt.Sprintf("%s: agreement %s, right %s, %s", f.Name, percent(b.Agreement), percent(b.Accuracy), plain.Count(b.Count, "answer"))))
		}
		fmt.Fprintf(&d.out, `<polyline class="link %s" points="%s"/>`+"\n", own, strings.Join(path, " "))
		d.text(x(1)+40, row, "name "+own, "start", plain.Cut(f.Name, longestName))
		if f.CalibrationError != nil {
			d.text(x(1)+40, row+16, "small", "start", "calibration error "+percent(*f.CalibrationError))
		}
		row += 40
	}
	d.text(x(1)+40, bottom, "small", "start", "On the dashed line agreement says how often an answer is right.")
	return d.framed(svgWidth, max(bottom, row)+axisHeight)
}

// framed returns the drawing as a part of a page.
func (d *drawing) framed(width, height float64) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="picture" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img">`+"\n"+
		`<rect class="card" x="0.5" y="0.5" width="%.0f" height="%.0f" rx="14"/>`+"\n", width, height, width, height, width-1, height-1) + d.out.String() + "</svg>\n"
}

// colourOf returns the class of a column's colour.
func colourOf(column int) string { return fmt.Sprintf("c%d", column%8) }
