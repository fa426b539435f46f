"""Following a chain: each new block of live nodes is added to a store."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from types import TracebackType

from headwater import _headwater, _load, _objects
from headwater.errors import InvalidInput
from headwater.nodes import _urls


@dataclass(frozen=True)
class FollowStep:
    """One generation of a store that follows a chain.

    Attributes
    ----------
    chain : str
        The chain.
    generation : int
        The generation, durable.
    from_block, to_block : int
        The blocks that were added.
    removed : int
        Blocks that were taken back, since the nodes replaced them.
    sealed : int
        Old blocks that became final in the store.
    transactions : int
        Transactions of the blocks that were added.
    seconds : float
        Time from the look at the nodes to the commit.

    Examples
    --------
    >>> import headwater as hw
    >>> step = next(hw.follow("http://127.0.0.1:8545", "chain.hw", chain="ethereum"))  # doctest: +SKIP
    >>> step.from_block, step.to_block, step.removed  # doctest: +SKIP
    (23500001, 23500001, 0)
    """

    chain: str
    generation: int
    from_block: int
    to_block: int
    removed: int
    sealed: int
    transactions: int
    seconds: float


class Follow(Iterator[FollowStep]):
    """A running follower, as :func:`headwater.follow` starts it. An iteration over it waits for the next step.

    It runs beside the program until it is closed, the last block is held, or the program ends. At the end of a ``with``
    block it is closed. While it waits for its nodes, and when a node no longer answers, it issues a
    :class:`UserWarning`.

    Examples
    --------
    >>> import headwater as hw
    >>> steps = hw.follow("http://127.0.0.1:8545", "chain.hw", chain="ethereum")  # doctest: +SKIP
    >>> next(steps).to_block  # doctest: +SKIP
    23500001
    >>> steps.state  # doctest: +SKIP
    'ethereum: following; the newest block is 23500001, 23499930 is final'
    >>> steps.close()  # doctest: +SKIP
    """

    def __init__(self, follower: _headwater.NativeFollower) -> None:
        self._follower = follower

    @property
    def state(self) -> str:
        """Its activity in a sentence: loading, following, waiting with the reason, or halted with the remedy."""
        return self._follower.state()

    def __next__(self) -> FollowStep:
        while True:
            step = self._follower.next()
            if step is None:
                raise StopIteration
            if not isinstance(step, str):
                return FollowStep(**step)
            warnings.warn(step, UserWarning, stacklevel=2)

    def close(self) -> None:
        """Stop it. What was committed stays; a later call continues behind it."""
        self._follower.close()

    def __enter__(self) -> Follow:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Follow {self.state or 'begins'}>"


def follow(
    rpc: str | Sequence[str],
    store: str | PathLike[str],
    *,
    chain: str,
    from_block: int | None = None,
    until_block: int | None = None,
    poll: float = 1.0,
    requests_per_second: float | None = None,
    traces: bool = True,
) -> Follow:
    """Add each new block of live nodes to a store, as ``headwater follow`` does.

    Every block is verified. Blocks that the nodes replace are taken back in the generation that brings the others. A
    store that was followed before continues where it stopped; otherwise blocks that are final already are loaded first.

    Parameters
    ----------
    rpc : str or sequence of str
        Addresses of nodes of the chain, as of :func:`headwater.ingest_rpc`. A ``ws://`` or ``wss://`` address beside
        them announces new blocks of EVM chains at once.
    store : path-like
        Folder of the store, which is created where it is missing. Others may read and load into it meanwhile.
    chain : str
        The chain.
    from_block : int, optional
        First block of a store that was not followed yet. Missing: the one after the last block that is held, else the
        newest final one.
    until_block : int, optional
        Block at which to stop. Missing: never.
    poll : float
        Seconds between two looks at the nodes.
    requests_per_second : float, optional
        Requests that each provider may be asked. Missing: as many as it answers.
    traces : bool
        Ask for internal movements, where a node has them.

    Returns
    -------
    Follow
        An iterator of :class:`FollowStep`.

    Raises
    ------
    InvalidInput
        When an address is not valid.
    Unavailable
        In the iteration, when the nodes replaced blocks that cannot be taken back, or another process follows the
        chain.
    StorageError
        In the iteration, when a file cannot be read or written.

    Examples
    --------
    >>> import headwater as hw
    >>> with hw.follow("http://127.0.0.1:8545", "chain.hw", chain="ethereum") as steps:  # doctest: +SKIP
    ...     for step in steps:
    ...         print(step.to_block, step.transactions)
    """
    if not 0.01 <= poll <= 3600:
        message = f"poll: expected a number of seconds from 0.01 to 3600, got {poll!r}"
        raise InvalidInput(message, reason="invalid_value", field="poll")
    options = {
        "chain": str(chain),
        "from_block": _load.number(from_block, "from_block"),
        "until_block": _load.number(until_block, "until_block"),
        "poll": float(poll),
        "requests_per_second": requests_per_second,
        "traces": bool(traces),
    }
    return Follow(_headwater.NativeFollower(_urls(rpc), _objects.path(store, "store"), options))
