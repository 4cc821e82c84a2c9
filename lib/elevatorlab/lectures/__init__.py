"""What the lectures' notebooks call: one module per lecture, which makes and draws its trials.

=================  ==================================================================
``experiments``    runs trials, or reads their results if they have run before
``sliders``        a picture with sliders; in a stored page, the picture alone
``tables``         a table whose empty cells say why they are empty
``elevator``       1. what an elevator does
``writers``        2. readers and writers
``queues``         3. queues
``sharing``        4. sharing
``batching``       5. batching
``writing``        6. write an elevator
``speedup``        7. what an elevator is worth
=================  ==================================================================

Every number in these trials was chosen so that an effect is seen in a second or two. No number was
measured on a product.
"""
