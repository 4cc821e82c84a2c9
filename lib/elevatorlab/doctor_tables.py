"""What `elevatorlab doctor` shows in a terminal."""

from rich.table import Table

READY, MISSING = "[green]yes[/]", "[red]no[/]"


def overview(findings):
    """Return a table: what there is, by testbed.

    Parameters
    ----------
    findings : dict of str to list of Finding
        By testbed.
    """
    table = Table("", *findings)
    names = dict.fromkeys(f.what for some in findings.values() for f in some)
    for name in names:
        ready = {t: f.ready for t, some in findings.items() for f in some if f.what == name}
        cells = [{True: READY, False: MISSING, None: ""}[ready.get(t)] for t in findings]
        table.add_row(name, *cells)
    return table


def gaps(findings):
    """Yield a line for each thing that is missing, with what to do about it."""
    for testbed, some in findings.items():
        for finding in some:
            if not finding.ready:
                yield f"[red]{testbed}, {finding.what}:[/] {finding.found}; {finding.remedy}"


def details(findings):
    """Return a table of one testbed's findings."""
    table = Table("testbed", "what", "found", "", "what to do")
    for f in findings:
        table.add_row(f.testbed, f.what, f.found, READY if f.ready else MISSING, f.remedy)
    return table
