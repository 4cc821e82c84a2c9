"""What the studies share; a study of another package may use it, too.

==========  ===================================================================================
`cells`     the rows of a tidy table that have given values, and pairs of them by repetition
`contrast`  verdicts on disks without an arm, and those on hard disks
`reasons`   why no testbed could decide a claim
`tables`    small tables for people: a line for each combination of values
`trials`    parameters that every study has, and the frame of a trial
==========  ===================================================================================
"""
