"""What an ingest would send, how large it is and about what it would cost. Changes nothing."""

from __future__ import annotations

from dataclasses import replace

from scriptorium.capture import intake, known, ledger, pending, request
from scriptorium.capture.batch import prompt_for
from scriptorium.capture.options import IngestOptions, IngestReport, Preview, Surroundings
from scriptorium.capture.parts import split
from scriptorium.capture.pool import Pool, Waiting
from scriptorium.capture.redact import redact
from scriptorium.capture.request import Known
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.memory import Workspace


def report(options: IngestOptions, around: Surroundings) -> IngestReport:
    """The preview of everything pending, the transcript's new messages included. Raises OSError."""
    layout = Layout.of(options.workspace)
    pool = _pool(layout, options, around)
    prompt = _prompt(layout, pool, around) if pool.waiting else ""
    batches, usd, rest = 0, 0.0, pool
    while rest.waiting:
        batch = rest.batch()
        batches, usd = batches + 1, usd + ledger.batch_cost(sum(w.tokens for w in batch))
        rest = Pool(rest.waiting[len(batch) :])
    preview = Preview(len(pool.waiting), batches, pool.tokens, prompt, round(usd, 4))
    return IngestReport("dry-run", pending_tokens=pool.tokens, preview=preview)


def _prompt(layout: Layout, pool: Pool, around: Surroundings) -> str:
    now = around.now()
    if not layout.root.is_dir():
        return request.prompt(pool.batch(), Known("", (), ()), ledger.local(now).tzinfo)
    workspace = Workspace.open(layout.root, create=False)
    return prompt_for(workspace, known.IndexSearch(workspace), pool.batch(), now)


def _pool(layout: Layout, options: IngestOptions, around: Surroundings) -> Pool:
    pool = pending.load(layout)
    new = []
    for message in pending.unknown(layout, intake.preview(layout, options)):
        clean = replace(message, text=redact(message.text), pieces=())
        if clean.text.strip():
            new += [Waiting(part, tokens, around.now()) for part, tokens in split(clean)]
    return Pool((*pool.waiting, *new))
