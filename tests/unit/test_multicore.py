"""Processors that work side by side: what may be asked for, and what they must do."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from elevatorlab import cache, testbeds
from elevatorlab.errors import NotReady
from elevatorlab.paths import ENVIRONMENTS
from elevatorlab.testbeds.base import requirements
from elevatorlab.testbeds.deterministic import our_qemu, qemu
from elevatorlab.testbeds.deterministic.qemu import Emulator
from elevatorlab.testbeds.deterministic.testbed import MOST_CPUS, RANGES
from elevatorlab.trial.capabilities import Capability, processors
from stream_batching_tables import expanded

FORM = "expected deterministic?cpus=N[&slot=INSTRUCTIONS][&transfer=INSTRUCTIONS]; found"

EIGHT = "deterministic?cpus=8"

MISSHAPEN = [f"deterministic?{rest}" for rest in ("", "cpus=2&cpus=4", "cpus=2&cores=4")]


@pytest.mark.parametrize(
    ("address", "emulator"),
    [
        ("deterministic?cpus=1", Emulator(1, 1000, 0)),
        ("deterministic?slot=200", Emulator(1, 200, 0)),
        ("deterministic?cpus=32&slot=200&transfer=100", Emulator(32, 200, 100)),
    ],
)
def test_an_address(address, emulator):
    testbed = testbeds.get(address, say=None)
    assert (testbed.name, testbed.emulator) == ("deterministic", emulator)
    assert testbed.anywhere


@pytest.mark.parametrize(
    ("address", "said"),
    [
        *((one, f"{FORM} '{one}'") for one in MISSHAPEN),
        ("deterministic?cpus=49", "cpus: expected a number from 1 to 48; found '49'"),
        ("deterministic?cpus=0", "cpus: expected a number from 1 to 48; found '0'"),
        ("deterministic?cpus=two", "cpus: expected a number from 1 to 48; found 'two'"),
        ("deterministic?cpus=2&slot=1", "slot: expected a number from 20 to 1000000; found '1'"),
        ("deterministic?cpus=2&transfer=-1", "transfer: expected a number from 0 to 10000; found"),
    ],
)
def test_bad_addresses_are_refused(address, said, error_of):
    sentence = error_of(testbeds.get, address)
    assert sentence.startswith("testbed deterministic: ") and said in sentence
    assert "\n" not in sentence


def test_a_machine_has_the_processors_that_its_trial_asks_for():
    """Unless the address says how many."""
    trials = expanded(cores=(1, 4), targets=("ram",), schedulers=("none",), repetitions=1)
    usual, eight = (testbeds.get(one, say=None) for one in ("deterministic", EIGHT))
    assert [usual._emulator_of(one).cpus for one in trials] == [2, 8]
    assert {eight._emulator_of(one) for one in trials} == {Emulator(8)}
    (there,) = (one for one in usual.findings() if one.what == Capability.PROCESSORS)
    assert (there.ready, there.amount) == (True, MOST_CPUS)


def test_a_trial_asks_for_processors_itself_and_with_one_it_is_the_trial_of_before(make_trial):
    one, four = make_trial(), make_trial(processors=4)
    assert "processors" not in one.model_dump() and make_trial(processors=1).hash == one.hash
    assert four.hash != one.hash and processors(4) in requirements(four)
    assert testbeds.get("deterministic", say=None)._emulator_of(four).cpus == 4
    assert testbeds.get("host", say=None).defaults["processors"] == 1


def machine(emulator):
    """Return the command line without the program's path."""
    places = (Path(name) for name in ("ram", "exchange", "recording", "monitor"))
    ram, *others = places
    sizes_mib = {qemu.ROOT: 512}
    return qemu.command(Path("image"), sizes_mib, 512, ram, "share=off", *others, emulator)[1:]


def test_every_parameter_makes_another_machine():
    one = Emulator(2)
    others = [replace(one, **{name: most}) for name, (_, most) in RANGES.items()]
    machines = [machine(each) for each in (one, *others, Emulator(), Emulator(processor="n270"))]
    assert len({" ".join(argv) for argv in machines}) == len(machines)


