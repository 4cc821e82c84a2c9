"""Compare one scheduler with the kernel's, on what a maintainer of the block layer would ask.

==========  =======================================================================
`trials`    the questions, and the trials that answer them
`measures`  the answers: one number for each repetition, with its unit
`page`      a page for people
==========  =======================================================================
"""
