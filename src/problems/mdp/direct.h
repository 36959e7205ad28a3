/* P within a band, for elimination. */
#ifndef HVI_PROBLEMS_MDP_DIRECT_H
#define HVI_PROBLEMS_MDP_DIRECT_H

#include "num/band.h"
#include "problems/mdp/mdp.h"

/* Half the width of the band that holds all of P. */
size_t hvi_mdp_band_width(const hvi_mdp *m);
/* Whether elimination within a band of this width is a matter of about a second (`patient`: of a
 * minute) and of little memory. */
bool hvi_mdp_band_fits(const hvi_mdp *m, size_t width, bool patient);
/* The band matrix diagonal I + scale P; entries are the caller's to free. */
hvi_status hvi_mdp_band_new(hvi_band *A, const hvi_mdp *m, size_t width, double diagonal,
                            double scale, hvi_error *err);

#endif
