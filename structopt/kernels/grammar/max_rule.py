"""stand-in."""
from structopt.kernels.waist.stand_ins import no_rounding as max_rule
