#pragma once

// Everything that a program needs to train with vdnn.
#include "vdnn/bounds.h"
#include "vdnn/bytes.h"
#include "vdnn/dataset.h"
#include "vdnn/device.h"
#include "vdnn/error.h"
#include "vdnn/explain.h"
#include "vdnn/graph.h"
#include "vdnn/plan.h"
#include "vdnn/profile.h"
#include "vdnn/replan.h"
#include "vdnn/session.h"
#include "vdnn/timeline.h"
#include "vdnn/version.h"
#include "vdnn/whole_file.h"
#include "vdnn/zoo.h"
