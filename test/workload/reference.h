/* reference: the answer computed straight from the checkpoint, one weight after the other, without any repacked tensor. */
#ifndef WORKLOAD_REFERENCE_H
#define WORKLOAD_REFERENCE_H

#include "model.h"

/* The answer that a server of this checkpoint must give; layers 0: all. The model is open, it need not be loaded.
 * 0, or -1 with one line in `error`. */
int reference_run(const struct model *m, uint64_t seed, size_t layers, struct w4a8_answer *answer, char error[GPTQ_ERROR]);

#endif
