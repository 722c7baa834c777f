"""Names that say nothing: definitions whose whole name is a participle (``found``, ``seen``, ``stored``), or the verb
``take``. ``check_names.py`` counts them per module and fails where there are more than `BASELINE` allows;
``check_names.py kit`` lists those of a module.

Reported are values, functions, parameters, bound variables, and types without a parent, in main code. A name gets the
noun of the thing (``polledRows``), an act its verb.

Not reported:

- names of several words: ``polledRows`` is an adjective with its noun, ``isClosed`` a predicate
- flags: a boolean is a statement, and ``closed`` reads as one. It counts as one if the definition shows it: a declared
  type ``Boolean`` or ``bool``, or a value that is a literal, a comparison, a negation, or a call of a predicate
- overridden members, which have the name of their parent's
- a class or object that extends something: ``Accepted extends Verdict`` is a state, and states are adjectives
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: Maximum number of such names per module. It only falls: a new name is mended, not counted.
BASELINE = {
    "cdc": 19,
    "core": 31,
    "epochal": 34,
    "epochal.tools": 63,
    "ingest": 1,
    "inspect": 0,
    "jdbc": 50,
    "kit": 146,
    "random": 0,
    "rest": 12,
    "testkit": 16,
}

IRREGULAR = re.compile(
    "(?:un)?(?:begun|broken|brought|chosen|done|drawn|forgotten|found|frozen|given|gone|got|grown|heard|held|hidden|kept"
    "|known|lost|made|meant|mistaken|overtaken|proven|said|seen|sent|shown|spent|stuck|swept|taken|thrown|to(?:ld)"
    "|understood|written)"
)
REGULAR = re.compile("(?!(?:embed|indeed|hundred|(?:un)?(?:f|s|n|sp|br|proc|exc|succ)eed|.{0,4})$)[a-z]+ed")
VERBS = {"take"}

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
STRING = re.compile(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"')
#: The text after a name that shows that it is a flag.
COMPARISON = r"[^\n]* (?:==|!=|<|>|<=|>=|&&|\|\||eq|ne) "
PREDICATE = r"[^\n]*\.(?:is|has|exists|forall|contains|non)\w*(?:\([^()]*\))?(?:\n|$)"
FLAG = re.compile(
    r"(?:\([^()]*\)|\[\w+\])*"
    rf"(?:: Boolean\b|(?:: \w+)? = (?:true|false|new AtomicBoolean|!|{COMPARISON}|{PREDICATE}))"
)
SCALA = [
    re.compile(
        r"\b(?P<override>override )?(?:(?:final|private|protected|lazy|implicit)(?:\[\w+\])? )*"
        r"(?:val|var|def) (?P<name>[a-z]\w*)"
    ),
    re.compile(r"[(,]\s*(?:implicit |override |private |final |val |var |@\w+ )*(?P<name>[a-z]\w*)(?=: )"),
    re.compile(r"(?<![\w.)\]] )\b(?P<name>[a-z]\w*)(?= (?:<-|=>))"),
]
BOUND = re.compile(
    r"\bcase ([^\n]*?)(?: if [^\n]*?)? =>|\bval (\([^=\n]*\)|[A-Z][\w.]*\([^=\n]*\)) =|^ *(\([a-z][^=\n<]*\)) <-", re.M
)
TYPE = re.compile(r"\b(?:class|trait|object|type) ([A-Z]\w*)(?![^\n]*(?:\n +[^\n]*)?\bextends\b)")


def is_participle(name: str) -> bool:
    word = name[:1].lower() + name[1:]
    return bool(IRREGULAR.fullmatch(word) or REGULAR.fullmatch(word))


def is_unclear(name: str) -> bool:
    return name in VERBS or is_participle(name.strip("_"))


def is_bool(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == "bool"


def is_flag(value: ast.expr) -> bool:
    return (
        isinstance(value, (ast.Compare, ast.BoolOp))
        or (isinstance(value, ast.Constant) and isinstance(value.value, bool))
        or (isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not))
    )


def in_scala(text: str) -> Iterator[tuple[int, str]]:
    """The definitions of a file, each with its line."""
    code = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    code = STRING.sub(lambda m: '"' + re.sub(r"[^\n]", " ", m[0])[2:] + '"', code)
    names: dict[int, str] = {}
    for pattern in SCALA:
        for match in pattern.finditer(code):
            if match.groupdict().get("override") or FLAG.match(code, match.end("name")):
                continue
            names[match.start("name")] = match["name"]
    for match in BOUND.finditer(code):
        for group in (1, 2, 3):
            if match[group]:
                for bound in re.finditer(r"(?<![\w.`@])[a-z]\w*(?![\w.(`])(?!: Boolean)", match[group]):
                    names[match.start(group) + bound.start()] = bound[0]
    for match in TYPE.finditer(code):
        names[match.start(1)] = match[1]
    for start, name in sorted(names.items()):
        yield code.count("\n", 0, start) + 1, name


class PythonNames(ast.NodeVisitor):
    """The definitions of a module. A variable that a function assigns several times counts once."""

    def __init__(self) -> None:
        self.scope: ast.AST | None = None
        #: The first line of each name, by its scope.
        self.lines: dict[tuple[ast.AST | None, str], int] = {}

    def add(self, node: ast.expr | ast.stmt | ast.arg, name: str) -> None:
        self.lines.setdefault((self.scope, name), node.lineno)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if not is_bool(node.returns):
            self.add(node, node.name)
        outer, self.scope = self.scope, node
        self.generic_visit(node)
        self.scope = outer

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if not node.bases:
            self.add(node, node.name)
        self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        if not is_bool(node.annotation):
            self.add(node, node.arg)

    def visit_Assign(self, node: ast.Assign) -> None:
        if is_flag(node.value):
            self.visit(node.value)
        else:
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if not is_bool(node.annotation):
            self.generic_visit(node)
        elif node.value:
            self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.add(node, node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Store):
            self.add(node, node.attr)
        self.generic_visit(node)


def in_python(text: str) -> Iterator[tuple[int, str]]:
    names = PythonNames()
    names.visit(ast.parse(text))
    yield from sorted((line, name) for (_, name), line in names.lines.items())


def module(path: Path) -> str:
    """The sbt project; or the layer of the Python package."""
    parts = path.relative_to(ROOT).parts
    return parts[1] if parts[0] == "scala" else "epochal.tools" if "tools" in parts else "epochal"


def unclear() -> Iterator[tuple[str, Path, int, str]]:
    """Each such name with its module, its file and line."""
    paths = [*ROOT.glob("scala/*/src/main/**/*.scala"), *ROOT.glob("python/src/**/*.py")]
    for path in sorted(path for path in paths if not set(path.parts) & {"bench", "testsupport"}):
        definitions = in_scala if path.suffix == ".scala" else in_python
        for line, name in definitions(path.read_text("utf-8")):
            if is_unclear(name):
                yield module(path), path.relative_to(ROOT), line, name


def main(modules: list[str]) -> int:
    names = list(unclear())
    for of, path, line, name in names:
        if of in modules:
            print(f"{path}:{line}: {name}")
    counts = Counter(of for of, *_ in names)
    problems = [
        f"{of}: {count} names that say nothing, more than {BASELINE.get(of, 0)}; list them with check_names.py {of}"
        for of, count in sorted(counts.items())
        if count > BASELINE.get(of, 0)
    ]
    fewer = {of: counts[of] for of, most in BASELINE.items() if counts[of] < most}
    print("\n".join(problems) or f"check_names: no new names{f'; lower BASELINE to {fewer}' if fewer else ''}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
