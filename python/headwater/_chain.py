"""The chain of a call whose caller names none: that of the form of its addresses."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headwater import _headwater
from headwater._objects import plain_text
from headwater.errors import Forbidden

if TYPE_CHECKING:
    from headwater._answers import Answers

# The chain where several fit and the ledger holds several of them, or none.
DEFAULT = "ethereum"
# A chain of each form of addresses. No text has two of the forms.
FORMS = (DEFAULT, "tron", "bitcoin")
_EVM = "evm"


def form_of(texts: Sequence[str | None]) -> list[str | None]:
    """Return a chain that writes addresses like each text, or ``None`` where no chain does."""
    forms: list[str | None] = [None] * len(texts)
    for chain in FORMS:
        for place, is_valid in enumerate(_headwater.address_valid(texts, chain)):
            if is_valid:
                forms[place] = chain
        if None not in forms:
            break
    return forms


class ChainFinder:
    """Finds the chain of addresses; chains with movements are asked for once, at the first address that needs it."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._held: list[tuple[str, str]] = []

    def of_each(self, addresses: Sequence[str]) -> list[str]:
        """Return the chain of each address; of invalid text the one that it resembles most."""
        chains = self._of_forms(_trimmed_form_of(addresses))
        return [chain or _resembled(address) for chain, address in zip(chains, addresses, strict=True)]

    def of_all(self, texts: Sequence[str]) -> str:
        """Return the one chain of a call: that of its first address, or the only one held where it has none."""
        form = next((form for form in _trimmed_form_of(texts) if form is not None), None)
        if form is None:
            named = next((text for text in texts if text.strip().lower() not in ("", "native")), None)
            return self._only_held() if named is None else _resembled(named)
        return self._only_held(_EVM) if form == DEFAULT else form

    def of_column(self, texts: Sequence[str | None]) -> list[str]:
        """Return the chain of each text; what has no form goes with the first that has one."""
        chains = self._of_forms(_trimmed_form_of([text or "" for text in texts]))
        first = next((chain for chain in chains if chain is not None), DEFAULT)
        return [chain or first for chain in chains]

    def _of_forms(self, forms: Sequence[str | None]) -> list[str | None]:
        evm = self._only_held(_EVM) if DEFAULT in forms else DEFAULT
        return [evm if form == DEFAULT else form for form in forms]

    def _only_held(self, family: str | None = None) -> str:
        held = [chain for chain, of in self._held_chains() if family in (None, of)]
        return held[0] if len(held) == 1 else DEFAULT

    def _held_chains(self) -> list[tuple[str, str]]:
        """Return the chains with movements, each with its family."""
        if not self._held:
            # Kept once there are any, so that a call means the same chain until the end of the session.
            chains: list[dict[str, Any]] = []
            # A plan may leave this call out.
            with contextlib.suppress(Forbidden):
                chains = self._answers.answer("chains", {"include": ["none"]}).data.get("chains", [])
            self._held = [
                (each["chain"], each["family"])
                for each in chains
                if each.get("endpoints", {}).get("transactions", "none") != "none"
            ]
        return self._held


def _trimmed_form_of(texts: Sequence[str]) -> list[str | None]:
    return form_of([plain_text(text).strip() for text in texts])


def _resembled(text: str) -> str:
    """Return the chain whose error explains best why text is not an address."""
    start = text.strip()
    if start.startswith("T"):
        return "tron"
    return "bitcoin" if start.lower().startswith(("bc1", "1", "3")) else DEFAULT
