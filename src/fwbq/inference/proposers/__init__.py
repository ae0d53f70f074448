"""Who proposes points: spread, climbs, exchanges of parameters, probes, exploration, quadrature; one file each."""
