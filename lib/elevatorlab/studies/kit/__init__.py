"""Code that the studies share; a study of another package may use it, too.

===============  ==============================================================================
`cells`          the rows of a tidy table that have given values, and ratios of two such cells
`choices`        verdicts on claims for which the document leaves something open
`contrast`       claims whose verdict differs between disks with and without an arm
`reasons`        claims that no testbed can decide
`reimplemented`  schedulers that the kernel no longer has, and their substitutes
`tables`         small tables for people: a row for each combination of values
`trials`         parameters of every study, the fields that all its trials share, and variations
===============  ==============================================================================
"""
