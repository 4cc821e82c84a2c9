"""Addresses of machines that are reached over SSH."""

import pytest

from elevatorlab import testbeds
from elevatorlab.testbeds.remote import ssh


class TestAddresses:
    """What an address may say."""

    @pytest.mark.parametrize(
        "address",
        [
            *("ssh://", "ssh:///path", "ssh://me:secret@there", "ssh://there/path"),
            *("ssh://there:port", "ssh://there:99999", "ssh://[broken"),
        ],
    )
    def test_refused(self, address, error_of):
        said = error_of(testbeds.get, address)
        assert said.startswith("testbed: expected ssh://[USER@]HOST[:PORT]")
        assert "without a password" in said and said.count("\n") == 0

    def test_a_password_is_not_repeated(self, error_of):
        assert "secret" not in error_of(testbeds.get, "ssh://me:secret@there")

    def test_an_unknown_option(self, error_of):
        said = error_of(testbeds.get, "ssh://there?identity=~/.ssh/lab")
        options = "key, known_hosts, config, target, address"
        assert f"expected one of {options} after '?'; found 'identity'" in said

    @pytest.mark.parametrize("name", ["moon", "SSH://there", "http://there", "", "docker://x"])
    def test_no_such_testbed(self, name, error_of):
        assert f"found {name!r}" in error_of(testbeds.get, name)

    def test_a_home_folder_may_be_abbreviated(self):
        assert ssh.parse("ssh://there?key=~/.ssh/lab")["key_file"] == "~/.ssh/lab"
