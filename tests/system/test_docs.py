# SPDX-License-Identifier: Apache-2.0
"""What the documentation names is there: files, headings, commands with their options, variables."""

import functools
import re
import subprocess

import pytest
from conftest import PROGRAM, REPOSITORY

PAGES = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("examples/**/*.md")])
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
GROUPS = {"image", "site", "study", "token"}  # commands that consist of others
WHERE_PROGRAMS_BEGIN = {"launch": 1, "box": 2}  # from the n-th word on that is no option, options are the program's own


def page_name(page):
    return str(page.relative_to(REPOSITORY))


@pytest.fixture(params=PAGES, ids=page_name)
def page(request):
    return request.param


def anchors(page):
    """The headings of a page, as addresses call them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{link}: there is no such file"
        if anchor:
            assert anchor in anchors(target), f"{link}: there is no such heading"


def test_paths_in_the_text_exist(page):
    for path in re.findall(r"`((?:bench|cmake|docs|examples|portal|python|src|tests|tools)/[\w./-]+)`", page.read_text()):
        assert (REPOSITORY / path).exists(), path


@functools.cache
def sources():
    files = [path for folder in ("src", "python") for path in (REPOSITORY / folder).rglob("*.*")]
    return "\n".join(path.read_text() for path in files if path.suffix in {".cpp", ".h", ".py"})


def test_variables_are_read_by_the_program(page):
    for name in set(re.findall(r"\bLONGSHIP_[A-Z_]*[A-Z]\b", page.read_text())):
        assert f'"{name}"' in sources(), name


@functools.cache
def help_text(*command):
    return subprocess.run([PROGRAM, *command, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout


@functools.cache
def help_of(*command):
    """The commands below this one; its options, and which of them are followed by a value."""
    text = help_text(*command)
    _, _, listing = text.partition("Subcommands:\n")
    options = {}
    for short, long, value in re.findall(r"^  (?:(-\w),)?(--[\w-]+)(?: (\S+))?", text, re.MULTILINE):
        takes_value = value not in {"", "Excludes:", "Needs:"}
        options |= {name: takes_value for name in (short, long) if name}
    return re.findall(r"^  ([a-z]+) ", listing.partition("Examples:")[0], re.MULTILINE), options


def command_lines(text):
    """All that follows the program's name, in blocks without a language, indented lines and `spans`; a | b are two."""
    rest = FENCE.sub("", text)
    fences = "\n".join(fence for fence in FENCE.findall(text) if fence.startswith("```\n"))
    for line in [*fences.splitlines(), *re.findall(r"^    .*$", rest, re.MULTILINE), *re.findall(r"`([^`\n]+)`", rest)]:
        for words in re.findall(r"(?:^|[\s(])longship ((?:-[\w-]+ )*[a-z][^;]*)", line.partition(" #")[0]):
            yield words.replace("\\|", "|").split("|")


def test_commands_are_found_where_they_stand():
    text = ("`longship -v box X`\n\n    salloc longship run a.toml  # longship x\n"
            "```\n$ longship image ls | show N\n```\n```python\nlongship import\n```")
    assert sorted(command_lines(text)) == [["-v box X"], ["image ls ", " show N"], ["run a.toml "]]


@pytest.mark.parametrize("line, complaint", [
    ("longship runn job.toml", "no such command"),
    ("longship image shows X", "no such command"),
    ("longship submit job.toml --await", "no option --await"),
    ("longship image ls | rm --all X", "no option --all"),
    ("longship box --bind /a IMAGE --nothing -- ls --all", "no option --nothing"),
    ("longship launch --rank 2 ls", "no option --rank"),
    ("longship check IMAGE [--at SITE]", "no option --at"),
])
def test_a_wrong_command_is_noticed(line, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_commands(f"```\n{line}\n```")


def check_options(command, words):
    _, options = help_of(*command)
    plain, value_follows = 0, False
    for word in words:
        if value_follows or not word.startswith("-"):
            plain += not value_follows
            value_follows = False
            if plain == WHERE_PROGRAMS_BEGIN.get(command[0]):
                return
            continue
        if word == "--":
            return
        name, has_value, _ = word.partition("=")
        assert name in options, f"longship {' '.join(command)} has no option {name}"
        value_follows = options[name] and not has_value


def check_commands(text):
    for pieces in command_lines(text):
        group = ()
        for number, piece in enumerate(pieces):
            words = [word.strip("[]") for word in piece.split() if word not in {"-v", "-q"}]
            if number == 0 and words[0] in GROUPS:
                group, words = (words[0],), words[1:]
            if not words:
                continue
            known, _ = help_of(*group)
            if number == 0:
                assert words[0] in known, f"longship {' '.join(group)} {words[0]}: there is no such command"
            if words[0] in known:
                check_options((*group, words[0]), words[1:])


def test_commands_and_their_options_exist(page):
    check_commands(page.read_text())


def test_what_help_shows_as_examples_exists():
    known, _ = help_of()
    commands = [(name,) for name in known] + [(group, name) for group in sorted(GROUPS) for name in help_of(group)[0]]
    for command in commands:
        footer = help_text(*command).partition("Examples:\n")[2]
        examples = "\n".join(re.findall(r"^  .*$", footer, re.MULTILINE))
        check_commands(f"```\n{examples}\n```")
        for path in re.findall(r"\bexamples/[\w./-]+", examples):
            assert (REPOSITORY / path).exists(), f"longship {' '.join(command)} --help: {path}"
