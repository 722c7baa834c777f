# Targets rebuild only what is missing or older than its sources. `make` or `make help` lists them.

PYTHON  ?= python3
PYSPARK ?= 4.3.0
MATRIX  ?= 4.0.5 4.1.4 4.2.0 4.3.0
CONNECT ?= 4.0.5 4.3.0
CLIENT  ?= 4.2.0
PYTHONS ?= python3.10 python3.11 python3.12 python3.13
PYTEST  ?=
MINUTES ?= 60
WORKERS ?= 2
SCENARIOS ?=
SLOWEST ?= 10

VERSION := $(shell cat version.txt)
JAR     := dist/epochal-spark_2.13-$(VERSION).jar
WHEEL   := dist/epochal-$(VERSION)-py3-none-any.whl
VENV    := build/venv-$(PYSPARK)
BIN     := $(VENV)/bin
SITE    := build/mkdocs

# Maven repository for the tests: the artifacts of `make publish-local`, and Maven's plugins.
M2        := build/m2
PUBLISHED := $(M2)/io/epochal/epochal-spark_2.13/$(VERSION)/epochal-spark_2.13-$(VERSION).pom

# Class data sharing archive of Spark's classes for all JVMs that the tests start. They are too short-lived for the optimizing
# compiler to pay off. A JVM that cannot use the archive silently ignores it.
CLASSES := $(VENV)/classes.jsa
shared   = -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:SharedArchiveFile=$(CURDIR)/$(1) -Xlog:cds=off -Xlog:cds+dynamic=off
SHARED  := $(call shared,$(CLASSES))

# The sbt projects whose classes are in the jar.
OF_JAR := core kit random rest ingest cdc jdbc inspect app

