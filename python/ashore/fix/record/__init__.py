"""What runs inside a program that `ashore fix --run` watches: it notes each place where a tensor
and NumPy meet wrongly, makes the meeting right, and lets the program go on.

`start` is called by our sitecustomize, before the program. Notes go to the folder that the
environment names, one file a process; they hold types and positions, never values.
"""
