"""What is known about the noise: a class for each kind of statement about it, and all that follows.

``Noise.of(sigma)`` makes one of what a study is told. Each kind says which results are possible,
how large the noise of every arm is, which results are needed before σ is known, what a proof
assumes of it, whether results contradict it, and how it is stored. Nobody asks which kind it is. A
new kind is a file here and a line below: the registry is filled where a class is defined.
"""

from __future__ import annotations

from shortlist.noise import bounded as bounded
from shortlist.noise import estimated as estimated
from shortlist.noise import given as given
from shortlist.noise.noise import Noise as Noise
