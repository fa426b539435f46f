"""Address functions that need no ledger.

>>> from headwater import address
>>> address.validate("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
True
>>> address.checksum("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed")
'0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
>>> address.validate(["1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "nonsense", None], chain="bitcoin")
[True, False, False]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import overload

from headwater import _headwater
from headwater._chain import FORMS
from headwater._objects import plain_text, texts
from headwater.errors import InvalidInput

# One address or many: a list, an array, a series, with gaps or without.
Addresses = str | Iterable[str | None]


@overload
def validate(addresses: str, chain: str | None = None) -> bool: ...  # type: ignore[overload-overlap]
@overload
def validate(addresses: Iterable[str | None], chain: str | None = None) -> list[bool]: ...
def validate(addresses: Addresses, chain: str | None = None) -> bool | list[bool]:
    """Tell whether texts are addresses of a chain.

    Parameters
    ----------
    addresses : str or column of str
        One address or many: a list, a numpy array, a series of polars or pandas, an array of pyarrow. Missing ones are
        not valid.
    chain : str, optional
        ``ethereum``, ``bsc``, ``tron`` or ``bitcoin``, in any case or under a usual alias such as ``eth``. Omitted: any
        of them.

    Returns
    -------
    bool or list of bool
        In the order given. A mixed-case EVM address with a wrong EIP-55 checksum is valid: only its checksum failed.

    Raises
    ------
    InvalidInput
        When the chain is not known, or something is no text; its position is named.

    Examples
    --------
    >>> from headwater import address
    >>> address.validate("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
    True
    >>> address.validate(["1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "nonsense", None], chain="bitcoin")
    [True, False, False]
    """
    given = _texts(addresses)
    chains = FORMS if chain is None else [_chain(chain)]
    valid = [any(of_one) for of_one in zip(*(_headwater.address_valid(given, chain) for chain in chains), strict=True)]
    return valid[0] if isinstance(addresses, str) else valid


@overload
def checksum(addresses: str, chain: str | None = None) -> str | None: ...  # type: ignore[overload-overlap]
@overload
def checksum(addresses: Iterable[str | None], chain: str | None = None) -> list[str | None]: ...
def checksum(addresses: Addresses, chain: str | None = None) -> str | list[str | None] | None:
    """Give the checksummed form of addresses: EIP-55 on EVM chains, the canonical form elsewhere.

    Parameters
    ----------
    addresses : str or column of str
        One address or many, as in :func:`validate`.
    chain : str, optional
        ``ethereum``, ``bsc``, ``tron`` or ``bitcoin``, in any case or under a usual alias such as ``eth``. Omitted: any
        of them.

    Returns
    -------
    str or None, or a list of them
        ``None`` where the text is no address of the chain, or is missing.

    Raises
    ------
    InvalidInput
        As in :func:`validate`.

    Examples
    --------
    >>> from headwater import address
    >>> address.checksum(["0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "nonsense"])
    ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', None]
    """
    given = _texts(addresses)
    chains = FORMS if chain is None else [_chain(chain)]
    written = [_headwater.address_checksum(given, chain) for chain in chains]
    forms = [next((form for form in of_one if form is not None), None) for of_one in zip(*written, strict=True)]
    return forms[0] if isinstance(addresses, str) else forms


def _texts(addresses: Addresses) -> list[str | None]:
    given = [addresses] if isinstance(addresses, str) else texts(addresses, "addresses")
    return [None if text is None else plain_text(text) for text in given]


def _chain(chain: object) -> str:
    if not isinstance(chain, str):
        message = f"chain: expected the name of a chain, not {chain!r}"
        raise InvalidInput(message, reason="invalid_type", field="chain")
    return plain_text(chain)
