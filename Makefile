# Everything a newcomer needs: `make run` and `make test`. Each target makes its own environment first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
OUT ?= out
# The library limits BLAS to one thread by itself; the tests and benchmarks multiply matrices of their own in two
# processes at a time.
test test-oldest bench faults mutants: export OPENBLAS_NUM_THREADS ?= 1
export MPLBACKEND ?= Agg

.PHONY: help run test lint test-oldest test-processors docs bench coverage functionals nets calibration kinetics evidence \
  ablation faults mutants paper clean

help:
	@echo "make run          the main job: choose among 352 models of the data set that ships with the package"
	@echo "make test         the test suite, doctests included"
	@echo "make lint         ruff and mypy"
	@echo "make test-oldest  the test suite on the oldest supported NumPy, SciPy, pandas and Matplotlib"
	@echo "make test-processors  the tests that assert numbers, as other processors would run them"
	@echo "make docs         the documentation, into docs/_build/html"
	@echo "make bench        the tables of benchmarks/report.md"
	@echo "make coverage     the coverage study of docs/coverage.md"
	@echo "make functionals  the study of variances, probabilities, quantiles and Sobol indices; QUICK=1 for one run each"
	@echo "make nets         the coverage study of docs/large-n.md"
	@echo "make calibration  the calibration study of docs/calibration.md"
	@echo "make kinetics     the study of kinetic models on a stranger's data of docs/selection.md; QUICK=1 for ten data sets"
	@echo "make evidence     the study of log evidences of docs/evidence-study.md; QUICK=1 for a few problems"
	@echo "make ablation     what each part of the evidence engine is worth, docs/ablation.md, of values and of gradients; QUICK=1 for one problem each"
	@echo "make faults       faults at random places of runs, docs/faults.md: 5,000 of them; QUICK=1 for 200 in two minutes"
	@echo "make mutants      how many small changes of the source the tests notice, docs/faults.md; QUICK=1 for ten in each room"
	@echo "make paper        every figure of the paper, into $(OUT)/paper"

# An environment per set of extras, made anew when pyproject.toml changes. `venv` is missing from some system Pythons;
# `virtualenv`, installed beside the project, does the same.
define environment
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || { echo "fwbq needs Python 3.11 or newer; say which with PYTHON=..."; exit 1; }
	test -x $(1)/bin/python || $(PYTHON) -m venv $(1) 2>/dev/null || { rm -rf $(1); \
	  $(PYTHON) -m pip install --quiet --target build/virtualenv virtualenv && PYTHONPATH=build/virtualenv $(PYTHON) -m virtualenv --quiet $(1); }
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check $(2)
endef

$(VENV)/.run: pyproject.toml
	$(call environment,$(VENV),-e ".[report]")
	@touch $@

$(VENV)/.test: pyproject.toml
	$(call environment,$(VENV),-e ".[test]")
	@touch $@ $(VENV)/.run

$(VENV)/.lint: pyproject.toml
	$(call environment,$(VENV),-e ".[test$(comma)lint]")
	@touch $@

$(VENV)/.docs: pyproject.toml
	$(call environment,$(VENV),-e ".[test$(comma)docs]")
	@touch $@

comma := ,

run: $(VENV)/.run
	$(BIN)/fwbq demo --out $(OUT)/demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The whole suite without the pages of the documentation, whose printed digits are those of the newest versions. Tests of
# an extra (Dask, plotly, ArviZ, a browser) skip themselves: the extras are not installed there.
test-oldest: pyproject.toml tests/oldest.txt
	$(call environment,.venv-oldest,-e "." -r tests/oldest.txt)
	.venv-oldest/bin/python -m pytest -q -n 2 --dist loadfile tests --ignore tests/test_docs_code.py

test-processors: $(VENV)/.test
	.ci/processors $(BIN)/python

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

coverage: $(VENV)/.test
	$(BIN)/python -m studies.coverage --out $(OUT)/coverage

functionals: $(VENV)/.test
	$(BIN)/python -m studies.functionals --out $(OUT)/functionals $(if $(QUICK),--quick)

nets: $(VENV)/.test
	$(BIN)/python -m studies.nets --out $(OUT)/nets

calibration: $(VENV)/.test
	$(BIN)/python -m studies.calibration --out $(OUT)/calibration

kinetics: $(VENV)/.test
	$(BIN)/python -m studies.kinetics --out $(OUT)/kinetics $(if $(QUICK),--quick)

evidence: $(VENV)/.test
	$(BIN)/python -m studies.evidence --out $(OUT)/evidence $(if $(QUICK),--quick)

ablation: $(VENV)/.test
	$(BIN)/python -m studies.ablation --out $(OUT)/ablation $(if $(QUICK),--quick)
	$(BIN)/python -m studies.gradient_ablation --out $(OUT)/gradient-ablation $(if $(QUICK),--quick)

faults: $(VENV)/.test
	$(BIN)/python -m studies.faults --out $(OUT)/faults $(if $(QUICK),--quick)

mutants: $(VENV)/.test
	$(BIN)/python -m studies.mutants --out $(OUT)/mutants $(if $(QUICK),--quick)

paper: $(VENV)/.run
	$(BIN)/fwbq paper all --out $(OUT)/paper

clean:
	rm -rf $(VENV) .venv-oldest build out docs/_build docs/gallery docs/generated
