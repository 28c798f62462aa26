"""What a login can see and do, asked as that login. Attacks S1, S4, S6, S7 and S8, failure modes T110, T128 and T129.

Whatever can be generated is generated from the catalogue, so that a new table, view or function is tested, or
makes a test fail, on the day it is made.
"""
