"""What may befall a request on its way through `tests.services.proxy`, and seeded storms of it.

What befalls a request depends on the seed, the method, the key, and how often that was asked before, never on the order
in which threads ask.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Asked:
    """A request: its method, the path without the query, how often that was asked before, query and headers."""

    method: str
    key: str
    n: int
    query: str
    headers: Mapping[str, str] = field(repr=False)

    @property
    def is_conditional(self) -> bool:
        """Whether it is a create on condition that nothing is there."""
        return "if-none-match" in self.headers and self.method in ("PUT", "POST")


@dataclass(frozen=True)
class Trouble:
    """What befalls a request.

    Attributes
    ----------
    name : str
        In the counts.
    delay : float
        Seconds before anything else.
    status, code : int or None, str
        Answer this in place of the server, as S3 does, with its error code.
    stored : bool
        Ask the server first, and throw its answer away: what was sent is stored, and the client does not hear of it.
    reset : bool
        Close the connection by a reset, without an answer.
    cut : bool
        Pass the server's answer, and close the connection in the middle of its body.
    """

    name: str
    delay: float = 0.0
    status: int | None = None
    code: str = ""
    stored: bool = False
    reset: bool = False
    cut: bool = False


SLOW_DOWN = Trouble("503 SlowDown", status=503, code="SlowDown")
INTERNAL = Trouble("500 InternalError", status=500, code="InternalError")
EXPIRED = Trouble("400 ExpiredToken", status=400, code="ExpiredToken")
SKEWED = Trouble("403 RequestTimeTooSkewed", status=403, code="RequestTimeTooSkewed")
REDIRECTED = Trouble("301 PermanentRedirect", status=301, code="PermanentRedirect")
NOT_IMPLEMENTED = Trouble("501 NotImplemented", status=501, code="NotImplemented")
CONFLICT = Trouble("409 ConditionalRequestConflict", status=409, code="ConditionalRequestConflict")
TAKEN = Trouble("200 without doing it", status=200)
RESET_BEFORE = Trouble("reset before the server was asked", reset=True)
RESET_AFTER = Trouble("reset after the server did it", reset=True, stored=True)
ERROR_AFTER = Trouble("500 after the server did it", status=500, code="InternalError", stored=True)
REFUSED_AFTER = Trouble("412 after the server did it", status=412, code="PreconditionFailed", stored=True)
CUT_BODY = Trouble("body cut in the middle", cut=True)
SLOW = Trouble("latency", delay=0.05)


@dataclass(frozen=True)
class Storm:
    """A seeded schedule.

    Attributes
    ----------
    seed : int
    shares : sequence of (Trouble, float)
        The part of requests that each befalls.
    in_a_row : int
        A method and key is let pass after so many troubles: what retries, succeeds.
    only : tuple of methods
    """

    seed: int
    shares: Sequence[tuple[Trouble, float]]
    in_a_row: int = 3
    only: tuple[str, ...] = ("GET", "HEAD", "PUT", "POST", "DELETE")

    def __call__(self, asked: Asked) -> Trouble | None:
        if asked.method not in self.only or asked.n % (self.in_a_row + 1) == self.in_a_row:
            return None
        within = asked.key.lstrip("/").partition("/")[2]  # a bucket's name is another in every run
        text = f"{self.seed} {asked.method} {within} {asked.n}"
        at = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") / 2**64
        for trouble, share in self.shares:
            if at < share:
                return trouble
            at -= share
        return None


Kind = Literal["reads", "writes", "all"]


def storm(seed: int, kind: Kind = "all") -> Storm:
    """A storm that one request in three meets: slow answers, refusals, torn connections and bodies, lost answers."""
    any_method = [(SLOW_DOWN, 0.1), (INTERNAL, 0.04), (RESET_BEFORE, 0.05), (SLOW, 0.05)]
    lost = [(RESET_AFTER, 0.05), (ERROR_AFTER, 0.03)]
    if kind == "reads":
        return Storm(seed, [*any_method, (CUT_BODY, 0.12)], only=("GET", "HEAD"))
    if kind == "writes":
        return Storm(seed, [*any_method, *lost], only=("PUT", "POST", "DELETE"))
    return Storm(seed, [*any_method, *lost, (CUT_BODY, 0.08)])
