"""Receipts: the event that a context leaves behind.

Responsible for the event of a receipt. Leaves its contents to ``memory.receipts`` and
erasing it to ``lifecycle.removal``. Invariant: a receipt is written once.
"""

from __future__ import annotations

from recollect.lifecycle import commands as c
from recollect.lifecycle.view import View, stamped
from recollect.model import events as e


def hand(view: View, actor: c.Actor, act: c.Hand) -> list[e.AnyBody]:
    return [] if view.receipt(act.receipt.id) is not None else [stamped(actor, act.receipt)]
