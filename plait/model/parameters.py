"""Parameters of a program whose command line is known: how to write a value so that the program parses exactly this value
(T124).

The value of a long option is written in the same word, `--name=value`, and arguments come after `--`; in both places text may begin with
`-`. Where a value is a separate word (`-n value`, the second of a pair), text that begins with `-` is rejected. Each parameter has
`names`, the payload names of its values; `words`, the words for the given values; and a `str()` that shows its syntax.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from plait.model.errors import InvalidArguments
from plait.model.texts import shown

LONGEST: Final = 100_000
"""The maximum size of an argument in bytes. Linux allows 128 KiB."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag, with the word for each of its values. The word is empty for a value that adds nothing to the command line."""

    name: str
    written: tuple[tuple[Any, str], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def words(self, values: Mapping[str, Any]) -> list[str]:
        if self.name not in values:
            return []
        for value, word in self.written:
            if value == values[self.name] and type(value) is type(values[self.name]):
                return [word] if word else []
        raise InvalidArguments(f"{self.name} must be one of the flag's values, got {shown(values[self.name])}")

    def __str__(self) -> str:
        return f"[{'|'.join(word for _, word in self.written if word)}]"


@dataclass(frozen=True, slots=True)
class Count:
    """A counted option, whose word is repeated."""

    name: str
    word: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def words(self, values: Mapping[str, Any]) -> list[str]:
        return [self.word] * int(values.get(self.name, 0))

    def __str__(self) -> str:
        return f"[{self.word}]..."


@dataclass(frozen=True, slots=True)
class Option:
    """A word followed by `size` values; with `many`, repeated for each item of a list."""

    name: str
    word: str
    size: int = 1
    many: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def words(self, values: Mapping[str, Any]) -> list[str]:
        if self.name not in values:
            return []
        found: list[str] = []
        for item in values[self.name] if self.many else [values[self.name]]:
            first, *others = [item] if self.size == 1 else item
            if self.word.startswith("--"):
                found.append(checked(f"{self.word}={text_of(first, self.name)}", self.name))
            else:
                found += [self.word, _alone(first, self.name)]
            found += [_alone(other, self.name) for other in others]
        return found

    def __str__(self) -> str:
        shape = " ".join([self.name.upper()] * self.size)
        return f"[{self.word}{'=' if self.word.startswith('--') else ' '}{shape}]" + ("..." if self.many else "")


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments after `--`, by position, each as (name, number of words), with -1 for any number."""

    places: tuple[tuple[str, int], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.places)

    def words(self, values: Mapping[str, Any]) -> list[str]:
        found: list[str] = []
        missing: str | None = None
        for name, size in self.places:
            items = [] if name not in values else [values[name]] if size == 1 else values[name]
            if items and missing is not None:
                raise InvalidArguments(f"{name} requires a value for {missing}, which comes before it")
            if not items:
                missing = name
            found += [checked(text_of(item, name), name) for item in items]
        return ["--", *found] if found else []

    def __str__(self) -> str:
        return " ".join(["--", *(name.upper() + ("..." if size == -1 else "") for name, size in self.places)])


Parameter = Flag | Count | Option | Arguments


def text_of(value: Any, name: str) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer() and abs(value) < 2**53:
            return str(int(value))  # JSON does not distinguish 1 from 1.0, but a program that expects an integer does
        case str() | int() | float():
            return str(value)
        case _:
            raise InvalidArguments(f"{name} must be text, a number or a boolean, got {shown(value)}")


def checked(word: str, name: str) -> str:
    """Check that a word can be an argument."""
    try:
        size = len(word.encode())
    except UnicodeEncodeError:  # a lone surrogate; Python would pass some of them on as raw bytes
        raise InvalidArguments(f"{name} is not valid Unicode") from None
    if "\0" in word or size > LONGEST:
        raise InvalidArguments(f"{name} must have at most {LONGEST:,} bytes and must not contain NUL characters")
    return word


def _alone(value: Any, name: str) -> str:
    word = checked(text_of(value, name), name)
    if isinstance(value, str) and word.startswith("-"):
        raise InvalidArguments(f"{name}: {shown(word)} would be parsed as an option")
    return word
