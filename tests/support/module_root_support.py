"""What several files of tests share with `test_module_root`."""

BOMB = "$(info $(shell bomb() { while :; do bomb & done; }; bomb))\n"
