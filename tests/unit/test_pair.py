"""Addresses of machines that are reached over SSH, and NVMe/TCP between two of them."""

import pytest

from elevatorlab import testbeds
from elevatorlab.testbeds.base import refuse_what_is_missing
from elevatorlab.testbeds.remote import ssh
from elevatorlab.testbeds.remote.capabilities import capabilities
from elevatorlab.testbeds.vagrant import testbed
from machine_facts import facts
from machine_pair import address, nvme_trials, target  # noqa: F401  (fixtures)


def test_an_address_with_a_target_is_a_pair():
    pair = testbeds.get("ssh://me@host:2222?key=k&target=you@192.0.2.7&address=198.51.100.7")
    host, target = pair.shell.connection, pair.target.shell.connection
    assert (host.user, host.host, host.port) == ("me", "host", 2222)
    assert (target.user, target.host, target.port) == ("you", "192.0.2.7", 22)
    assert target.connect_kwargs == host.connect_kwargs  # one way of logging in
    assert pair.target_address == "198.51.100.7"
    assert testbeds.get("ssh://host?target=192.0.2.7").target_address == "192.0.2.7"


@pytest.mark.parametrize(
    "address, said",
    [
        ("ssh://host?target=", "expected target=[USER@]HOST[:PORT]; found target=''"),
        ("ssh://host?target=ssh://b", "found target='ssh://b'"),
        ("ssh://host?target=192.0.2.7&address=no.such.host.invalid", "&address=192.0.2.2"),
        ("ssh://host?target=192.0.2.7&address=::1", "expected the target's IPv4 address"),
        ("ssh://host?address=192.0.2.7", "expected target=HOST beside address"),
        ("ssh", "testbed ssh: expected an address, ssh://HOST; found 'ssh'"),
        ("ssh-pair", "expected an address, ssh://HOST?target=HOST; found 'ssh-pair'"),
        ("host://x", "testbed host: expected no address; found 'host://x'"),
        ("docker://x", "testbed docker: expected docker+ssh://[USER@]HOST[:PORT]; found"),
        ("http://x", "testbed: expected one of deterministic, "),
        *((name, f"found {name!r}") for name in ("moon", "SSH://there", "http://there", "")),
        (
            "ssh://there?identity=~/.ssh/lab",
            "expected one of key, known_hosts, config, target, address after '?'; found 'identity'",
        ),
    ],
)
def test_an_address_that_is_none_is_refused(address, said, error_of):
    assert said in error_of(testbeds.get, address)


@pytest.mark.parametrize(
    "address",
    [
        *("ssh://", "ssh:///path", "ssh://me:secret@there", "ssh://there/path"),
        *("ssh://there:port", "ssh://there:99999", "ssh://[broken"),
    ],
)
def test_an_address_is_of_a_machine_alone_and_a_password_is_not_repeated(address, error_of):
    said = error_of(testbeds.get, address)
    assert said.startswith("testbed: expected ssh://[USER@]HOST[:PORT]")
    assert "without a password" in said and said.count("\n") == 0
    assert "secret" not in said


def test_a_home_folder_may_be_abbreviated():
    assert ssh.parse("ssh://there?key=~/.ssh/lab")["key_file"] == "~/.ssh/lab"


def test_a_virtual_machines_disk_is_not_sized_by_one_behind_a_network(make_real_trial):
    assert testbed.disk_mib([*nvme_trials(), make_real_trial()]) == 64
    assert testbed.disk_mib(nvme_trials()) == testbed.UNUSED_MIB


def test_a_driver_that_is_not_there_is_refused_before_anything_starts(error_of):
    pair = testbeds.get("ssh://host?target=192.0.2.7")
    found = list(capabilities("host", facts(**{"nvme-tcp-one-send": False})))
    said = error_of(refuse_what_is_missing, pair.name, found, nvme_trials(drivers="stock,one_send"))
    assert "driver one_send: not in kernel 6.1" in said and "-p drivers=stock" in said
    refuse_what_is_missing(pair.name, found, nvme_trials(drivers="stock"))


@pytest.mark.parametrize(
    "host, target, lacking",
    [
        ({}, {}, None),
        ({"nvmet-tcp": False, "veth": False}, {"nvme-tcp": False}, None),
        ({"nvme-tcp": False}, {}, "no nvme-tcp (host)"),
        ({}, {"nvmet-tcp": False}, "no nvmet-tcp (target)"),
    ],
)
def test_each_side_needs_its_own_modules(host, target, lacking):
    pair = testbeds.get("ssh://host?target=192.0.2.7")
    pair.__dict__ |= {"facts": facts(**host), "target_facts": facts(**target)}
    (found,) = [one for one in pair.findings() if one.what == "device nvme_tcp"]
    assert found.ready == (lacking is None)
    assert (lacking or "target 192.0.2.7 at 192.0.2.7") in found.found


def test_two_machines_have_a_link_of_their_own(error_of):
    pair = testbeds.get("ssh://host?target=192.0.2.7")
    pair.__dict__ |= {"facts": facts(), "target_facts": facts()}
    found = [one for one in pair.findings() if one.what != "connection"]
    said = error_of(refuse_what_is_missing, pair.name, found, nvme_trials(link=True))
    assert "link: two machines have a network of their own" in said and "-p link=false" in said
    refuse_what_is_missing(pair.name, found, nvme_trials(drivers="stock"))
