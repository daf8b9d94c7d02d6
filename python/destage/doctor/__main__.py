"""Write the data that `doctor` compares with: `python -m destage.doctor "what machine this is"`.

Run it after an intended change of the simulated SSD.
"""

import sys

from destage.doctor.proof import DATA, write_stored

write_stored(DATA, sys.argv[1])
