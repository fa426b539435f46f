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

from collections.abc import Sequence
from typing import overload

from headwater import _headwater


@overload
def validate(addresses: str, chain: str = "ethereum") -> bool: ...  # type: ignore[overload-overlap]
@overload
def validate(addresses: Sequence[str | None], chain: str = "ethereum") -> list[bool]: ...
def validate(addresses: str | Sequence[str | None], chain: str = "ethereum") -> bool | list[bool]:
    """Tell whether texts are addresses of a chain.

    Parameters
    ----------
    addresses : str or sequence of str
        One address or many (a list, a polars or pandas series). Missing ones are not valid.
    chain : str
        ``ethereum``, ``bsc``, ``tron`` or ``bitcoin``.

    Returns
    -------
    bool or list of bool
        In the order given. A mixed-case EVM address with a wrong EIP-55 checksum is valid: only its checksum failed.
    """
    if isinstance(addresses, str):
        return _headwater.address_valid([addresses], chain)[0]
    return _headwater.address_valid(list(addresses), chain)


@overload
def checksum(addresses: str, chain: str = "ethereum") -> str | None: ...  # type: ignore[overload-overlap]
@overload
def checksum(addresses: Sequence[str | None], chain: str = "ethereum") -> list[str | None]: ...
def checksum(addresses: str | Sequence[str | None], chain: str = "ethereum") -> str | list[str | None] | None:
    """Give the checksummed form of addresses: EIP-55 on EVM chains, the canonical form elsewhere.

    Parameters
    ----------
    addresses : str or sequence of str
        One address or many.
    chain : str
        ``ethereum``, ``bsc``, ``tron`` or ``bitcoin``.

    Returns
    -------
    str or None, or a list of them
        ``None`` where the text is no address of the chain.
    """
    if isinstance(addresses, str):
        return _headwater.address_checksum([addresses], chain)[0]
    return _headwater.address_checksum(list(addresses), chain)
