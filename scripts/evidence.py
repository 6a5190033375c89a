"""Question sets from a seed, and the part of docs/evidence.md that is measured. Used by evidence.sh."""
import datetime
import html
import json
import pathlib
import random
import re
import sys


def arithmetic(draw):
    a, b, c = draw.randint(11, 99), draw.randint(11, 99), draw.randint(2, 9)
    return f"What is {a} * {b} - {c}? Answer with the number.", str(a * b - c)


def dates(draw):
    day = datetime.date(1900, 1, 1) + datetime.timedelta(draw.randint(0, 70_000))
    later = draw.randint(20, 400)
    return f"Which date is {later} days after {day}? Answer as YYYY-MM-DD.", str(day + datetime.timedelta(later))


def logic(draw):
    names = draw.sample(["Ann", "Ben", "Cleo", "Dan", "Eva", "Finn"], 4)
    facts = [f"{a} is older than {b}." for a, b in zip(names, names[1:])]
    draw.shuffle(facts)
    options = sorted(names)
    listed = " ".join(f"{letter}) {name}" for letter, name in zip("ABCD", options))
    return f"{' '.join(facts)} Who is the second oldest? {listed} Answer with the letter.", "ABCD"[options.index(names[1])]


def code(draw):
    a, b, c = draw.randint(2, 9), draw.randint(1, 9), draw.randint(2, 5)
    body = f"def f(x):\n    return {a} * x + {b} if x % {c} else {b} - x"
    tests = "\n".join(f"assert f({x}) == {a * x + b if x % c else b - x}" for x in (0, 1, c, c + 1, 3 * c))
    return f"Write a Python function f(x) that returns {a}x + {b}, or {b} - x where {c} divides x. Answer with the code alone. It must pass:\n{tests}", body


KINDS = {"arithmetic": arithmetic, "dates": dates, "logic": logic, "code": code}


def generate(folder, seed, counts):
    for name, count in counts.items():
        draw, seen, lines = random.Random(f"{seed} {name}"), set(), []
        while len(lines) < count:
            question, expected = KINDS[name](draw)
            if question not in seen:
                seen.add(question)
                lines.append(json.dumps({"id": f"{name}{len(lines) + 1}", "question": question, "expected": expected}))
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


def check():
    """Runs the tests of a question on an answer: standard input, beside the file question.txt."""
    answer = sys.stdin.read()
    fenced = re.search(r"```\w*\n(.*?)```", answer, re.S)
    tests = re.findall(r"^assert .*$", pathlib.Path(pathlib.Path.home(), "question.txt").read_text(), re.M)
    exec((fenced.group(1) if fenced else answer) + "\n" + "\n".join(tests), {})


def percent(share):
    return f"{100 * share:.0f} %"


def table(result):
    lines = ["| | Right | 95 % | Calls | Agreement | Against the best member |", "| --- | --- | --- | --- | --- | --- |"]
    for f in result["members"] + result["strategies"]:
        agreement = "" if f["agreement"] is None else percent(f["agreement"])
        lines.append(f"| {f['name']} | {percent(f['accuracy'])} | {percent(f['interval'][0])} to {percent(f['interval'][1])} | {f['calls']:,} | {agreement} | {f['verdict']} |")
    lines.append("")
    votes = "not known" if result["effective_votes"] is None else f"{result['effective_votes']:.1f}"
    lines.append(f"Ceiling {percent(result['ceiling'])}; the {len(result['members'])} members are worth {votes} independent ones.")
    return lines


def pictures(page, to):
    """Writes the two pictures of a page as files of their own."""
    text = page.read_text()
    style = html.unescape(re.search(r"<style>(.*?)</style>", text, re.S).group(1))
    style = "\n".join(line for line in style.splitlines() if line.startswith((".picture", "@media", "}")))
    for name, picture in zip(("intervals", "reliability"), re.findall(r"<svg.*?</svg>\n?", text, re.S)):
        picture = picture.replace('role="img">', f'role="img">\n<style>\n{style}\n</style>', 1)
        (to.parent / f"{to.name}_{name}.svg").write_text(picture)


def report(folder, page, scenes):
    lines = []
    for name, title, says in scenes:
        result = json.loads((folder / f"{name}.json").read_text())
        lines += [f"### {title}", "", f"{result['questions']} questions, {result['runs']} run each. {says}", ""] + table(result) + [""]
        if name in DRAWN:
            pictures(folder / f"{name}.html", page.parent / f"evidence_{name}")
            lines += [f"![Right answers with their intervals](evidence_{name}_intervals.svg)", "", f"![Right answers by agreement](evidence_{name}_reliability.svg)", ""]
    text = page.read_text()
    begin, end = "<!-- measured by scripts/evidence.sh -->\n", "<!-- end of measured -->"
    before, rest = text.split(begin)
    page.write_text(before + begin + "\n" + "\n".join(lines) + "\n" + end + rest.split(end)[1])


DRAWN = ("independent", "uneven")

if __name__ == "__main__":
    if sys.argv[1] == "questions":
        generate(pathlib.Path(sys.argv[2]), int(sys.argv[3]), dict((k, int(n)) for k, n in (pair.split("=") for pair in sys.argv[4:])))
    elif sys.argv[1] == "check":
        check()
    elif sys.argv[1] == "report":
        report(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), json.loads(sys.stdin.read()))
