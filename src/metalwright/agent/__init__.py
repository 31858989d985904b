"""The small program on a node: in the RAM disk (inventory, image write) and on the installed system (measure, report).

Standard library and `metalwright.model` only: it is packed into a RAM disk that has nothing else.
"""
