"""Write what `doctor` compares with anew: `python -m destage.doctor "what machine this is"`.

For whoever changes, and means to change, what a device does.
"""

import sys

from destage.doctor.proof import DATA, write_stored

write_stored(DATA, sys.argv[1])
