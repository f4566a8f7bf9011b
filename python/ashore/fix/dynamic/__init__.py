"""The dynamic half of fix, in the parent: run a program with the recorder in it, plan edits from
what it noted, make them, run the program again without it, and keep them only if that went well.
"""
