// The one public header.

#pragma once

#include "tenon/io/safetensors.h"
#include "tenon/nn/activations.h"
#include "tenon/nn/attention.h"
#include "tenon/nn/containers.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/init.h"
#include "tenon/nn/kv_cache.h"
#include "tenon/nn/layers.h"
#include "tenon/nn/losses.h"
#include "tenon/nn/module.h"
#include "tenon/nn/rotary.h"
#include "tenon/tensor/autograd.h"
#include "tenon/tensor/compile.h"
#include "tenon/tensor/creation.h"
#include "tenon/tensor/ops.h"
#include "tenon/tensor/stats.h"
#include "tenon/tensor/tensor.h"
