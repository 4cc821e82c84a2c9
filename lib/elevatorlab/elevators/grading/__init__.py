"""Grading a course's submissions in the deterministic machine: the same marks everywhere.

================  =====================================================================
``assignments``   what is asked for: scenarios, marks, the reference (courses/elevators)
``drawing``       scenarios that students do not see, by a teacher's seed
``submissions``   what was handed in: folders and archives, whatever is in them
``trials``        the trials of an assignment
``marking``       marks, from the order of dispatch or from a score
``grade``         one submission: built, run, marked, and compared with the templates
``side_by_side``  jobs side by side: a process for each, or the workers of a Dask cluster
``campaign``      all submissions, several at once; graded ones are not graded again
``pages``         a page for each student, and the teacher's
``exports``       the marks as Moodle, Canvas and nbgrader read them
================  =====================================================================
"""