# Directories are sources too: their time changes when a file is added or removed.
sources      = $(shell find $(1) -not -path '*/__pycache__*' -not -path '*/target/*' 2>/dev/null)
JAR_SOURCES   := $(call sources,$(OF_JAR:%=scala/%/src/main)) $(wildcard project/*.*) build.sbt version.txt LICENSE NOTICE
TEST_SOURCES  := $(JAR_SOURCES) $(call sources,$(wildcard scala/*/src/test) scala/testkit/src/main scala/bench/src)
PUBLISHED_SOURCES := $(call sources,scala/testkit/src/main)
WHEEL_SOURCES := $(call sources,python/src) $(wildcard python/*.toml python/*.py README.md) LICENSE NOTICE version.txt scripts/python_docs.py docs/OPTIONS.md

# Spark must be that of the virtual environment and listen on this machine only.
unexport SPARK_HOME PYSPARK_PYTHON PYSPARK_DRIVER_PYTHON PYSPARK_SUBMIT_ARGS
export SPARK_LOCAL_IP := 127.0.0.1

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help demo demo-cdc test test-all frozen test-changed test-job compiled test-scala test-python test-crash test-matrix test-lines test-client test-pythons modes soak check format outdated audit docs site kit-api pictures jar wheel publish-local release-check venv bench clean

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r target text; do \
	  printf '  make %-13s %s\n' "$$target" "$$text"; done

demo: ## the main job: a REST API into a database, killed halfway, resumed (ARGS="--database-url …")
	@$(MAKE) --no-print-directory --output-sync=target -j2 $(JAR) $(VENV)/.epochal
	@$(BIN)/python -m epochal demo $(ARGS)

demo-cdc: ## PostgreSQL tables that change all the time, and replicas: equal after kills of the driver and the server
	@$(MAKE) --no-print-directory --output-sync=target -j2 $(JAR) $(VENV)/.requirements
	@cd tests && ../$(BIN)/python -m crash.cdc_demo

# Maximum CPU seconds of `make test`, without compilation, on the machine of scripts/machine_speed.py. Only with MACHINE_SPEED, as
# in .ci/run, does more fail. Raising it needs an ADR.
BUDGET = 1000

test: compiled ## the default suite, Scala and Python in parallel; logs in build/logs
	@EPOCHAL_TESTS=small $(PYTHON) scripts/side_by_side.py --budget $(BUDGET) $(MACHINE_SPEED:%=--speed %) test-scala test-python

test-all: compiled $(PUBLISHED) ## all tests, including slow ones, and the matrix over Spark's lines; before a release
	@$(PYTHON) scripts/side_by_side.py test-scala test-python
	@$(MAKE) --no-print-directory test-matrix

# Everything that the Scala and Python tests need, built in parallel.
compiled:
	@$(MAKE) --no-print-directory --output-sync=target -j2 build/.compiled $(VENV)/.requirements $(CLASSES)
	@$(MAKE) --no-print-directory $(WHEEL) venv

build/.compiled: $(TEST_SOURCES)
	scripts/sbt "app/assembly; Test/compile; testsupport/archiveClasses"
	@touch $(JAR) $@

# EPOCHAL_TESTS=small excludes tests tagged `slow`: ScalaTest's Slow, pytest's marker.
test-scala: ## the tests of all projects (ScalaTest, ScalaCheck, Spark's StreamTest), in several JVMs in parallel
	@rm -rf scala/*/target/test-reports build/suites/target/test-reports
	scripts/sbt $(if $(filter small,$(EPOCHAL_TESTS)),suites/test,test) && status=0 || status=$$?; $(PYTHON) scripts/scala_reports.py; exit $$status

NOT_SLOW := $(if $(filter small,$(EPOCHAL_TESTS)),-m "not (slow or matrix or long)")
test-python: venv $(CLASSES) build/s3/.jars $(if $(NOT_SLOW),,build/hdfs/.jars build/drivers/.jars build/catalog/.jars) ## the end-to-end tests with WORKERS=2 processes (PYTEST="-k demo" passes arguments)
	SPARK_SUBMIT_OPTS="$(SHARED)" $(BIN)/python -m pytest tests -n $(WORKERS) --dist worksteal --durations=$(SLOWEST) $(NOT_SLOW) $(PYTEST)

# Changes against BASE by git, committed or not.
BASE ?= origin/main
test-changed: compiled ## the suites of the sbt projects, and the Python tests of the modules, that a change since BASE=origin/main touches
	@EPOCHAL_TESTS=small $(BIN)/python scripts/changed.py $(BASE)

test-crash: venv $(CLASSES) build/s3/.jars build/hdfs/.jars $(if $(PYTEST),,$(PUBLISHED)) ## the kill matrix in full, connectors of other teams, a random phase (EPOCHAL_KILL_RUNS=200, or EPOCHAL_KILL_HOURS=…), 200 stops, a minute of each fuzz test, and all examples of each property
	EPOCHAL_CRASH=full SPARK_SUBMIT_OPTS="$(SHARED)" $(BIN)/python -m pytest tests/crash tests/test_kit.py -m "not matrix" -n $(WORKERS) --dist loadgroup -v -rP --durations=$(SLOWEST) $(PYTEST)
	EPOCHAL_STOPS=$${EPOCHAL_STOPS:-200} EPOCHAL_STOP_SEED=$${EPOCHAL_STOP_SEED:-$$RANDOM} scripts/sbt "app/testOnly io.epochal.formats.StopSuite"
	EPOCHAL_CRASH=full EPOCHAL_FUZZ_SECONDS=$${EPOCHAL_FUZZ_SECONDS:-60} \
	  scripts/sbt "testOnly *Fuzzed* *PropertySuite *PlainRecordsSuite"

frozen: venv build/drivers/.jars ## write tests/frozen/<version>: checkpoints and databases that killed drivers of this release leave (SCENARIOS="rest-cursor")
	cd tests && ../$(BIN)/python -m frozen.make $(SCENARIOS)

modes: venv $(CLASSES) ## try all triggers with all output modes, sources and sinks, and write the tables of docs/modes.md
	EPOCHAL_MODES=write SPARK_SUBMIT_OPTS="$(SHARED)" $(BIN)/python -m pytest tests/test_modes.py $(PYTEST)

soak: venv $(CLASSES) ## an hour (MINUTES=60) of upserts, appends and crawls: heap, threads, files and catalog must not grow
	EPOCHAL_SOAK_MINUTES=$(MINUTES) $(BIN)/python -m pytest tests/soak -s -m long $(PYTEST)

test-matrix: $(JAR) $(MATRIX:%=test-matrix-%) test-lines ## sources and sinks on every Spark line, a job that goes up and down the lines, Connect on CONNECT="4.0.5 4.3.0" (MATRIX="4.0.5 4.3.0" selects)
	@$(BIN)/python scripts/supported.py build/matrix/*.xml

# For test_frozen.py, in the versions of the Scala tests: JDBC drivers that are not in the jar, and MySQL's programs.
build/drivers/.jars: project/Dependencies.scala Makefile
	rm -rf $(@D)
	sed -nE 's/.*"(org.mariadb.jdbc|com.mysql|com.h2database|io.airlift)" % "([^"]+)" % "([^"]+)".*/\1:\2:\3/p' $< | while read -r artifact; do \
	  mvn -q -B dependency:copy -Dartifact=$$artifact -DoutputDirectory=$(CURDIR)/$(@D) </dev/null || exit 1; done
	@touch $@

test-matrix-4.0.5: build/delta/.jars

# For test_pipeline.py: Spark's own tests have a catalog that supports MERGE.
build/catalog/.jars: Makefile
	mvn -q -B dependency:copy -Dartifact=org.apache.spark:spark-catalyst_2.13:4.2.0:jar:tests -DoutputDirectory=$(CURDIR)/$(@D) </dev/null
	@touch $@

# For test_object_store.py: the client of S3, in the version of Hadoop that the newest Spark has.
build/s3/.jars: tests/support/s3.xml Makefile
	rm -rf $(@D)
	mvn -q -B -f $< dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/$(@D) </dev/null
	@touch $@

# For test_hdfs.py: a small HDFS, in the version of Hadoop that the newest Spark has.
build/hdfs/.jars: Makefile
	mvn -q -B dependency:copy -Dartifact=org.apache.hadoop:hadoop-client-minicluster:3.5.0 -DoutputDirectory=$(CURDIR)/$(@D) </dev/null
	@touch $@

build/delta/.jars: Makefile
	for artifact in delta-spark_2.13 delta-storage; do \
	  mvn -q -B dependency:copy -Dartifact=io.delta:$$artifact:4.0.1 -DoutputDirectory=$(CURDIR)/$(@D) || exit 1; done
	@touch $@

# The tests of the matrix alone start their own sessions, so they run first, in their own process.
test-matrix-%: $(JAR) build/venv-%/.requirements build/venv-%/classes.jsa
	build/venv-$*/bin/python -m pytest tests -m matrix --deselect test_lines.py --junitxml=build/matrix/$*-jobs.xml $(PYTEST)
	SPARK_SUBMIT_OPTS="$(call shared,build/venv-$*/classes.jsa)" build/venv-$*/bin/python -m pytest tests -n $(WORKERS) --dist worksteal -m line \
	  --junitxml=build/matrix/$*-classic.xml $(PYTEST)
	$(if $(filter $*,$(CONNECT)),EPOCHAL_TEST_CONNECT=1 build/venv-$*/bin/python -m pytest tests -m line --junitxml=build/matrix/$*-connect.xml $(PYTEST))

# The main job on the chosen lines.
test-job: $(JAR) $(MATRIX:%=test-job-%) ## the main job on every Spark line (MATRIX="4.0.5 4.3.0" selects)
test-job-%: build/venv-%/.requirements build/venv-%/classes.jsa
	SPARK_SUBMIT_OPTS="$(call shared,build/venv-$*/classes.jsa)" build/venv-$*/bin/python -m pytest tests/test_main_job.py -m matrix --junitxml=build/matrix/$*-job.xml

test-lines: $(JAR) $(MATRIX:%=build/venv-%/.requirements) | $(VENV)/.requirements
	EPOCHAL_LINES="$(MATRIX)" $(BIN)/python -m pytest tests/test_lines.py -m matrix --junitxml=build/matrix/lines.xml $(PYTEST)

test-client: $(JAR) build/client-$(CLIENT)/.requirements $(VENV)/.requirements ## over Connect by pyspark-client (CLIENT=4.2.0), which has no JVM
	EPOCHAL_TEST_CONNECT=1 EPOCHAL_TEST_SPARK=$(CURDIR)/$$(echo $(VENV)/lib/python*/site-packages/pyspark) \
	  build/client-$(CLIENT)/bin/python -m pytest tests -m line --junitxml=build/matrix/client-$(CLIENT).xml $(PYTEST)

build/client-%/.requirements: python/requirements.txt python/requirements-test.txt
	$(call environment,$(@D),$(PYTHON),pyspark-client==$*)
	$(call pip,$(@D)) -r python/requirements-test.txt
	@touch $@

test-pythons: $(PYTHONS:%=test-python-with-%) ## the package and the main job on every Python (PYTHONS="python3.10 python3.13" selects)

# pyspark 4.3 needs Python 3.11.
test-python-with-%: $(JAR)
	$(call environment,build/with-$(notdir $*),$*,pyspark==$(if $(filter %3.10,$*),4.2.0,$(PYSPARK)))
	$(call pip,build/with-$(notdir $*)) -r python/requirements-test.txt
	build/with-$(notdir $*)/bin/python -m pytest tests/test_public_api.py tests/test_values.py tests/test_exceptions.py tests/test_random.py tests/test_main_job.py \
	  -m "matrix or not matrix" --junitxml=build/matrix/$(notdir $*).xml $(PYTEST)

ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

check: $(VENV)/.checks $(SITE)/.requirements ## formats, lints, types, warnings as errors, package dependencies, and the site
	scripts/sbt "scalafmtSbtCheck; scalafmtCheckAll; Test/compile; bench/Jmh/compile; scalafixAll --check; app/testOnly *.RoomsSuite; mimaReportBinaryIssues"
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd python && ../$(BIN)/lint-imports --no-cache && ../$(BIN)/mypy && ../$(BIN)/pyright --pythonpath ../$(BIN)/python
	$(BIN)/python scripts/check_tree.py
	$(BIN)/python scripts/check_names.py
	$(if $(shell command -v go),go run $(ACTIONLINT) -shellcheck= -pyflakes=,@echo "Without Go the workflows in .github are not checked")
	$(build-site)

format: $(VENV)/.checks ## format all sources as `make check` requires
	scripts/sbt "scalafixAll; scalafmtAll; scalafmtSbt"
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

outdated: $(VENV)/.requirements ## list libraries and Python packages that have a newer release
	scripts/sbt dependencyUpdates
	$(BIN)/python scripts/outdated_packages.py

audit: ## list known vulnerabilities of the libraries in the jar and of Python packages, if a database is reachable
	scripts/sbt "app/libraries"
	$(PYTHON) scripts/audit.py build/libraries.txt

docs: $(VENV)/.requirements ## write docs/OPTIONS.md, docs/ERRORS.md and the lists of docs/python.md from the declarations in the code
	scripts/sbt "app/Test/runMain io.epochal.formats.Documents"
	PYTHONPATH=python/src $(BIN)/python scripts/python_docs.py

site: $(SITE)/.requirements ## build/site, the documentation as a site; a dead link fails (EPOCHAL_SOURCES=https://… links to code)
	$(build-site)
	@echo "Open build/site/index.html"

kit-api: ## build/kit-api, the reference of the kit's stable and experimental types; `make site` after it has it too
	scripts/sbt "app/doc"

pictures: venv ## write docs/images/*.svg, terminal pictures of real runs
	$(BIN)/python scripts/pictures.py

build-site = NO_MKDOCS_2_WARNING=1 $(SITE)/bin/python -m mkdocs build --strict

$(SITE)/.requirements: python/requirements-site.txt
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
	$(call pip,$(@D)) -r $<
	@touch $@

jar: $(JAR) ## dist/epochal-spark_2.13-<version>.jar

$(JAR): $(JAR_SOURCES)
	EPOCHAL_TESTS=none scripts/sbt "app/assembly"
	@touch $@

wheel: $(WHEEL) ## dist/epochal-<version>-py3-none-any.whl, with the jar

$(WHEEL): $(JAR) $(WHEEL_SOURCES) | $(VENV)/.requirements
	cd python && ../$(BIN)/python -m hatchling build -t wheel -d ../dist
	@touch $@

publish = SBT_JVM_OPTIONS="$${SBT_JVM_OPTIONS:-} $(if $(1),-Dmaven.repo.local=$(abspath $(1)))" scripts/sbt publishM2

# Resolves no dependencies of tests, as for the jar: with another class path sbt would resolve all projects again.
publish-local: $(JAR) ## put all artifacts into the local Maven repository (REPOSITORY=… for another directory)
	EPOCHAL_TESTS=none $(call publish,$(REPOSITORY))

$(PUBLISHED): $(JAR) $(PUBLISHED_SOURCES)
	$(call publish,$(M2))
	@touch $@

release-check: $(WHEEL) $(VENV)/.requirements ## build the release artifacts twice; they must be equal, with correct metadata
	$(call pip,$(VENV)) -r python/requirements-release.txt
	$(BIN)/python scripts/release_check.py

venv: $(JAR) $(VENV)/.requirements ## build/venv: Python with pyspark, Epochal from this source tree, and the tests' dependencies
	@ln -sfn $(notdir $(VENV)) build/venv

# One environment per Spark version, in two steps: Epochal's dependencies, then those of tests and checks. Epochal is installed
# as editable, so a change in python/src needs no build. pip builds a wheel of Spark's 450 MB: stored, not compressed.
.PRECIOUS: build/venv-%/.epochal build/venv-%/.requirements build/venv-%/.checks build/venv-%/classes.jsa
pip = $(1)/bin/python -m pip install --quiet --disable-pip-version-check

# directory, interpreter, Spark
define environment
rm -rf $(1)
$(2) -m venv $(1)
$(call pip,$(1)) --no-compile --config-settings=--build-option=--compression=stored -r python/requirements.txt $(3)
$(call pip,$(1)) --no-deps --no-build-isolation --editable python
endef

build/venv-%/.epochal: python/requirements.txt python/pyproject.toml version.txt
	$(call environment,$(@D),$(PYTHON),pyspark==$*)
	@touch $@

build/venv-%/.requirements: python/requirements-test.txt build/venv-%/.epochal
	$(call pip,$(@D)) --no-compile -r $<
	@touch $@

build/venv-%/.checks: python/requirements-check.txt build/venv-%/.requirements
	$(call pip,$(@D)) -r $<
	@touch $@

build/venv-%/classes.jsa: tests/support/first_query.py build/venv-%/.epochal
	rm -f $@
	SPARK_SUBMIT_OPTS="-XX:ArchiveClassesAtExit=$(CURDIR)/$@" $(@D)/bin/python $< >$(@D)/classes.log 2>&1

# Debezium, which the benchmark `cdc` is compared with.
build/debezium/.jars: bench/debezium.xml
	rm -rf $(@D)
	mvn -q -B -f $< dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(@D) </dev/null
	@touch $@

bench: venv build/drivers/.jars build/debezium/.jars ## JMH and end-to-end benchmarks, against the alternatives (ARGS=…)
	$(call pip,$(VENV)) -r bench/requirements.txt
	$(BIN)/python bench/run.py $(ARGS)

clean: ## remove all build output
	rm -rf build dist target project/target project/project scala/*/target
	find python tests -name __pycache__ -prune -exec rm -rf {} +
