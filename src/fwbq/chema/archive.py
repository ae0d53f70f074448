"""Download a source archive through pip's own configuration, and take tables from it, running nothing in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from . import _checks

__all__ = ["download", "extract"]

# Seconds until a download is given up. pip itself gives up a silent connection much earlier: this limit is for one that
# delivers so slowly that it would not end.
_TIMEOUT = 600
# Largest file that is taken from an archive: tables of the challenge have about 150 kB.
_MOST_BYTES = 5_000_000
# ``pip download`` asks the build backend of an archive for its metadata, which runs the archive's code. A backend (as
# PEP 517 defines it) under the name of the usual one, found first on the path, answers instead.
_BACKEND = '''\
"""A build backend that tells name and version, and runs nothing."""

import sys
from pathlib import Path


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = Path(metadata_directory) / "{folder}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    return folder.name


__legacy__ = sys.modules[__name__]
'''


def download(name: str, version: str, sha256: str, directory: Path) -> Path:
    """Fetch the source archive of a package with pip, so that indexes, proxies and certificates are the user's.

    Parameters
    ----------
    name, version : str
        The package.
    sha256 : str
        Digest of the archive; pip refuses any other.
    directory : Path
        Where it is put.

    Returns
    -------
    Path
        The archive, ``{name}-{version}.tar.gz``.

    Raises
    ------
    RuntimeError
        When pip could not deliver it; the message says why and what to do.
    """
    target = directory / f"{name}-{version}.tar.gz"
    advice = f"download {target.name} by other means and pass its path as `archive`"
    with tempfile.TemporaryDirectory() as scratch:
        backend = Path(scratch) / "setuptools"
        backend.mkdir()
        (backend / "__init__.py").touch()
        (backend / "build_meta.py").write_text(
            _BACKEND.format(name=name, version=version, folder=name.replace("-", "_"))
        )
        wanted = Path(scratch) / "requirements.txt"
        wanted.write_text(f"{name}=={version} --hash=sha256:{sha256}\n")
        options = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--use-pep517", "--require-hashes"]
        call = [sys.executable, "-m", "pip", "download", *options, "--dest", str(directory), "-r", str(wanted)]
        try:
            done = subprocess.run(
                call, capture_output=True, text=True, timeout=_TIMEOUT, env={**os.environ, "PYTHONPATH": scratch}
            )
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"pip did not deliver {name} {version} within {_TIMEOUT} s; {advice}") from None
    if done.returncode or not target.exists():
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"pip could not deliver {name} {version}: {last}; {advice}")
    return target


def extract(archive: Path, wanted: re.Pattern[str], into: Path) -> dict[str, Path]:
    """Copy out the wanted tables of an archive, and nothing else.

    Parameters
    ----------
    archive : Path
        A ``.tar.gz`` file.
    wanted : compiled regular expression
        Of the members' whole paths; its first group is the name of the copy, without ``.csv``.
    into : Path
        Directory of the copies.

    Returns
    -------
    dict of str to Path
        The copies by name, in the order of the names.
    """
    found: dict[str, Path] = {}
    with tarfile.open(archive, "r:gz") as tar:
        for member in tar:
            match = wanted.fullmatch(member.name)
            if match is None:
                continue
            if not member.isreg() or member.size > _MOST_BYTES or match[1] in found:
                _checks.fail(f"the archive's member {member.name!r} is no file of reasonable size, or is there twice")
            content = tar.extractfile(member)
            assert content is not None  # a regular file
            found[match[1]] = into / f"{match[1]}.csv"
            found[match[1]].write_bytes(content.read(_MOST_BYTES))
    return dict(sorted(found.items()))
