"""What the lectures' notebooks call: one module a lecture, which makes its trials and draws them.

=================  ==================================================================
``experiments``    runs trials, or finds their results where they have run before
``sliders``        a picture with sliders; the picture alone where nobody can move them
``tables``         a table whose empty cells say why they are empty
``elevator``       1. what an elevator does
``writers``        2. readers and writers
``queues``         3. queues
``sharing``        4. sharing
``batching``       5. batching
``writing``        6. write an elevator
``worth``          7. what an elevator is worth
=================  ==================================================================

Every number in a trial here was chosen so that an effect is seen in a second or two; none is a
measurement of a product.
"""
