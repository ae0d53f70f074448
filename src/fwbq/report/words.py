"""Names and numbers as the page shows them: of bounded length, without control characters and text-direction marks."""

from __future__ import annotations

import math
import unicodedata

from .. import _numbers

#: Longest name kept in the page; longer ones end in an ellipsis.
FULL = 2000
#: Longest name in a sentence: half a line.
SHORT = 48
# Unicode marks that change the direction of the text after them.
_DIRECTIONS = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C}
_SPACES = {0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029}


def clean(text: str, limit: int = FULL) -> str:
    r"""Return text on one line, without control characters, of at most `limit` characters.

    Examples
    --------
    >>> clean("two\nlines"), clean("left\u202eright"), clean("abcdef", 4)
    ('two lines', 'leftright', 'abc…')
    """
    kept = []
    for character in text[: 2 * limit]:
        code = ord(character)
        if code in _SPACES:
            kept.append(" ")
        elif code not in _DIRECTIONS:
            kept.append("\ufffd" if unicodedata.category(character) in ("Cc", "Cs", "Cn") else character)
    line = "".join(kept)
    return line if len(line) <= limit and len(text) <= 2 * limit else line[: limit - 1] + "…"


def shorten(text: str, limit: int = SHORT) -> str:
    """Return a name for a sentence: its beginning and its end, set apart when it is written from right to left.

    Examples
    --------
    >>> shorten("{mTOR, S6K}"), shorten("abcdefghij", 5)
    ('{mTOR, S6K}', 'ab…ij')
    """
    line = clean(text)
    if len(line) > limit:
        head = limit // 2
        line = f"{line[:head]}…{line[len(line) - (limit - 1 - head) :]}"
    leftward = any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in line)
    return f"\u2068{line}\u2069" if leftward else line


def certainty(p: float) -> str:
    """Return a probability that is claimed, rounded down, so that the claim holds.

    Examples
    --------
    >>> certainty(0.9789), certainty(0.9967), certainty(0.99999)
    ('0.97', '0.996', 'above 0.999')
    """
    if p > 0.999:
        return "above 0.999"
    places = 3 if p >= 0.99 else 2
    # The small addend undoes the rounding of decimal fractions: 0.29 * 100 is 28.999999999999996.
    return f"{math.floor(p * 10**places + 1e-9) / 10**places:.{places}f}"


def probability(p: float) -> str:
    """Return a probability with three digits; what is almost certain is not called certain.

    Examples
    --------
    >>> probability(0.2), probability(0.99996), probability(1e-7), probability(0.0)
    ('0.200', 'above 0.999', '< 0.001', '< 0.001')
    """
    if math.isnan(p):
        return "unknown"
    if p < 0.001:
        return "< 0.001"
    return "above 0.999" if p >= 0.9995 else f"{p:#.3g}"


def with_range(middle: float, low: float, high: float) -> str:
    """Return a probability and where the numerical error leaves it.

    Examples
    --------
    >>> with_range(0.76, 0.74, 0.78), with_range(0.2, 0.2, 0.2), with_range(0.1, 1e-9, 0.3)
    ('0.760 (0.740 to 0.780)', '0.200 (to three digits)', '0.100 (< 0.001 to 0.300)')
    """
    text, first, last = probability(middle), probability(low), probability(high)
    if first == last:
        return f"{text} (to three digits)" if text[0].isdigit() else text
    return f"{text} ({first} to {last})"


def log_evidence(value: float, sd: float) -> str:
    """Return a log evidence with its standard deviation; three digits after the point are the most that matter.

    Examples
    --------
    >>> log_evidence(-12.34567, 0.0123), log_evidence(-12.34567, 1e-6)
    ('−12.346 ± 0.012', '−12.346')
    """
    if math.isfinite(value) and 0.0 < sd < 5e-4:
        return f"{value:.3f}".replace("-", "−")
    return with_error(value, sd)


def with_error(value: float, sd: float) -> str:
    """Return a number with its standard deviation, to the digits that the latter leaves.

    Examples
    --------
    >>> with_error(-12.34567, 0.0123), with_error(-12.0, 0.0), with_error(-1234.5, 130.0)
    ('−12.346 ± 0.012', '−12.0000 ± 0', '−1230 ± 130')
    """
    if not (math.isfinite(value) and math.isfinite(sd)):
        return "not finite"
    text = f"{value:.4f} ± 0" if sd == 0.0 else _numbers.with_error(value, sd)
    return text.replace("-", "−")
