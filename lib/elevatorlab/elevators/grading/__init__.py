"""Grading a course's submissions in the deterministic machine: the same marks everywhere.

================  =====================================================================
``assignments``   what is asked for: scenarios, marks, the reference (courses/elevators)
``submissions``   what was handed in: folders and archives, whatever they are
``trials``        the trials of an assignment
``marking``       marks, from the order of dispatch or from a score
``grade``         one submission: built, run, marked
``side_by_side``  a process each, or the workers of a Dask cluster
``campaign``      all submissions, several at once; what is graded is not graded again
``pages``         a page for each student, and the teacher's
================  =====================================================================
"""
