"""Every error that a user or a model can meet; nothing else is raised on purpose.

ScriptoriumError                 code, message, path, details
├── InvalidArgument              malformed input, bad regex, unsupported patch feature, over a limit
├── PathOutsideWorkspace         absolute path, `..`, or a symlink on the way
├── ReadOnlyPath                 the target is not topics/**/*.md or core.md
├── PatchConflict                the file is not as the patch expects
├── BrokenContract               the result breaks the contract; carries every problem
│   ├── InvalidTopicFormat       the topic contract or core's budget
│   ├── MissingSource            a cited label or source does not exist
│   └── DanglingBlockLink        a link's block does not exist
├── ConcurrentUpdate             the base revision is stale, or the lock is held
├── EmbeddingUnavailable         no usable embedding endpoint
├── GitCommitFailed              memory is installed, the commit is not
└── InternalError                anything else

Domain code raises these; only the adapters (`interface/`) make an envelope or an exit code of them.
A message names the thing, what was expected, what was found, and the next step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from scriptorium.format.model import Problem

type Json = bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None


class ScriptoriumError(Exception):
    """An expected failure.

    `code` is a name that clients act on, `path` the workspace path at fault if there is one,
    `details` JSON values that help the caller to mend its request.
    """

    code: ClassVar[str] = "INTERNAL_ERROR"

    def __init__(
        self, message: str, *, path: str | None = None, details: Mapping[str, Json] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.details: dict[str, Json] = dict(details or {})


class InvalidArgument(ScriptoriumError):
    code = "INVALID_ARGUMENT"


class PathOutsideWorkspace(ScriptoriumError):
    code = "PATH_OUTSIDE_WORKSPACE"


class ReadOnlyPath(ScriptoriumError):
    code = "READ_ONLY_PATH"


class PatchConflict(ScriptoriumError):
    code = "PATCH_CONFLICT"


class BrokenContract(ScriptoriumError):
    """The result of an update breaks the contract; `details.problems` lists every problem."""

    problems: tuple[Problem, ...] = ()

    @staticmethod
    def of(
        problems: Sequence[Problem],
        *,
        intro: str = "The update was refused and nothing changed",
        step: str = "Mend the patch and send it again.",
    ) -> BrokenContract:
        """The error whose code is that of the first problem, and which carries all of them."""
        first = problems[0]
        kinds = (InvalidTopicFormat, MissingSource, DanglingBlockLink)
        kind = next(cls for cls in kinds if cls.code == first.error)
        count = f"{len(problems)} problems" if len(problems) > 1 else "1 problem"
        shown = "\n".join(f"- {p.path}:{p.line}: {p.message}" for p in problems[:5])
        more = f"\n- and {len(problems) - 5} more in details.problems" if len(problems) > 5 else ""
        error = kind(
            f"{intro}: {count}. {step}\n{shown}{more}",
            path=first.path,
            details={
                "problems": [
                    {"path": p.path, "line": p.line, "code": p.rule, "message": p.message}
                    for p in problems
                ]
            },
        )
        error.problems = tuple(problems)
        return error


class InvalidTopicFormat(BrokenContract):
    code = "INVALID_TOPIC_FORMAT"


class MissingSource(BrokenContract):
    code = "MISSING_SOURCE"


class DanglingBlockLink(BrokenContract):
    code = "DANGLING_BLOCK_LINK"


class ConcurrentUpdate(ScriptoriumError):
    code = "CONCURRENT_UPDATE"


class EmbeddingUnavailable(ScriptoriumError):
    code = "EMBEDDING_UNAVAILABLE"


class GitCommitFailed(ScriptoriumError):
    """`details` holds the whole result of the update, with `memory_committed` true."""

    code = "GIT_COMMIT_FAILED"


class InternalError(ScriptoriumError):
    code = "INTERNAL_ERROR"
