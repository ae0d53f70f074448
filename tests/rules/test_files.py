"""Saved rules: exact to the bit, and a clear word on every file that is not one."""

import io
import json
import os
import re
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fwbq
from fwbq import _files

GAUSSIAN = fwbq.Gaussian([0.1], [[1.3]])
EMBEDDINGS = {
    "ExpQuad": fwbq.embed(fwbq.ExpQuad(1 / 3, 0.7), GAUSSIAN),
    "sum and product": fwbq.embed(0.3 * (fwbq.ExpQuad(0.1) + fwbq.ExpQuad(2.0)), GAUSSIAN),
    "truncated": fwbq.embed(fwbq.ExpQuad(1.0), fwbq.TruncatedGaussian([1.0, 1.0], 0.5)),
    "uniform": fwbq.embed(fwbq.Matern32([0.2, 1 / 7]), fwbq.Uniform([0.0, -1.0], [1.0, 1.0])),
    "random Fourier": fwbq.embed(fwbq.RandomFourier(fwbq.ExpQuad(0.8), 30, 1, rng=3), GAUSSIAN),
}
SUFFIXES = [".json", ".npz"]


def a_rule(name="ExpQuad", n=12, **kwargs):
    emb = EMBEDDINGS[name]
    x = emb.measure.sample(n, rng=0)
    return fwbq.bayes_rule(emb, np.concatenate([x, x[:2]]), **kwargs)


def assert_same(a, b):
    for field in ("points", "weights", "index"):
        assert getattr(a, field).tobytes() == getattr(b, field).tobytes()
    for field in ("mmd2", "floor", "kind", "prior_mean", "status", "rank"):
        assert getattr(a, field) == getattr(b, field)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("prior_mean", ["zero", "constant"])
@pytest.mark.parametrize("name", EMBEDDINGS)
def test_round_trip_is_exact_and_can_be_conditioned(tmp_path, name, prior_mean, suffix):
    rule = a_rule(name, prior_mean=prior_mean)
    path = tmp_path / f"rule{suffix}"
    rule.save(path)
    again = fwbq.load_rule(path)
    assert_same(rule, again)
    values = np.cos(rule.points[:, 0])
    for estimate in ("marginal", "loo", 1.0):
        a, b = (fwbq.condition(r, values, amplitude=estimate) for r in (rule, again))
        assert (a.mean, a.scale, a.df) == (b.mean, b.scale, b.df)
    again.save(tmp_path / f"again{suffix}")
    assert (tmp_path / f"again{suffix}").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_kind_of_rule(tmp_path, suffix):
    emb = EMBEDDINGS["ExpQuad"]
    x = emb.measure.sample(6, rng=1)
    for i, rule in enumerate(
        [fwbq.uniform_rule(emb, x), fwbq.simplex_rule(emb, x), fwbq.weighted_rule(emb, x, np.arange(6.0))]
    ):
        rule.save(tmp_path / f"{i}{suffix}")
        assert_same(rule, fwbq.load_rule(tmp_path / f"{i}{suffix}"))


