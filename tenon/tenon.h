// The one public header.

#pragma once

#include "tenon/io/hugging_face.h"
#include "tenon/io/llama2c.h"
#include "tenon/io/npy.h"
#include "tenon/io/safetensors.h"
#include "tenon/io/torch_file.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/losses.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/compile.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/stats.h"
#include "tenon/tensor/tensor.h"
