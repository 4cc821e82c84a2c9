# Elevator Lab's jobs. `make` alone lists them.

VENV   := .venv
BIN    := $(VENV)/bin
LAB    := $(BIN)/elevatorlab
# .venv is made of the first suitable python3; `make PYTHON=python3.12 ...` names another.
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps
# Where lib/elevatorlab/cache.py has it.
CACHE  := $(or $(ELEVATORLAB_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/elevatorlab)

# Not SOURCE: that names the archive of the emulator's sources.
LINTED := lib tests environments benchmarks docs

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:  # set-up has an order, and a study uses all cores by itself
.PHONY: help setup reproduce reference check prose test test-real test-release lab doctor clean lock docs slides course host image environment-image box

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: host $(VENV)/installed image  ## system packages, Python environment, emulator and image of the deterministic machine

reproduce: setup  ## rerun every study (quick preset) and build the report
	$(LAB) reproduce --preset quick

# Hours: what is finished stays in the cache, so that the next call goes on. MINUTES=N ends in time.
PRESET := paper
reference: setup  ## measure what the stored reference lacks, and store the finished studies (PRESET=paper)
	$(LAB) reference $(STUDY) --preset $(PRESET) --measure $(if $(MINUTES),--minutes $(MINUTES))

# Tests stand in a folder for each tier, by what they need: CONTRIBUTING.md.
check: $(VENV)/installed  ## lint, types, import layers and unit tests, before each commit (2 minutes)
	$(BIN)/ruff check $(LINTED) notebooks
	$(BIN)/ruff format --check $(LINTED)
	$(BIN)/mypy
	$(BIN)/mypy --python-version 3.10 lib/elevatorlab/agent
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -n 2 tests/unit $(ARGS)

prose: $(VENV)/installed  ## print sentences, captions and pages that a reader may find long; never fails
	@$(BIN)/python docs/prose.py

# Side by side, since neighbours change nothing in them but the time: four on two cores, since some
# wait for a browser or a deadline. Results of trials are kept in the cache; FRESH=1 runs each anew.
test: setup  ## check, and the tests that boot the machine or a browser (12 minutes; one part: ARGS="-k sampler")
	@environments/host-setup.sh test-packages.txt || \
	    echo "make test: goes on without; what wants these packages is skipped"
	@$(if $(ARGS),,$(MAKE) --no-print-directory check)
	$(BIN)/python -m pytest -n 4 --dist loadfile $(if $(ARGS),tests/unit) tests/machine $(ARGS)
	@echo "make test: the real machines (root, SSH, Docker, Vagrant) are tested by: sudo make test-real"

test-real: setup  ## set up Docker, SSH and Vagrant, and prove each real testbed once (a quarter of an hour; root)
	@environments/test-real.sh tests/real $(ARGS)

# Hours of a processor; the hosted workflow runs it each night.
test-release: setup  ## the rest: every notebook, kill, scheduler, soak and Vagrant variant (root)
	@environments/test-real.sh tests/release $(ARGS)

# Reading and analysing needs Python alone, so neither of these asks for the image.
lab: $(VENV)/installed  ## open JupyterLab at the first notebook
	@$(LAB) tiles build/lab
	JUPYTER_APP_LAUNCHER_PATH=build/lab $(BIN)/jupyter lab --ServerApp.root_dir=. \
	    --LabApp.default_url=/lab/tree/notebooks/00-start-here.ipynb \
	    $(if $(filter 0,$(shell id -u)),--allow-root)

# Status 1 of the command means that something is missing, which is no error of make's.
doctor: $(VENV)/installed  ## say what this machine can do, and what is missing
	@$(LAB) doctor || [ $$? = 1 ]

# Newer Debian packages: DOCKER_BUILD_ARGS=--no-cache
environment-image:  ## Docker image that trials run in (elevatorlab-environment)
	@environments/make-base-image.sh
	@docker build --quiet --target environment --tag elevatorlab-environment $(DOCKER_BUILD_ARGS) \
	    . >/dev/null && echo "environment-image: elevatorlab-environment is ready"

box: host  ## Vagrant box for libvirt, where debian/bookworm64 cannot be pulled
	@environments/start-libvirt.sh
	@environments/make-base-box.sh

docs: setup  ## run the notebooks and build the documentation site, build/site (minutes; no network)
	@$(BIN)/python docs/site/build.py build/site

slides: setup  ## run the lectures, make slides of them with the teacher's notes: build/slides
	@$(BIN)/python docs/slides/build.py build/slides

# Schedulers of ours that assignments ask for stay in it: lecture 6 runs them, and marks need them.
COURSE := build/elevatorlab-course.tar.gz
NOT_FOR_STUDENTS := courses/elevators/solutions notebooks/lectures/solutions docs/teaching.md tests

course:  ## write the archive for a course's students, the last commit without solutions: COURSE=FILE
	@mkdir -p $(dir $(COURSE))
	@git archive --prefix=elevatorlab/ --output=$(COURSE) HEAD . $(addprefix ':!',$(NOT_FOR_STUDENTS))
	@echo "course: $(COURSE), without $(NOT_FOR_STUDENTS)"

clean:  ## remove everything built here (build/, .venv/, caches); data/ and out/ stay
	@[ ! -e build/vagrant/machine.json ] || $(LAB) clean --testbed vagrant
	@environments/start-libvirt.sh --stop
	@environments/start-docker.sh --stop
	@for path in build $(VENV) .hypothesis .mypy_cache .pytest_cache .ruff_cache lib/elevatorlab.egg-info \
	    $$(find lib tests notebooks environments -name __pycache__ -o -name .ipynb_checkpoints); do \
	    if [ -e "$$path" ]; then echo "removing $$path"; rm -rf "$$path"; fi; \
	done
	@echo "kept: data/ (published numbers, claims, reference), out/, and your cache, $(CACHE)"

# Kept as they are: versions that still satisfy pyproject.toml. Newest of all: UPGRADE=--upgrade
lock:  ## bring requirements.lock in line with pyproject.toml
	@tool=$$(mktemp -d) && trap 'rm -rf "$$tool"' EXIT && \
	$$(environments/host-setup.sh --python) -m venv "$$tool" && \
	"$$tool/bin/pip" install --quiet --disable-pip-version-check uv && \
	{ [ ! -e requirements.lock ] || cp requirements.lock "$$tool/lock"; } && \
	"$$tool/bin/uv" pip compile pyproject.toml --all-extras --output-file "$$tool/lock" --quiet \
	    --universal --python-version 3.11 --fork-strategy fewest --generate-hashes $(UPGRADE) \
	    --no-config --no-header --no-annotate --no-emit-index-url --no-emit-find-links && \
	{ printf '# %s\n' \
	    'Every package of the Python environment (run and test), by version and hash; one' \
	    'file for Python 3.11 and newer. Written by `make lock` from pyproject.toml; newest' \
	    'versions: `make lock UPGRADE=--upgrade`. Install: pip install --require-hashes -r'; \
	  cat "$$tool/lock"; } >requirements.lock
	@echo "requirements.lock: $$(grep -c '^[a-z]' requirements.lock) packages"

# The steps of the set-up. Each does nothing when there is nothing left to do.

host:
	@environments/host-setup.sh

# SOURCE=FILE: the emulator's sources, where this machine's package sources have none.
image:
	@$(LAB) image build $(if $(SOURCE),--source "$(SOURCE)")

# Two stamps, because the second step takes a second and the first a minute or more.
# Another Python gets another environment. What the program that installs needs comes first: from the
# wheels that another checkout has left in the cache, or else from the network.
INSTALLER := filelock platformdirs uv
$(VENV)/locked: requirements.lock environments/python_packages.py
	@echo "Python environment: installing the locked packages into $(VENV) (1 GB)"
	@python=$$(environments/host-setup.sh --python) && \
	if [ "$$($(BIN)/python -V 2>&1)" != "$$("$$python" -V)" ]; then "$$python" -m venv --clear $(VENV); fi
	@for package in $(INSTALLER); do sed -n "/^$$package==/,/[^\\\\]$$/p" requirements.lock; done \
	    >$(VENV)/installer.txt
	@set --; for wheels in "$(CACHE)"/python-packages/*/; do set -- "$$@" --find-links "$$wheels"; done; \
	locked="--require-hashes -r $(VENV)/installer.txt"; \
	$(PIP) $$locked --no-index "$$@" 2>/dev/null || $(PIP) $$locked
	@PYTHONPATH=lib $(BIN)/python environments/python_packages.py
	@touch $@

# --no-build-isolation: the build tool comes from the lock file, too.
$(VENV)/installed: $(VENV)/locked pyproject.toml
	@$(PIP) --no-build-isolation --editable .
	@touch $@