@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False)),
        min_size=1,
        max_size=5,
        unique_by=lambda pair: pair[0] + 0.0,
    )
)
@settings(max_examples=60, deadline=None)
def test_any_float64_survives(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("rules")
    x, w = np.array(pairs)[:, :1], np.array(pairs)[:, 1]
    rule = fwbq.Rule(x, w, 5e-324, 1 / 3, "design")
    for suffix in SUFFIXES:
        rule.save(folder / f"rule{suffix}")
        assert_same(rule, fwbq.load_rule(folder / f"rule{suffix}"))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_without_a_kernel_that_can_be_written(tmp_path, suffix):
    emb = fwbq.embed(fwbq.Stein(fwbq.ExpQuad(1.0), lambda x: (0.1 - x) / 1.3), GAUSSIAN)
    rule = fwbq.bayes_rule(emb, GAUSSIAN.sample(8, rng=0), prior_mean="constant")
    rule.save(tmp_path / f"rule{suffix}")
    again = fwbq.load_rule(tmp_path / f"rule{suffix}")
    assert again.embedding is None and "only a fixed amplitude can be used" in again.status
    assert again.weights.tobytes() == rule.weights.tobytes() and again.rank == rule.rank
    values = rule.points[:, 0] ** 2
    fixed = fwbq.condition(again, values, amplitude=2.0)
    assert fixed.mean == fwbq.condition(rule, values, amplitude=2.0).mean
    for kwargs in ({}, {"amplitude": "ml"}, {"amplitude": 1.0, "prior_mean": "zero"}):
        with pytest.raises(ValueError, match="without its kernel and measure, which are needed"):
            fwbq.condition(again, values, **kwargs)
    # It can be saved once more, and says the same, once.
    again.save(tmp_path / f"twice{suffix}")
    assert fwbq.load_rule(tmp_path / f"twice{suffix}").status == again.status


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_truncation_is_noticed(tmp_path, suffix):
    path = tmp_path / f"rule{suffix}"
    a_rule(n=3).save(path)
    data = path.read_bytes()
    for length in np.unique(np.linspace(0, len(data) - 1, 60).astype(int)):
        path.write_bytes(data[:length])
        with pytest.raises(ValueError, match=re.escape(str(path))):
            fwbq.load_rule(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_flipped_bytes_are_noticed_or_harmless(tmp_path, suffix):
    """A changed byte is an error, or changes nothing: it never gives another rule."""
    path = tmp_path / f"rule{suffix}"
    rule = a_rule(n=3)
    rule.save(path)
    data = bytearray(path.read_bytes())
    noticed = 0
    for position in np.random.default_rng(0).choice(len(data), 150, replace=False):
        damaged = bytearray(data)
        damaged[position] ^= 1 << int(position) % 7
        path.write_bytes(damaged)
        try:
            again = fwbq.load_rule(path)
        except ValueError:
            noticed += 1
        else:
            assert_same(rule, again)
    assert noticed > 50


def test_foreign_files(tmp_path):
    cases = {
        "empty.json": b"",
        "text.json": b"points and weights",
        "list.json": b"[1, 2, 3]",
        "number.json": b"1.0",
        "other.json": json.dumps({"format": "something-else", "version": 1}).encode(),
        "deep.json": b"[" * 100_000,
        "empty.npz": b"",
        "text.npz": b"points and weights",
        "json.npz": b"{}",
    }
    for name, data in cases.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match=r"written by rule.save\(path\)"):
            fwbq.load_rule(tmp_path / name)
    np.savez(tmp_path / "arrays.npz", x=np.zeros(3))
    np.save(tmp_path / "array.npy", np.zeros(3))
    os.rename(tmp_path / "array.npy", tmp_path / "array.npz")
    np.savez(tmp_path / "pickle.npz", header=np.array({"format": "fwbq-rule"}, dtype=object))
    for name in ("arrays.npz", "array.npz", "pickle.npz"):
        with pytest.raises(ValueError, match=r"written by rule.save\(path\)"):
            fwbq.load_rule(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        fwbq.load_rule(tmp_path / "missing.json")
    for name in ("rule", "rule.txt", "rule.pkl"):
        with pytest.raises(ValueError, match=r"does not end in .json or .npz"):
            fwbq.load_rule(tmp_path / name)
        with pytest.raises(ValueError, match=r"does not end in .json, .npz or .csv"):
            a_rule().save(tmp_path / name)


def edit(path, **changes):
    """Rewrite a JSON rule as another program might, with a checksum that fits."""
    content = _files.unsealed(json.loads(path.read_text())) | changes
    path.write_text(_files.seal({k: v for k, v in content.items() if v is not ...}))


@pytest.mark.parametrize(
    "changes, match",
    [
        ({"version": 2}, "has version 2, newer than the known 1: update fwbq"),
        ({"version": "1"}, "its version is '1'"),
        ({"version": True}, "its version is True"),
        ({"weights": ...}, "weights missing"),
        ({"kind": ..., "floor": ...}, "kind, floor missing"),
        ({"weights": [1.0]}, "points and weights differ in number"),
        ({"weights": ["a", "b", "c"]}, "weights is not a 1-dimensional array"),
        ({"weights": [1.0, float("nan"), 2.0]}, "weights has entries that are not finite"),
        ({"points": [[1.0], [2.0, 3.0], [4.0]]}, "points is not a 2-dimensional array"),
        ({"points": [1.0, 2.0, 3.0]}, "points is not a 2-dimensional array"),
        ({"points": [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]}, "points and measure differ in dimension"),
        ({"index": [0, 1, 3, 0, 1]}, "index does not fit the points"),
        ({"index": [0.0, 1.0, 2.0, 0.0, 1.0]}, "index is not a 1-dimensional array"),
        ({"kind": "simpson"}, "its kind is unknown"),
        ({"prior_mean": "linear"}, "its prior mean is unknown"),
        ({"mmd2": -1.0}, "mmd2 is not a number"),
        ({"floor": None}, "floor is not a number"),
        ({"rank": 1.5}, "its rank does not fit the points"),
        ({"rank": 4}, "its rank does not fit the points"),
        ({"status": 3}, "its status is not a text"),
        ({"kernel": {"type": "Unheard"}}, "`path` .* is damaged: .*Unheard"),
        ({"kernel": {"type": "PeriodicSobolev", "order": 2}}, "`path` .* is damaged: .*no embedding"),
    ],
)
def test_damaged_content_is_named(tmp_path, changes, match):
    path = tmp_path / "rule.json"
    a_rule(n=3).save(path)
    edit(path, **changes)
    with pytest.raises(ValueError, match=match):
        fwbq.load_rule(path)


@pytest.mark.parametrize("checksum", [None, "", "0" * 64])
def test_a_file_without_its_checksum_is_refused(tmp_path, checksum):
    path = tmp_path / "rule.json"
    rule = a_rule(n=3)
    rule.save(path)
    edit(path)
    assert_same(rule, fwbq.load_rule(path))
    content = json.loads(path.read_text()) | {"checksum": checksum}
    path.write_text(json.dumps({k: v for k, v in content.items() if v is not None}))
    with pytest.raises(ValueError, match="its checksum is missing or does not fit its content"):
        fwbq.load_rule(path)


def compressed(path, **arrays):
    np.savez_compressed(path, **arrays)


def redeclared(path, arrays, shape):
    """Write an array of points whose header declares another shape."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array)
            data = buffer.getvalue()
            if name == "points":
                data = data.replace(b"(3, 1), }".ljust(len(shape)), shape)
                assert shape in data
            archive.writestr(f"{name}.npy", data)


def declared_larger(path, **arrays):
    """The header of an array promises 800 GB."""
    redeclared(path, arrays, b"(99999999999, 1), }")


def declared_open(path, **arrays):
    """The header of an array leaves open how many rows there are."""
    redeclared(path, arrays, b"(-1, 1), }")


def with_more(path, **arrays):
    np.savez(path, more=np.zeros(3), **arrays)


@pytest.mark.parametrize("write", [compressed, declared_larger, declared_open, with_more])
def test_an_npz_file_cannot_grow_when_it_is_read(tmp_path, write):
    path = tmp_path / "rule.npz"
    a_rule(n=3).save(path)
    with np.load(path) as content:
        write(path, **dict(content))
    with pytest.raises(ValueError, match="is not an NPZ file of a rule, or is damaged"):
        fwbq.load_rule(path)


def test_a_bomb_is_not_inflated(tmp_path):
    path = tmp_path / "rule.npz"
    np.savez_compressed(
        path, header=np.array("{}"), points=np.zeros((10**7, 1)), weights=np.zeros(1), index=np.zeros(1)
    )
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="compressed"):
            fwbq.load_rule(path)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000  # the 80 MB of zeros were not made
    finally:
        tracemalloc.stop()


def test_csv_holds_every_bit_of_points_and_weights(tmp_path):
    rule = a_rule("uniform")
    rule.save(tmp_path / "rule.csv")
    table = np.loadtxt(tmp_path / "rule.csv", delimiter=",", skiprows=1)
    assert (tmp_path / "rule.csv").read_text().splitlines()[0] == "x1,x2,weight"
    assert table[:, :2].tobytes() == rule.points.tobytes() and table[:, 2].tobytes() == rule.weights.tobytes()
    with pytest.raises(ValueError, match="holds points and weights only, without kernel and measure"):
        fwbq.load_rule(tmp_path / "rule.csv")


@pytest.mark.parametrize("rows", [11, 13, 15])
def test_values_of_another_number_name_both_numbers(rows):
    with pytest.raises(ValueError, match=r"each of the 12 points of the rule, or one for each of the 14 points"):
        a_rule().integrate(np.zeros(rows))


def test_json_is_readable_and_version_tagged(tmp_path):
    path = tmp_path / "rule.json"
    rule = a_rule(n=3)
    rule.save(path)
    content = json.loads(path.read_text())
    assert (content["format"], content["version"]) == ("fwbq-rule", 1)
    assert content["weights"] == rule.weights.tolist()
    assert fwbq.kernels.from_spec(content["kernel"]).lengthscale == 1 / 3


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failed_write_leaves_the_old_file(tmp_path, suffix, monkeypatch):
    path = tmp_path / f"rule{suffix}"
    a_rule(n=3).save(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(_files.os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        a_rule(n=5).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_an_npz_file_that_was_edited_and_zipped_anew_is_refused(tmp_path):
    """The checksum of the zip format is made anew by every program that writes one."""
    path = tmp_path / "rule.npz"
    a_rule(n=3).save(path)
    with np.load(path) as file:
        content = dict(file)
    for name in ("points", "weights"):
        np.savez(path, **{**content, name: content[name] + 1e-3})
        with pytest.raises(ValueError, match="its checksum is missing or does not fit"):
            fwbq.load_rule(path)
    header = json.loads(str(content["header"]))
    for changed in ({**header, "mmd2": 0.0}, {key: header[key] for key in header if key != _files.CHECKSUM}):
        np.savez(path, **{**content, "header": np.array(json.dumps(changed))})
        with pytest.raises(ValueError, match="its checksum is missing or does not fit"):
            fwbq.load_rule(path)
    np.savez(path, **content)
    assert_same(fwbq.load_rule(path), a_rule(n=3))
