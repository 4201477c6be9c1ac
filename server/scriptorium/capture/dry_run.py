"""What an ingest would send, how large it is and about what it would cost.

Calls no model, makes no workspace, and changes nothing in one but caches of what memory holds
already.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from scriptorium.capture import intake, known, ledger, pending, request
from scriptorium.capture.batch import prompt_for
from scriptorium.capture.options import IngestOptions, IngestReport, Preview, Surroundings
from scriptorium.capture.pool import Pool
from scriptorium.capture.request import Known
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.workspace import Workspace


def report(
    transcripts: Iterable[Path], options: IngestOptions, around: Surroundings
) -> IngestReport:
    """The preview of everything pending, the transcripts' new messages included. Raises OSError."""
    layout = Layout.of(options.workspace)
    pool = _pool(layout, transcripts, options, around)
    prompt = _prompt(layout, pool, around) if pool.waiting else ""
    costs = [ledger.batch_cost(sum(w.tokens for w in batch)) for batch in pool.batches()]
    preview = Preview(len(pool.waiting), len(costs), pool.tokens, prompt, round(sum(costs), 4))
    return IngestReport("dry-run", pending_tokens=pool.tokens, preview=preview)


def _prompt(layout: Layout, pool: Pool, around: Surroundings) -> str:
    now = around.now()
    if not layout.root.is_dir():
        return request.prompt(pool.batch(), Known("", (), ()), ledger.local(now).tzinfo)
    workspace = Workspace.open(layout.root, create=False)
    search = known.IndexSearch(workspace)
    try:
        return prompt_for(workspace, search, pool.batch(), now)
    finally:
        search.done()


def _pool(
    layout: Layout, transcripts: Iterable[Path], options: IngestOptions, around: Surroundings
) -> Pool:
    read = (intake.preview(layout, transcript, options.cwd) for transcript in transcripts)
    messages = (message for one in read for message in one)
    new = pending.unknown(layout, messages, around.now())
    return Pool((*pending.load(layout).waiting, *(row for rows in new for row in rows)))