def test_results_of_other_arrangements_have_other_folders():
    addresses = [f"deterministic{rest}" for rest in ("", "?cpus=2", "?slot=200&cpus=2")]
    found = {testbeds.get(address, say=None).folder_name() for address in addresses}
    assert found == {"deterministic", "deterministic-cpus2", "deterministic-cpus2-slot200"}


def test_more_processors_have_more_wall_time(make_trial):
    """So that the guest's own deadline ends what hangs, with the right sentence."""
    trial = make_trial(deadline_s=100)
    limits_s = {
        address: testbeds.get(address, say=None).wall_limit_s(trial)
        for address in ("deterministic", "deterministic?cpus=1", "deterministic?cpus=32")
    }
    assert list(limits_s.values()) == [6060, 6060, 60 + 32 * 6000]


def test_without_the_build_it_is_refused_with_the_remedy(tmp_path, monkeypatch, make_trial):
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    testbed = testbeds.get("deterministic?cpus=4", say=None)
    monkeypatch.setattr(testbed, "identity", testbed.emulator.version)  # as where the image is
    finding, image = (one for one in testbed.findings() if one.what in ("QEMU", "image"))
    assert finding.needed and not finding.ready
    assert (image.found, image.remedy) == (finding.found, our_qemu.BUILD_IT)
    assert finding.found == "the emulator: it is not built"
    with pytest.raises(NotReady, match="it is not built. Build it, once: elevatorlab image build"):
        testbed.prepare([make_trial()])


def test_a_damaged_build_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "ROOT", tmp_path)
    made = cache.obtain(our_qemu.KIND, our_qemu.digest(), lambda folder: fill(folder))
    assert our_qemu.ready() == made
    (made / our_qemu.NAME).unlink()
    with pytest.raises(NotReady, match="qemu-system-x86_64 is missing or has another size"):
        our_qemu.ready()


def fill(folder):
    (folder / our_qemu.NAME).write_text("a program")
    (folder / "version").write_text("QEMU emulator version 10.0.2\n")


def test_what_it_is_made_of_names_it(tmp_path, monkeypatch):
    """Its sources, changes and configuration; not the script that builds it, nor its compiler."""
    before, recipe = our_qemu.digest(), our_qemu.RECIPE
    decides = [recipe / "configuration", *recipe.glob("*.patch")]
    for file in recipe.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(our_qemu, "RECIPE", tmp_path)
    assert our_qemu.digest() == before and len(decides) == 4
    for file in recipe.iterdir():
        with open(tmp_path / file.name, "a") as copy:
            copy.write("\n")
        assert (our_qemu.digest() != before) == (file in decides)
        before = our_qemu.digest()


def test_sources_with_another_hash_are_refused(tmp_path, monkeypatch, capfd, error_of):
    monkeypatch.setattr(cache, "ROOT", tmp_path / "cache")
    wrong = tmp_path / "qemu.tar.xz"
    wrong.write_text("something else")
    last = error_of(our_qemu.build, wrong)
    (refusal,) = capfd.readouterr().err.splitlines()
    found = hashlib.sha256(wrong.read_bytes()).hexdigest()
    assert f"{wrong} has {found}. Name the right file: make setup SOURCE=FILE" in refusal
    assert last.endswith("the emulator could not be built; the lines above say why")
    assert not list((tmp_path / "cache").glob("*/*/entry.json"))


def test_the_build_never_names_a_package_host():
    for file in (ENVIRONMENTS / "emulator").iterdir():
        assert file.suffix == ".patch" or "://" not in file.read_text()


def test_another_qemu_is_used_where_the_user_names_it(monkeypatch):
    """It has one processor, needs a recording, and counts under its own version."""
    assert qemu.usual() == Emulator()
    monkeypatch.setenv(our_qemu.OTHER, "/usr/bin/true")
    assert qemu.usual("n270") == qemu.AnotherQemu(processor="n270", program="/usr/bin/true")
    recorded, ours = qemu.usual().counted_time(Path("log")), Emulator().counted_time(Path("log"))
    assert "rr=record" in recorded[1] and "rr=record" not in ours[1]
